// What is known: the graph as it was fetched, and how each resource stands, as the stream tells.

export const UNKNOWN = { state: "unknown", in_motion: false, activity: null, paused: false, fine: true };

/** What a person can ask to see, the worst first, and last what comes and goes. All but two are states. */
export const ASPECTS = [
  "failed", "blocked", "paused", "would_change", "changed", "ok", "skipped", "unknown", "in_motion",
];

export class World {
  constructor() {
    this.run = null;
    this.vertices = [];
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
    const end = (ref) => this.byRef.get(ref);
    this.edges = graph.edges.map((edge) => ({ ...edge, from: end(edge.from), to: end(edge.to) }));
  }

  /** Take how everything stands, after a connection was made. */
  stand(standings) {
    this.standings = new Map();
    this.update(standings);
    for (const vertex of this.vertices) vertex.standing = this.#standingOf(vertex);
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
    return changed;
  }

  /** The resources directly before or after one, those that block it, and those that it blocks, however far away. */
  near(vertex) {
    const found = new Set([vertex]);
    for (const { from, to } of this.edges) {
      if (from === vertex) found.add(to);
      if (to === vertex) found.add(from);
    }
    for (const blocked of this.#reached(vertex, "from", "to", ["blocked"])) found.add(blocked);
    if (vertex.standing.state !== "blocked") return found;
    for (const culprit of this.#reached(vertex, "to", "from", ["blocked", "failed"])) found.add(culprit);
    return found;
  }

  /** What edges lead to from a vertex, through resources of the given states only. */
  #reached(vertex, near, far, states) {
    const onwards = Map.groupBy(this.edges, (edge) => edge[near]);
    const found = new Set([vertex]);
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
