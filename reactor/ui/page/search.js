// Search and filter: every word must be in the ref or the state, and the resource must have the chosen aspect.

import { element } from "./dom.js";
import { ASPECTS, hasAspect } from "./state.js";
import { count, oneLine, words } from "./format.js";

const LISTED = 200;

export class Search {
  /** `changed` is called when the results change; `chosen` with a vertex of the list. */
  constructor(runState, { field, list, states, changed, chosen }) {
    Object.assign(this, { runState, field, list, states, changed, chosen });
    this.aspect = null;
    this.matches = null; // a set of vertices, or null without a search
    this.chips = new Map(ASPECTS.map((aspect) => [aspect, this.#chip(aspect)]));
    states.append(...this.chips.values());
    field.addEventListener("input", () => this.find());
    field.addEventListener("keydown", (event) => this.#fieldKey(event));
    list.addEventListener("keydown", (event) => this.#listKey(event));
  }

  /** Search again, after a change of the words, the aspect or the resources. */
  find() {
    const wanted = this.field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const active = wanted.length > 0 || this.aspect !== null;
    this.matches = active ? new Set(this.runState.vertices.filter((vertex) => this.#matches(vertex, wanted))) : null;
    this.#listMatches();
    this.changed();
  }

  /** Update the counts after a change of states, and search again if needed. */
  refresh() {
    this.#count();
    if (this.matches) this.find();
  }

  #count() {
    const counts = this.runState.counts();
    for (const [aspect, chip] of this.chips) {
      const number = counts.get(aspect);
      chip.lastChild.textContent = number.toLocaleString("en");
      chip.hidden = number === 0 && this.aspect !== aspect;
    }
  }

  clear() {
    this.field.value = "";
    if (this.list.contains(document.activeElement)) this.field.focus();
    this.#choose(null);
  }

  #matches(vertex, wanted) {
    if (this.aspect && !hasAspect(vertex, this.aspect)) return false;
    const text = [vertex.ref, words(vertex.status.state)].join(" ").toLowerCase();
    return wanted.every((word) => text.includes(word));
  }

  #chip(aspect) {
    const chosen = () => this.#choose(this.aspect === aspect ? null : aspect);
    const name = `chip ${aspect.replace("_", "-")}`;
    return element("button", { type: "button", class: name, hidden: true, "aria-pressed": "false", onclick: chosen },
      element("span", {}, words(aspect)), " ", element("b"));
  }

  #choose(aspect) {
    this.aspect = aspect;
    for (const [each, chip] of this.chips) chip.setAttribute("aria-pressed", each === aspect);
    this.find();
    this.#count();
  }

  #listMatches() {
    this.list.hidden = !this.matches;
    if (!this.matches) return;
    const found = [...this.matches].slice(0, LISTED);
    const all = count(this.matches.size, "resource");
    const title = this.matches.size > LISTED ? `the first ${LISTED} of ${all}` : all;
    const key = JSON.stringify([title, found.map(({ ref, status }) => [ref, status.state])]);
    if (key === this.key) return; // unchanged rows keep the focus
    this.key = key;
    const focused = this.list.contains(document.activeElement) ? this.#rows().indexOf(document.activeElement) : -1;
    this.list.replaceChildren(
      element("p", { role: "status" }, title),
      element("ul", {}, found.map((vertex) => element("li", {}, this.#row(vertex)))),
    );
    this.#focus(focused);
  }

  #row(vertex) {
    const state = vertex.status.state.replace("_", "-");
    return element("button", { type: "button", onclick: () => this.chosen(vertex) },
      element("i", { class: `dot ${state}` }), oneLine(vertex.ref.slice(0, 300)));
  }

  #rows() {
    return [...this.list.querySelectorAll("button")];
  }

  #focus(place) {
    if (place >= 0) this.#rows().at(Math.min(place, this.#rows().length - 1))?.focus();
  }

  #fieldKey(event) {
    if (event.key === "ArrowDown") {
      event.preventDefault();
      this.#focus(0);
    }
    if (event.key === "Enter") this.#rows()[0]?.click();
  }

  #listKey(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const place = this.#rows().indexOf(document.activeElement) + step;
    if (place < 0) this.field.focus();
    else this.#focus(place);
  }
}
