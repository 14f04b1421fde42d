// Draws the graph on two canvases: the edges change with the view only, the boxes also with every state.
// A frame is drawn when something has changed, and holds only what is seen.

import { Boxes, STATES } from "./boxes.js";
import { Edges, KINDS, route } from "./edges.js";

const PULSE = 1500; // ms
const SHARPEST = 2; // pixels for each one of CSS: more can't be told apart, and cost

const still = matchMedia("(prefers-reduced-motion: reduce)");

export class Drawing {
  constructor(world, view, edges, boxes) {
    this.world = world;
    this.view = view;
    this.edges = new Edges(edges, this);
    this.boxes = new Boxes(boxes, this);
    this.density = 1;
    this.lit = null; // the boxes that stand out, or null for all
    this.shade = 1; // how much is seen of the others
    this.selected = null;
    this.pulses = new Map();
    this.stale = false; // whether the edges must be drawn, too
    this.frame = 0;
    this.drawn = () => {}; // called with each frame
    this.recolour();
  }

  /** Read the colours anew: they are in the style sheet, once for light and once for dark. */
  recolour() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name.replace("_", "-")}`).trim();
    this.ink = { page: colour("page"), text: colour("text"), faint: colour("faint"), accent: colour("accent"), paused: colour("paused") };
    const look = (state) => ({ fill: colour(`${state}-fill`), border: colour(`${state}-border`) });
    this.looks = new Map(STATES.map((state) => [state, look(state)]));
    this.lines = new Map(KINDS.map((kind) => [kind, colour(`edge-${kind}`)]));
    this.changed();
  }

  /** Take as much room, in pixels of CSS. */
  resize(width, height) {
    this.density = Math.min(SHARPEST, devicePixelRatio || 1);
    const size = [Math.round(width * this.density), Math.round(height * this.density)];
    const resized = [this.edges, this.boxes].map((layer) => layer.resize(...size)).some(Boolean);
    if (!resized) return;
    // A canvas of another size is empty: it is drawn before anyone sees that.
    this.stale = true;
    this.#draw(performance.now());
  }

  /** Prepare a new graph: what can be known before the first frame. */
  prepare() {
    this.pulses.clear();
    this.boxes.prepare(this.world.boxes);
    for (const edge of this.world.edges) Object.assign(edge, route(edge.path));
    this.changed();
  }

  /** Something has changed: draw it with the next frame. */
  changed({ edges = true } = {}) {
    this.stale ||= edges;
    this.frame ||= requestAnimationFrame((now) => this.#draw(now));
  }

  /** A short light around a vertex, so that also what took a millisecond is seen. */
  pulse(vertex, state) {
    this.pulses.set(vertex.box, { start: performance.now(), state });
    this.changed({ edges: false });
  }

  /** The box at a point of the screen, if any; from afar a near miss will do. */
  at(x, y) {
    const [left, top] = this.view.toGraph(x, y);
    const found = (slack) => this.world.boxes.find((box) => left >= box.left - slack
      && left <= box.right + slack && top >= box.top - slack && top <= box.bottom + slack);
    return found(0) ?? found(3 / this.view.scale) ?? null;
  }

  #draw(now) {
    this.frame = 0;
    const gliding = this.view.step(now);
    if (this.stale || gliding) this.edges.draw();
    this.stale = false;
    this.boxes.draw();
    this.#drawPulses(now);
    this.drawn();
    if (gliding) this.changed();
    else if (this.pulses.size) this.changed({ edges: false });
  }

  #drawPulses(now) {
    for (const [vertex, { start, state }] of this.pulses) {
      const passed = Math.max(0, (now - start) / PULSE);
      const { border } = this.looks.get(state);
      if (passed >= 1) this.pulses.delete(vertex);
      else if (still.matches) this.boxes.outline([vertex], border, 4, 3);
      else this.boxes.outline([vertex], border, 2 + 9 * passed, 3.5, (1 - passed) ** 1.5);
    }
  }
}
