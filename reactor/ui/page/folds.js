// Folds: boxes for several resources of one directory, kind or manifest, which open and close by click or key.

import { element } from "./dom.js";
import { count, oneLine, UNKNOWN, words, WORST_FIRST } from "./format.js";

const ALL = "*";

/** A box for several resources, with the worst of their states. */
export class Fold {
  constructor(drawn, members) {
    Object.assign(this, drawn, { members, heading: "", text: "", states: "", status: UNKNOWN });
    this.ref = this.name; // for the tooltip
  }

  /** Update the state and the counts from the members. */
  refresh() {
    const counts = new Map(WORST_FIRST.map((state) => [state, 0]));
    for (const { status } of this.members) counts.set(status.state, counts.get(status.state) + 1);
    const state = WORST_FIRST.find((each) => counts.get(each) > 0) ?? UNKNOWN.state;
    const some = (aspect) => this.members.some(({ status }) => status[aspect]);
    this.status = { ...UNKNOWN, state, in_motion: some("in_motion"), paused: some("paused") };
    const texts = WORST_FIRST.filter((each) => counts.get(each) > 0).map((each) =>
      (counts.get(each) === this.members.length ? words(each) : `${counts.get(each)} ${words(each)}`));
    this.text = (counts.get("blocked") > 0 ? texts.slice(0, 2) : texts.slice(0, 1)).join(", "); // what the box has room for
    this.states = texts.join(", ");
  }

  get description() {
    return `${oneLine(this.name)}: ${count(this.members.length, "resource")}, ${this.states}`;
  }
}

/** The open folds, and the buttons that open and close them. */
export class Folding {
  /** `layer` has a button on each fold, `list` one for each open fold, `toggle` is for all. `changed` is called on a change. */
  constructor(runState, view, { layer, list, toggle, changed }) {
    Object.assign(this, { runState, view, layer, list, toggle, changed });
    this.opened = new Set();
    toggle.addEventListener("click", () => this.#become(this.#all() ? [] : [ALL]));
  }

  open(name) {
    this.#become([...this.opened, name], name);
  }

  #all() {
    return this.opened.has(ALL);
  }

  #become(opened, shown = null) {
    this.opened = new Set(opened);
    this.changed(shown);
  }

  /** Create the buttons for a new layout. */
  refresh() {
    const foldable = this.runState.vertices.some(({ folds }) => folds.length > 0);
    this.toggle.hidden = !foldable;
    this.toggle.textContent = this.#all() ? "Fold all" : "Open all";
    this.layer.replaceChildren(...this.runState.folds.map((fold) => this.#button(fold)));
    const open = this.#all() ? [] : [...this.opened];
    this.list.replaceChildren(...open.map((name) => element("li", {}, this.#shutter(name))));
    this.relabel();
  }

  /** Update the counts in the labels. */
  relabel() {
    [...this.layer.children].forEach((button, place) => {
      button.setAttribute("aria-label", `Open ${this.runState.folds[place].description}`);
    });
  }

  /** Move the buttons with the view. */
  follow() {
    const { x, y, scale } = this.view;
    this.layer.style.transform = `translate(${x}px, ${y}px) scale(${scale})`;
  }

  #button(fold) {
    const given = { type: "button", onclick: () => this.open(fold.name), onfocus: () => this.view.reveal(fold) };
    const button = element("button", given);
    const place = { left: fold.x, top: fold.y, width: fold.width, height: fold.height };
    for (const [name, length] of Object.entries(place)) button.style[name] = `${length}px`;
    return button;
  }

  #shutter(name) {
    const shut = () => this.#become([...this.opened].filter((each) => each !== name));
    const attributes = { type: "button", onclick: shut, title: "Show as one box again" };
    return element("button", { ...attributes, "aria-label": `Fold ${oneLine(name)}` }, "− ", oneLine(name));
  }
}
