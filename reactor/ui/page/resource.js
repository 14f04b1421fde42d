// The panel of the selected resource. Unchanged parts are kept, with their scroll position and focus.

import { resource, errorText } from "./connection.js";
import { element, nodes } from "./dom.js";
import { chain, diff, heading, neighbours, passing, recent, status, table } from "./details.js";
import { pauseForm, resumeForm } from "./pauses.js";
import { UNKNOWN } from "./format.js";

const SHORTEST_WAIT = 300; // ms between two requests for the same resource

export class Panel {
  /** `chosen` is called with the ref of a neighbour, or null to close; `shown` with the details from the server. */
  constructor(box, { chosen, shown, runState }) {
    Object.assign(this, { box, chosen, shown, runState });
    this.visit = { ref: null }; // the resource that is shown
    this.known = new Map(); // part of the panel -> its data
  }

  /** The ref of the resource that is shown, or null. */
  get ref() {
    return this.visit.ref;
  }

  /** Show a resource by its ref; null closes the panel. */
  open(ref) {
    this.visit = { ref, asking: false, stale: false };
    this.box.hidden = ref === null;
    this.box.scrollTop = 0;
    this.#clear();
    this.refresh();
  }

  /** Request the details again after a change, one request at a time, and not too often. */
  async refresh(ref = this.ref) {
    const { visit } = this;
    if (ref === null || ref !== visit.ref) return;
    visit.stale = true;
    if (visit.asking) return;
    visit.asking = true;
    while (visit.stale && visit === this.visit) {
      visit.stale = false;
      await this.#ask(visit);
      await new Promise((resolve) => { setTimeout(resolve, SHORTEST_WAIT); });
    }
    visit.asking = false;
  }

  /** Update the colours of the neighbours, and the elapsed times. */
  tick() {
    for (const dot of this.box.querySelectorAll("[data-ref]")) {
      dot.className = `dot ${this.#statusOf(dot.dataset.ref).state.replace("_", "-")}`;
    }
    for (const time of this.box.querySelectorAll("time[data-moment]")) {
      time.textContent = passing(Number(time.dataset.moment));
    }
  }

  #statusOf(ref) {
    return this.runState.statuses.get(ref) ?? UNKNOWN;
  }

  async #ask(visit) {
    try {
      const found = await resource(visit.ref);
      if (visit !== this.visit) return;
      this.#show(found);
      this.shown(found);
    } catch (error) {
      if (visit === this.visit) this.#fail(error);
    }
  }

  #show(found) {
    const { ref, place, why, edges, events, properties } = found;
    const record = { ...found.status, activity: this.#statusOf(ref).activity };
    this.#part("problem", null, () => null);
    this.#part("place", place, () => place && element("p", { class: "place" }, place));
    this.#part("status", record, () => status(record, this.chosen));
    this.#part("pause", record.paused, () => this.#pausing(ref, record.paused));
    this.#part("diff", found.diff, () => found.diff && diff(found.diff));
    this.#part("why", why, () => why && chain(why));
    this.#part("edges", edges, () => [
      neighbours("Depends on", edges.before, this.chosen),
      neighbours("Dependents", edges.after, this.chosen),
    ]);
    this.#part("events", events, () => recent(events));
    this.#part("properties", properties, () => table(properties));
    this.tick();
  }

  /** Show an error. If the resource was removed, clear its details, too. */
  #fail(error) {
    const gone = error.status === 404;
    if (gone) this.#clear();
    const text = gone ? "This resource is not in the manifest." : errorText(error);
    this.#part("problem", text, () => element("p", { class: "problem" }, text));
  }

  /** Show only the name, and an empty part for an error. */
  #clear() {
    this.known.clear();
    this.box.replaceChildren();
    if (this.ref === null) return;
    this.#part("heading", this.ref, () => heading(this.ref, () => this.chosen(null)));
    this.#part("problem", null, () => null);
  }

  /** Create one part of the panel, below the earlier ones, or replace it if its data has changed. */
  #part(name, data, make) {
    const key = JSON.stringify(data);
    if (this.known.get(name) === key) return;
    this.known.set(name, key);
    let part = this.box.querySelector(`:scope > .part-${name}`);
    if (!part) {
      part = element("div", { class: `part-${name}` });
      this.box.append(part);
    }
    part.replaceChildren(...nodes([make()]));
  }

  #pausing(ref, paused) {
    if (!this.runState.run.pausable) return null;
    const again = () => this.refresh();
    return paused ? resumeForm([ref], again) : pauseForm([ref], again);
  }
}
