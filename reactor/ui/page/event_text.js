// Events as people read them.

import { clock, count, duration, words } from "./format.js";

const NAMED = 3; // resources that a sentence lists
const CAUSES = {
  initial: "first check",
  intent: "new manifest",
  drift: "a change on the host",
  refresh: "refresh",
  retry: "retry",
  audit: "audit",
  health: "health check",
};

/**
 * What one event says: `what`, `why` and `took` as text, and in `tone` the state whose colour it has, if any.
 * `times` is the number of attempts that ended in the same way.
 */
export function tell(event, times = 1) {
  return { tone: "", why: "", took: "", ...(TALES[event.event] ?? unheard)(event, times) };
}

/** Causes of a check as people read them: "first check and retry". */
export function reasons(causes) {
  const named = causes.map((cause) => CAUSES[cause] ?? cause);
  return [named.slice(0, -1).join(", "), named.at(-1)].filter(Boolean).join(" and ");
}

/**
 * Events with how often each was told, the oldest first: of a failure that repeats, only the last attempt is left,
 * with the number of attempts in `times`.
 */
export function folded(events) {
  const told = new Map();
  const latest = new Map();
  for (const event of events) {
    const before = latest.get(event.ref);
    const again = before && sameFailure(before, event);
    told.set(event, again ? told.get(before) + 1 : 1);
    if (again) told.delete(before);
    if (event.event === "checked") latest.set(event.ref, event);
  }
  return [...told].map(([event, times]) => ({ event, times }));
}

function sameFailure(before, event) {
  const failed = (each) => each.event === "checked" && each.result === "failed";
  return failed(before) && failed(event) && before.error === event.error;
}

/** Whether an event only says that all is well with one resource. */
export function quiet(event) {
  return event.event === "checked" && event.result === "ok" && !event.actions?.length;
}

/** Whether somebody who can't see the page should hear of it at once. */
export function alarming(event) {
  return event.event === "reloadrejected" || (event.event === "checked" && event.result === "failed");
}

function listed(refs) {
  const more = refs.length > NAMED ? ` and ${refs.length - NAMED} more` : "";
  return refs.slice(0, NAMED).join(", ") + more;
}
const because = (text, reason) => (reason ? `${text}: ${reason}` : text);
const unheard = (event) => ({ what: event.event });

const TALES = {
  checked: (event, times) => ({
    tone: event.result,
    what: outcome(event, times),
    why: reasons(event.causes),
    took: duration(event.duration),
  }),
  blocked: (event) => ({ tone: "blocked", what: `blocked by ${listed(event.culprits)}` }),
  unblocked: () => ({ tone: "ok", what: "no longer blocked" }),
  skipped: (event) => ({ tone: "skipped", what: because("skipped", event.reason) }),
  paused: (event) => ({ tone: "paused", what: because(`paused until ${clock(event.until)}`, event.reason) }),
  resumed: () => ({ what: "resumed" }),
  output: (event) => ({ what: event.line }),
  watcherchanged: (event) => ({
    tone: event.state === "armed" ? "ok" : "failed",
    what: because(`watcher ${event.watcher} is ${event.state}`, event.reason),
  }),
  eventslost: (event) => ({ tone: "failed", what: because(`watcher ${event.watcher} lost events`, event.reason) }),
  auditfound: () => ({ tone: "failed", what: "the audit found drift that no event had announced" }),
  flapping: () => ({ tone: "failed", what: "something else changes it back as fast as it is repaired" }),
  reloaded: ({ kept, changed, added, gone }) => ({
    what: `manifest reloaded: ${added.length} added, ${changed.length} changed, ${gone.length} gone, ${kept} kept`,
  }),
  reloadrejected: (event) => ({ tone: "failed", what: because("manifest can't be used", event.problems.join("; ")) }),
  reversing: () => ({ what: "has left the manifest and is undone" }),
  reversed: () => ({ what: "is undone" }),
  converged: (event) => ({
    tone: "ok", what: `converged: ${count(event.resources, "resource")}`, took: duration(event.duration),
  }),
  ended: (event) => ({ what: because("the run is over", event.reason), took: duration(event.duration) }),
};

function outcome({ result, actions, error }, times) {
  const done = actions?.join("; ");
  if (result === "failed") return because(times > 1 ? `failed ${times} times` : "failed", error);
  return done || (result === "ok" ? "as desired" : words(result));
}
