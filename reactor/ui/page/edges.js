// Draws the edges, and parses their paths.

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
    const { runState, view: { window }, highlighted, shade } = this.drawing;
    const selected = this.drawing.selected?.box;
    const kinds = Map.groupBy(runState.edges.filter((edge) => within(edge, window)), (edge) => edge.kind);
    const chosen = ({ from, to }) => from === selected || to === selected
      || (selected && highlighted?.has(from) && to.status.state === "blocked" && highlighted.has(to));
    for (const [kind, edges] of kinds) {
      this.#stroke(kind, highlighted ? edges.filter((edge) => !chosen(edge)) : edges, highlighted ? shade : 1);
      if (highlighted) this.#stroke(kind, edges.filter(chosen), 1);
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
    // Dashes cost by their length, also outside the view: of a long path only the visible pieces are drawn.
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

/** Parse an SVG path of M, L, H, C and Q: its `line`, extent and end, and its `pieces`, each with line and extent. */
export function route(path) {
  const pieces = [];
  let start = null;
  for (const [, command, text] of path.matchAll(/([MLHCQ])([^MLHCQ]*)/g)) {
    const numbers = text.match(/-?[\d.]+/g).map(Number);
    const points = command === "H" ? [[numbers[0], start[1]]] : pairs(numbers);
    if (start) pieces.push({ line: new Path2D(`M${start} ${command}${text}`), ...extent([start, ...points]) });
    start = points.at(-1);
  }
  const corners = pieces.flatMap(({ left, top, right, bottom }) => [[left, top], [right, bottom]]);
  return { line: new Path2D(path), pieces, end: start, ...extent(corners) };
}

function pairs(numbers) {
  return numbers.filter((_, place) => place % 2 === 0).map((x, place) => [x, numbers[2 * place + 1]]);
}

function extent(points) {
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  return { left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
}
