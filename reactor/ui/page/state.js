// The state of the page: the graph, and the status of each resource from the stream.

import { Fold } from "./folds.js";
import { UNKNOWN } from "./format.js";

/** The filters: the states, the worst first, with "paused" and "in_motion". */
export const ASPECTS = [
  "failed", "blocked", "waiting", "paused", "would_change", "changed", "ok", "skipped", "unknown", "in_motion",
];

export class RunState {
  constructor() {
    this.run = null;
    this.vertices = [];
    this.folds = []; // boxes for several resources
    this.boxes = []; // all boxes: folds, and resources outside of folds
    this.edges = [];
    this.bounds = { x: 0, y: 0, width: 1, height: 1 };
    this.byRef = new Map();
    this.statuses = new Map();
  }

  /** Take a graph from the server. A status from the stream is newer than that in the graph. */
  replace(graph) {
    const known = this.statuses;
    const latest = ([ref, status]) => [ref, known.get(ref) ?? status];
    this.statuses = new Map(Object.entries(graph.status).map(latest));
    this.run = graph.run;
    this.bounds = { x: 0, y: 0, width: graph.width, height: graph.height };
    this.vertices = graph.vertices.map((vertex) => ({ ...vertex, status: this.#statusOf(vertex) }));
    this.byRef = new Map(this.vertices.map((vertex) => [vertex.ref, vertex]));
    this.folds = graph.folds.map((fold, number) =>
      new Fold(fold, this.vertices.filter(({ box }) => box === number)));
    for (const vertex of this.vertices) vertex.box = vertex.box === null ? vertex : this.folds[vertex.box];
    this.boxes = [...this.vertices.filter((vertex) => vertex.box === vertex), ...this.folds];
    this.folds.forEach((fold) => fold.refresh());
    const folds = new Map(this.folds.map((fold, number) => [`fold ${number}`, fold]));
    const end = (key) => this.byRef.get(key) ?? folds.get(key);
    this.edges = graph.edges.map((edge) => ({ ...edge, from: end(edge.from), to: end(edge.to) }));
  }

  /** Take the status of every resource, after a (re)connection. */
  setStatuses(statuses) {
    this.statuses = new Map();
    this.update(statuses);
    for (const vertex of this.vertices) vertex.status = this.#statusOf(vertex);
    this.folds.forEach((fold) => fold.refresh());
  }

  #statusOf({ ref }) {
    return this.statuses.get(ref) ?? UNKNOWN;
  }

  /** Take changed statuses. Returns the changed vertices, each with its status before. */
  update(statuses) {
    const changed = [];
    for (const [ref, status] of Object.entries(statuses)) {
      this.statuses.set(ref, status);
      const vertex = this.byRef.get(ref);
      if (!vertex) continue;
      changed.push({ vertex, before: vertex.status });
      vertex.status = status;
    }
    const boxes = new Set(changed.map(({ vertex }) => vertex.box));
    this.folds.filter((fold) => boxes.has(fold)).forEach((fold) => fold.refresh());
    return changed;
  }

  /** The direct neighbours of a box, the boxes that block it, and those that it blocks, at any distance. */
  related(box) {
    const found = new Set([box]);
    for (const { from, to } of this.edges) {
      if (from === box) found.add(to);
      if (to === box) found.add(from);
    }
    for (const blocked of this.#reached(box, "from", "to", ["blocked"])) found.add(blocked);
    if (box.status.state !== "blocked") return found;
    for (const culprit of this.#reached(box, "to", "from", ["blocked", "failed"])) found.add(culprit);
    return found;
  }

  /** The boxes that edges lead to from a box, through resources of the given states only. */
  #reached(box, near, far, states) {
    const onwards = Map.groupBy(this.edges, (edge) => edge[near]);
    const found = new Set([box]);
    for (const each of found) {
      for (const edge of onwards.get(each) ?? []) {
        if (states.includes(edge[far].status.state)) found.add(edge[far]);
      }
    }
    return found;
  }

  counts() {
    const counts = new Map(ASPECTS.map((aspect) => [aspect, 0]));
    for (const { status } of this.vertices) {
      counts.set(status.state, counts.get(status.state) + 1);
      if (status.paused) counts.set("paused", counts.get("paused") + 1);
      if (status.in_motion) counts.set("in_motion", counts.get("in_motion") + 1);
    }
    return counts;
  }
}

/** Whether a vertex has an aspect. */
export function hasAspect(vertex, aspect) {
  const { state, paused, in_motion: inMotion } = vertex.status;
  if (aspect === "paused") return paused;
  return aspect === "in_motion" ? inMotion : state === aspect;
}
