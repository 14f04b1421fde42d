// Draws the boxes, with fewer details at a smaller scale.

import { FAR, Layer, MIDDLE, NEAR, within } from "./layer.js";
import { oneLine, words } from "./format.js";

const PADDING = 12;
const RADIUS = 7;
const STACK = 4;
const FAR_ROOM = 110; // px of the screen for a name at a small scale
const MARKS = 60; // names at a small scale
const MONO = '12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';
const LARGE = MONO.replace("12px", "26px");
const SANS = '11px system-ui, "DejaVu Sans", Arial, sans-serif';
const DASHES = { blocked: [6, 3], would_change: [6, 3], waiting: [2, 3], skipped: [2, 3], unknown: [2, 3] };
const PROMINENT = new Set(["failed", "blocked", "changed", "would_change"]);

/** The states in drawing order: those that need attention are on top. */
export const STATES = ["ok", "skipped", "unknown", "changed", "would_change", "waiting", "blocked", "failed"];

export class Boxes extends Layer {
  /** Shorten the names of new boxes to the available width. */
  prepare(boxes) {
    const fit = (font, text, room, head) => fitted(this.context, font, oneLine(text), room, head);
    for (const vertex of boxes) {
      const room = vertex.width - 2 * PADDING;
      const name = vertex.members ? vertex.label || `${vertex.kind} resources` : vertex.name;
      const heading = vertex.members ? `${vertex.kind} × ${vertex.members.length}` : vertex.kind;
      vertex.shown = fit(MONO, name, room, 0.5);
      vertex.title = fit(LARGE, name, room + PADDING, 0.2);
      vertex.mark = fit(SANS, name, FAR_ROOM, 0.2);
      vertex.heading = fit(SANS, heading, room / 2, 1);
      Object.assign(vertex, { left: vertex.x, top: vertex.y });
      Object.assign(vertex, { right: vertex.x + vertex.width, bottom: vertex.y + vertex.height });
    }
  }

  draw() {
    this.begin();
    const { runState, view: { window, scale }, highlighted, shade, ink } = this.drawing;
    const selected = this.drawing.selected?.box;
    const seen = runState.boxes.filter((vertex) => within(vertex, window));
    const standsOut = (vertex) => !highlighted || highlighted.has(vertex) || vertex === selected;
    const out = seen.filter(standsOut);
    if (highlighted) this.#drawGroup(seen.filter((vertex) => !standsOut(vertex)), shade);
    this.#drawGroup(out, 1);
    // Paused, active and selected boxes have a second outline.
    this.outline(out.filter(({ status }) => status.paused), ink.paused, 2.5, 1.6);
    this.outline(out.filter(({ status }) => status.in_motion), ink.accent, 2.5, 1.8);
    if (selected) this.outline([selected], ink.accent, 4, 2.5);
    if (scale < MIDDLE) this.#mark(out);
  }

  /** An outline at a distance around some boxes, both in pixels of the screen. */
  outline(vertices, colour, distance, width, alpha = 1) {
    const { context, drawing: { view: { scale } } } = this;
    const gap = distance / scale;
    context.beginPath();
    for (const box of vertices) {
      context.roundRect(box.x - gap, box.y - gap, box.width + 2 * gap, box.height + 2 * gap, RADIUS + gap);
    }
    context.globalAlpha = alpha;
    context.strokeStyle = colour;
    context.lineWidth = width / scale;
    context.setLineDash([]);
    context.stroke();
    context.globalAlpha = 1;
  }

  #drawGroup(vertices, alpha) {
    const { context, drawing: { view: { scale } } } = this;
    context.globalAlpha = alpha;
    this.#drawStacks(vertices.filter(({ members }) => members));
    const groups = Map.groupBy(vertices, (vertex) => vertex.status.state);
    for (const state of STATES) {
      if (groups.has(state)) this.#drawState(state, groups.get(state));
    }
    if (scale >= NEAR) vertices.forEach((vertex) => this.#write(vertex));
    else if (scale >= MIDDLE) this.#writeTitles(vertices);
    context.globalAlpha = 1;
  }

