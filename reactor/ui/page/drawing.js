// Draws the graph on two canvases: edges are redrawn when the view changes, boxes also when a state changes.
// A frame is drawn only after a change, and only for the visible part.

import { Boxes, STATES } from "./boxes.js";
import { Edges, KINDS, route } from "./edges.js";

const PULSE = 1500; // ms
const SHARPEST = 2; // device pixels per CSS pixel: more are not visible, but slow

const still = matchMedia("(prefers-reduced-motion: reduce)");

export class Drawing {
  constructor(runState, view, edges, boxes) {
    this.runState = runState;
    this.view = view;
    this.edges = new Edges(edges, this);
    this.boxes = new Boxes(boxes, this);
    this.density = 1;
    this.highlighted = null; // the boxes that stand out, or null for all
    this.shade = 1; // the opacity of the others
    this.selected = null;
    this.pulses = new Map();
    this.stale = false; // whether the edges must be redrawn, too
    this.frame = 0;
    this.drawn = () => {}; // called with each frame
    this.recolour();
  }

  /** Read the colours from the style sheet again, after a change between light and dark. */
  recolour() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name.replace("_", "-")}`).trim();
    this.ink = { page: colour("page"), text: colour("text"), faint: colour("faint"), accent: colour("accent"), paused: colour("paused") };
    const appearance = (state) => ({ fill: colour(`${state}-fill`), border: colour(`${state}-border`) });
    this.appearances = new Map(STATES.map((state) => [state, appearance(state)]));
    this.lines = new Map(KINDS.map((kind) => [kind, colour(`edge-${kind}`)]));
    this.changed();
  }

  /** Set the size, in CSS pixels. */
  resize(width, height) {
    this.density = Math.min(SHARPEST, devicePixelRatio || 1);
    const size = [Math.round(width * this.density), Math.round(height * this.density)];
    const resized = [this.edges, this.boxes].map((layer) => layer.resize(...size)).some(Boolean);
    if (!resized) return;
    // A resized canvas is empty, so it is drawn at once.
    this.stale = true;
    this.#draw(performance.now());
  }

  /** Prepare a new graph before its first frame. */
  prepare() {
    this.pulses.clear();
    this.boxes.prepare(this.runState.boxes);
    for (const edge of this.runState.edges) Object.assign(edge, route(edge.path));
    this.changed();
  }

  /** Draw the next frame, because something has changed. */
  changed({ edges = true } = {}) {
    this.stale ||= edges;
    this.frame ||= requestAnimationFrame((now) => this.#draw(now));
  }

  /** Flash the outline of a vertex, so that a change of a millisecond is visible, too. */
  pulse(vertex, state) {
    this.pulses.set(vertex.box, { start: performance.now(), state });
    this.changed({ edges: false });
  }

  /** The box at a point of the screen, or null; a near miss counts at a small scale. */
  at(x, y) {
    const [left, top] = this.view.toGraph(x, y);
    const found = (slack) => this.runState.boxes.find((box) => left >= box.left - slack
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
      const { border } = this.appearances.get(state);
      if (passed >= 1) this.pulses.delete(vertex);
      else if (still.matches) this.boxes.outline([vertex], border, 4, 3);
      else this.boxes.outline([vertex], border, 2 + 9 * passed, 3.5, (1 - passed) ** 1.5);
    }
  }
}
