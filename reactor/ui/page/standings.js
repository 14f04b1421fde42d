// How a resource can stand.

export const UNKNOWN = { state: "unknown", in_motion: false, activity: null, paused: false, fine: true };

/** The states, in the order in which a person wants to see them. */
export const WORST_FIRST = ["failed", "blocked", "would_change", "changed", "ok", "skipped", "unknown"];
