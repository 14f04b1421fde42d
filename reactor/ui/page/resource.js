// The panel of the resource that is selected. What has not changed stays as it is, with its scroll and focus.

import { resource, told } from "./connection.js";
import { element, nodes } from "./dom.js";
import { chain, diff, heading, neighbours, passing, recent, standing, table } from "./details.js";
import { pauseForm, resumeForm } from "./pauses.js";
import { UNKNOWN } from "./format.js";

const SHORTEST_WAIT = 300; // ms between two questions about the same resource

export class Panel {
  /** `chosen` is called with the ref of a neighbour, or null to close; `shown` with what the server tells. */
  constructor(box, { chosen, shown, world }) {
    Object.assign(this, { box, chosen, shown, world });
    this.visit = { ref: null }; // what is shown, since it was opened
    this.known = new Map(); // for each part of the panel, what it was made of
  }

  /** The resource that is shown, or null. */
  get ref() {
    return this.visit.ref;
  }

  /** Show a resource by its ref, or nothing. */
  open(ref) {
    this.visit = { ref, asking: false, stale: false };
    this.box.hidden = ref === null;
    this.box.scrollTop = 0;
    this.#clear();
    this.refresh();
  }

  /** Something may have changed: ask again, though not too often, and one question at a time. */
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

  /** The colours of the neighbours, and the times that pass. */
  tick() {
    for (const dot of this.box.querySelectorAll("[data-ref]")) {
      dot.className = `dot ${this.#standingOf(dot.dataset.ref).state.replace("_", "-")}`;
    }
    for (const time of this.box.querySelectorAll("time[data-moment]")) {
      time.textContent = passing(Number(time.dataset.moment));
    }
  }

  #standingOf(ref) {
    return this.world.standings.get(ref) ?? UNKNOWN;
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
    const record = { ...found.standing, activity: this.#standingOf(ref).activity };
    this.#part("problem", null, () => null);
    this.#part("place", place, () => place && element("p", { class: "place" }, place));
    this.#part("standing", record, () => standing(record, this.chosen));
    this.#part("pause", record.paused, () => this.#pausing(ref, record.paused));
    this.#part("diff", found.diff, () => found.diff && diff(found.diff));
    this.#part("why", why, () => why && chain(why));
    this.#part("edges", edges, () => [
      neighbours("Goes after", edges.before, this.chosen),
      neighbours("Goes before", edges.after, this.chosen),
    ]);
    this.#part("events", events, () => recent(events));
    this.#part("properties", properties, () => table(properties));
    this.tick();
  }

  /** Tell why nothing is known now. Of what is gone, nothing that was known is true any more. */
  #fail(error) {
    const gone = error.status === 404;
    if (gone) this.#clear();
    const text = gone ? "This resource is not in the manifest." : told(error);
    this.#part("problem", text, () => element("p", { class: "problem" }, text));
  }

  /** Only the name, and room on top for a problem. */
  #clear() {
    this.known.clear();
    this.box.replaceChildren();
    if (this.ref === null) return;
    this.#part("heading", this.ref, () => heading(this.ref, () => this.chosen(null)));
    this.#part("problem", null, () => null);
  }

  /** Make one part of the panel, below those made before, or anew when it is made of something else now. */
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
    if (!this.world.run.pausable) return null;
    const again = () => this.refresh();
    return paused ? resumeForm([ref], again) : pauseForm([ref], again);
  }
}
