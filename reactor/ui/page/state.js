// What is known: the graph as it was fetched, and how each resource stands, as the stream tells.

import { Fold } from "./folds.js";
import { UNKNOWN } from "./format.js";

/** What a person can ask to see, the worst first, and last what comes and goes. All but two are states. */
export const ASPECTS = [
  "failed", "blocked", "paused", "would_change", "changed", "ok", "skipped", "unknown", "in_motion",
];

export class World {
  constructor() {
    this.run = null;
    this.vertices = [];
    this.folds = []; // boxes that stand for several resources
    this.boxes = []; // all boxes: folds, and the resources that are in none
    this.edges = [];
    this.bounds = { x: 0, y: 0, width: 1, height: 1 };
    this.byRef = new Map();
    this.standings = new Map();
  }

  /** Take a graph from the server. Of what the stream has told of, it knows better how it stands. */
  replace(graph) {
    const known = this.standings;
    const latest = ([ref, standing]) => [ref, known.get(ref) ?? standing];
    this.standings = new Map(Object.entries(graph.standing).map(latest));
    this.run = graph.run;
    this.bounds = { x: 0, y: 0, width: graph.width, height: graph.height };
    this.vertices = graph.vertices.map((vertex) => ({ ...vertex, standing: this.#standingOf(vertex) }));
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

  /** Take how everything stands, after a connection was made. */
  stand(standings) {
    this.standings = new Map();
    this.update(standings);
    for (const vertex of this.vertices) vertex.standing = this.#standingOf(vertex);
    this.folds.forEach((fold) => fold.refresh());
  }

  #standingOf({ ref }) {
    return this.standings.get(ref) ?? UNKNOWN;
  }

  /** Take what has changed. Answers with the vertices that stand otherwise now, each with how it stood. */
  update(standings) {
    const changed = [];
    for (const [ref, standing] of Object.entries(standings)) {
      this.standings.set(ref, standing);
      const vertex = this.byRef.get(ref);
      if (!vertex) continue;
      changed.push({ vertex, before: vertex.standing });
      vertex.standing = standing;
    }
    const boxes = new Set(changed.map(({ vertex }) => vertex.box));
    this.folds.filter((fold) => boxes.has(fold)).forEach((fold) => fold.refresh());
    return changed;
  }

  /** The boxes directly before or after one, those that block it, and those that it blocks, however far away. */
  near(box) {
    const found = new Set([box]);
    for (const { from, to } of this.edges) {
      if (from === box) found.add(to);
      if (to === box) found.add(from);
    }
    for (const blocked of this.#reached(box, "from", "to", ["blocked"])) found.add(blocked);
    if (box.standing.state !== "blocked") return found;
    for (const culprit of this.#reached(box, "to", "from", ["blocked", "failed"])) found.add(culprit);
    return found;
  }

  /** What edges lead to from a box, through resources of the given states only. */
  #reached(box, near, far, states) {
    const onwards = Map.groupBy(this.edges, (edge) => edge[near]);
    const found = new Set([box]);
    for (const each of found) {
      for (const edge of onwards.get(each) ?? []) {
        if (states.includes(edge[far].standing.state)) found.add(edge[far]);
      }
    }
    return found;
  }

  counts() {
    const counts = new Map(ASPECTS.map((aspect) => [aspect, 0]));
    for (const { standing } of this.vertices) {
      counts.set(standing.state, counts.get(standing.state) + 1);
      if (standing.paused) counts.set("paused", counts.get("paused") + 1);
      if (standing.in_motion) counts.set("in_motion", counts.get("in_motion") + 1);
    }
    return counts;
  }
}

/** Whether a vertex is what `aspect` says. */
export function shows(vertex, aspect) {
  const { state, paused, in_motion: inMotion } = vertex.standing;
  if (aspect === "paused") return paused;
  return aspect === "in_motion" ? inMotion : state === aspect;
}
