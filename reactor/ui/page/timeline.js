// The list of events, the latest on top. Only visible rows exist, so a burst costs no more than one screen of rows.

import { element } from "./dom.js";
import { mergeFailures, foundNothing, describe } from "./event_text.js";
import { clock, count, elided, oneLine } from "./format.js";

const KEPT = 1000;
const ROW = 46; // px, as in the style sheet
const SPARE = 4; // rows above and below the visible ones
const REF = 36; // characters of a name
const LONGEST = 400; // characters of a line

export class Timeline {
  /** `box` scrolls a list; the button `newer` goes to its top; `chosen` is called with the ref of a clicked row. */
  constructor(box, newer, chosen) {
    this.box = box;
    this.list = box.querySelector("ol");
    this.newer = newer;
    this.chosen = chosen;
    this.events = []; // the latest last
    this.held = []; // those that arrived while the user reads older ones
    this.rows = new Map();
    this.showsUnchanged = false;
    this.frame = 0;
    box.addEventListener("scroll", () => this.#later());
    box.addEventListener("pointerleave", () => this.#later());
    newer.addEventListener("click", () => { box.scrollTop = 0; this.#release(); });
    new ResizeObserver(() => this.#later()).observe(box);
  }

  /** Replace the events by those from the server. Newer ones from the stream stay. */
  replace(events) {
    const latest = events.at(-1)?.id ?? 0;
    this.held = [...events, ...this.held.filter(({ id }) => id > latest)];
    this.events = [];
    this.rows.forEach((row) => row.remove());
    this.rows.clear();
    this.#release();
  }

  add(event) {
    this.held.push(event);
    if (this.held.length > KEPT) this.held.shift();
    this.#later();
  }

  showUnchanged(shown) {
    this.showsUnchanged = shown;
    this.#release();
  }

  #later() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      if (this.#isRead()) this.#draw();
      else this.#release();
    });
  }

  /** Whether the user reads the list: then rows stay in place, and new events wait. */
  #isRead() {
    return this.events.length > 0
      && (this.box.scrollTop > ROW / 2 || this.list.matches(":hover") || this.list.querySelector(":focus-visible"));
  }

  #release() {
    this.events.push(...this.held);
    this.events.splice(0, this.events.length - KEPT);
    this.held = [];
    this.#draw();
  }

  #shown(events) {
    const merged = mergeFailures(events);
    return this.showsUnchanged ? merged : merged.filter(({ event }) => !foundNothing(event));
  }

  #draw() {
    const shown = this.#shown(this.events).reverse();
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - SPARE);
    const last = Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW) + SPARE;
    const seen = shown.slice(first, last);
    this.list.style.height = `${shown.length * ROW}px`;
    const rows = new Map(seen.map(({ event, times }) => [event, this.rows.get(event) ?? this.#row(event, times)]));
    for (const [event, row] of this.rows) if (!rows.has(event)) row.remove();
    seen.forEach(({ event }, place) => this.#place(rows.get(event), place, first + place, shown.length));
    this.rows = rows;
    const waiting = this.#shown(this.held).length;
    this.newer.hidden = waiting === 0;
    this.newer.textContent = `${count(waiting, "newer event")}`;
  }

  /** Keep the order of the elements as on the screen, for screen readers. */
  #place(row, child, place, total) {
    row.style.transform = `translateY(${place * ROW}px)`;
    row.setAttribute("aria-posinset", place + 1);
    row.setAttribute("aria-setsize", total);
    if (this.list.children[child] !== row) this.list.insertBefore(row, this.list.children[child] ?? null);
  }

  #row(event, times) {
    const { what, why, took, stateColour } = describe(event, times);
    const text = oneLine(what.slice(0, LONGEST));
    const name = event.ref ?? "reactor";
    const children = [
      element("span", { class: "name", title: elided(name, LONGEST) }, elided(name, REF)),
      element("time", { title: new Date(event.time * 1000).toLocaleString("sv-SE") }, clock(event.time)),
      element("span", { class: "what", title: text }, text),
      element("span", { class: "took" }, [took, why].filter(Boolean).join(" · ")),
    ];
    const button = { type: "button", onclick: () => this.chosen(event.ref) };
    const row = event.ref ? element("button", button, children) : element("div", {}, children);
    return element("li", { class: stateColour.replace("_", "-") }, row);
  }
}