  /** Draw all boxes of one state at once, which is many times as fast as one by one. */
  #drawState(state, vertices) {
    const { context, drawing: { view: { scale }, appearances } } = this;
    const { fill, border } = appearances.get(state);
    const far = scale < FAR;
    const isProminent = far && PROMINENT.has(state);
    context.beginPath();
    for (const { x, y, width, height } of vertices) {
      if (far) context.rect(x, y, width, height);
      else context.roundRect(x, y, width, height, RADIUS);
    }
    // At a small scale, boxes that need attention are filled with their full colour.
    context.fillStyle = isProminent ? border : fill;
    context.fill();
    context.strokeStyle = border;
    context.lineWidth = Math.max(state === "failed" ? 2.6 : 1.3, (isProminent ? 2 : 0.6) / scale);
    context.setLineDash(far ? [] : DASHES[state] ?? []);
    context.stroke();
  }

  /** Draw the second box behind each fold. */
  #drawStacks(folds) {
    const { context, drawing: { view: { scale }, appearances } } = this;
    for (const { x, y, width, height, status: { state } } of folds) {
      context.beginPath();
      context.roundRect(x + STACK, y + STACK, width, height, RADIUS);
      context.fillStyle = appearances.get(state).fill;
      context.fill();
      context.strokeStyle = appearances.get(state).border;
      context.lineWidth = Math.max(1.3, 0.6 / scale);
      context.setLineDash([]);
      context.stroke();
    }
  }

  /** At a small scale, write names of fixed size for as many boxes as there is room, those that need attention first. */
  #mark(vertices) {
    const { context, drawing: { view: { scale }, ink } } = this;
    const rank = ({ members, status: { state } }) => 2 * STATES.indexOf(state) + (members ? 1 : 0);
    const taken = [];
    const size = 1 / scale;
    context.font = SANS.replace("11px", `${11 * size}px`);
    context.lineWidth = 3 * size;
    context.lineJoin = "round";
    context.setLineDash([]);
    for (const { mark, x, y, height } of [...vertices].sort((a, b) => rank(b) - rank(a))) {
      if (taken.length === MARKS) break;
      const place = { left: x, right: x + context.measureText(mark).width + 4 * size, top: y, bottom: y + 16 * size };
      if (taken.some((other) => within(other, place))) continue;
      taken.push(place);
      context.strokeStyle = ink.page;
      context.strokeText(mark, x, y + height / 2 + 4 * size);
      context.fillStyle = ink.text;
      context.fillText(mark, x, y + height / 2 + 4 * size);
    }
  }

  #write({ x, y, width, heading, shown, text, status: { state, activity, paused } }) {
    const { context, drawing: { ink, appearances } } = this;
    context.font = SANS;
    context.fillStyle = ink.faint;
    context.fillText(heading, x + PADDING, y + 16);
    context.font = `bold ${SANS}`;
    context.textAlign = "right";
    context.fillStyle = activity ? ink.accent : appearances.get(state).border;
    context.fillText(activity ?? text ?? words(state), x + width - PADDING - (paused ? 13 : 0), y + 16);
    context.textAlign = "left";
    if (paused) this.#drawBars(x + width - PADDING - 8, y + 8);
    context.font = MONO;
    context.fillStyle = ink.text;
    context.fillText(shown, x + PADDING, y + 33);
  }

  #writeTitles(vertices) {
    const { context, drawing: { ink } } = this;
    context.font = LARGE;
    context.fillStyle = ink.text;
    for (const { title, x, y } of vertices) context.fillText(title, x + PADDING / 2, y + 30);
  }

  /** The pause sign. */
  #drawBars(x, y) {
    const { context, drawing: { ink } } = this;
    context.fillStyle = ink.paused;
    context.fillRect(x, y, 3, 9);
    context.fillRect(x + 5, y, 3, 9);
  }
}

/** The text shortened in the middle to the width `room`; `head` is the share of its beginning. */
function fitted(context, font, text, room, head) {
  context.font = font;
  if (text.length < 200 && context.measureText(text).width <= room) return text;
  const characters = [...text.slice(0, 100), ...(text.length > 100 ? text.slice(-100) : "")];
  for (let kept = Math.min(40, characters.length - 1); kept > 0; kept--) {
    const first = Math.round(kept * head);
    const cut = [...characters.slice(0, first), "…", ...characters.slice(characters.length - (kept - first))].join("");
    if (context.measureText(cut).width <= room) return cut;
  }
  return "…";
}
