// Boxes that stand for several resources of one directory, kind or manifest: opened by a click or a key, and shut again.

import { element } from "./dom.js";
import { count, oneLine, UNKNOWN, words, WORST_FIRST } from "./format.js";

const ALL = "*";

/** A box of several resources. It stands as the worst of them does. */
export class Fold {
  constructor(drawn, members) {
    Object.assign(this, drawn, { members, heading: "", text: "", states: "", standing: UNKNOWN });
    this.ref = this.name; // what a pointer on it is told
  }

  /** Its members stand otherwise now. */
  refresh() {
    const counts = new Map(WORST_FIRST.map((state) => [state, 0]));
    for (const { standing } of this.members) counts.set(standing.state, counts.get(standing.state) + 1);
    const state = WORST_FIRST.find((each) => counts.get(each) > 0) ?? UNKNOWN.state;
    const some = (aspect) => this.members.some(({ standing }) => standing[aspect]);
    this.standing = { ...UNKNOWN, state, in_motion: some("in_motion"), paused: some("paused") };
    const texts = WORST_FIRST.filter((each) => counts.get(each) > 0).map((each) =>
      (counts.get(each) === this.members.length ? words(each) : `${counts.get(each)} ${words(each)}`));
    this.text = (counts.get("blocked") > 0 ? texts.slice(0, 2) : texts.slice(0, 1)).join(", "); // what the box has room for
    this.states = texts.join(", ");
  }

  get told() {
    return `${oneLine(this.name)}: ${count(this.members.length, "resource")}, ${this.states}`;
  }
}

/** What is open, and the elements that open and shut it by key. */
export class Folding {
  /** `layer` holds a button on each fold, `list` one for each that is open, `toggle` is for all; `changed` is called. */
  constructor(world, view, { layer, list, toggle, changed }) {
    Object.assign(this, { world, view, layer, list, toggle, changed });
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

  /** There is another picture: make its buttons. */
  refresh() {
    const foldable = this.world.vertices.some(({ folds }) => folds.length > 0);
    this.toggle.hidden = !foldable;
    this.toggle.textContent = this.#all() ? "Fold all" : "Open all";
    this.layer.replaceChildren(...this.world.folds.map((fold) => this.#button(fold)));
    const open = this.#all() ? [] : [...this.opened];
    this.list.replaceChildren(...open.map((name) => element("li", {}, this.#shutter(name))));
    this.relabel();
  }

  /** The counts are others now. */
  relabel() {
    [...this.layer.children].forEach((button, place) => {
      button.setAttribute("aria-label", `Open ${this.world.folds[place].told}`);
    });
  }

  /** Keep the buttons on their boxes. */
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
    const look = { type: "button", onclick: shut, title: "Show as one box again" };
    return element("button", { ...look, "aria-label": `Fold ${oneLine(name)}` }, "− ", oneLine(name));
  }
}
