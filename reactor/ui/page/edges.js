// Draws the edges.

import { FAR, Layer, MIDDLE, NEAR, within } from "./layer.js";

const LOOKS = {
  require: { dash: [], width: 1.3 },
  subscribe: { dash: [], width: 2.6 },
  automatic: { dash: [7, 4], width: 1.3 },
  after: { dash: [1.5, 4], width: 1.3 },
  notify: { dash: [1.5, 4], width: 1.3 },
};

/** The kinds of edges. */
export const KINDS = Object.keys(LOOKS);

export class Edges extends Layer {
  draw() {
    this.begin();
    const { world, view: { window }, lit, shade } = this.drawing;
    const selected = this.drawing.selected?.box;
    const kinds = Map.groupBy(world.edges.filter((edge) => within(edge, window)), (edge) => edge.kind);
    const chosen = ({ from, to }) => from === selected || to === selected
      || (selected && lit?.has(from) && to.standing.state === "blocked" && lit.has(to));
    for (const [kind, edges] of kinds) {
      this.#stroke(kind, lit ? edges.filter((edge) => !chosen(edge)) : edges, lit ? shade : 1);
      if (lit) this.#stroke(kind, edges.filter(chosen), 1);
    }
  }

  #stroke(kind, edges, alpha) {
    const { context, drawing: { view: { scale, window }, lines } } = this;
    const { dash, width } = LOOKS[kind];
    const detailed = scale > FAR;
    const dashed = dash.length > 0 && scale >= MIDDLE;
    context.globalAlpha = alpha * (detailed ? 1 : 0.55);
    context.strokeStyle = context.fillStyle = lines.get(kind);
    context.lineWidth = detailed ? width : Math.max(width, 0.7 / scale);
    context.setLineDash(dashed ? dash : []);
    // Dashes cost by their length, also where no one sees them: of a long way only the pieces in sight are drawn.
    const parts = dashed ? edges.flatMap(({ pieces }) => pieces.filter((piece) => within(piece, window))) : edges;
    for (const { line } of parts) context.stroke(line);
    if (scale >= NEAR) this.#drawHeads(edges);
  }

  #drawHeads(edges) {
    const { context } = this;
    context.beginPath();
    for (const { end: [x, y] } of edges) {
      context.moveTo(x, y);
      context.lineTo(x - 9, y - 4);
      context.lineTo(x - 6.8, y);
      context.lineTo(x - 9, y + 4);
    }
    context.fill();
  }
}
