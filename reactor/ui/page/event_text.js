// Events as text.

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
 * An event as text: `what`, `why` and `took`; `stateColour` is the state whose colour it has, if any.
 * `times` is the number of attempts with the same result.
 */
export function describe(event, times = 1) {
  return { stateColour: "", why: "", took: "", ...(DESCRIPTIONS[event.event] ?? unknownEvent)(event, times) };
}

/** The causes of a check as text: "first check and retry". */
export function reasons(causes) {
  const named = causes.map((cause) => CAUSES[cause] ?? cause);
  return [named.slice(0, -1).join(", "), named.at(-1)].filter(Boolean).join(" and ");
}

/** Events, the oldest first. Repeated equal failures are merged to the last one, with the number of attempts in `times`. */
export function mergeFailures(events) {
  const merged = new Map();
  const latest = new Map();
  for (const event of events) {
    const before = latest.get(event.ref);
    const again = before && sameFailure(before, event);
    merged.set(event, again ? merged.get(before) + 1 : 1);
    if (again) merged.delete(before);
    if (event.event === "checked") latest.set(event.ref, event);
  }
  return [...merged].map(([event, times]) => ({ event, times }));
}

function sameFailure(before, event) {
  const failed = (each) => each.event === "checked" && each.result === "failed";
  return failed(before) && failed(event) && before.error === event.error;
}

/** Whether an event is a check that found nothing to do. */
export function foundNothing(event) {
  return event.event === "checked" && event.result === "ok" && !event.actions?.length;
}

/** Whether screen readers should announce the event at once. */
export function urgent(event) {
  return event.event === "reloadrejected" || (event.event === "checked" && event.result === "failed");
}

function listed(refs) {
  const more = refs.length > NAMED ? ` and ${refs.length - NAMED} more` : "";
  return refs.slice(0, NAMED).join(", ") + more;
}
const because = (text, reason) => (reason ? `${text}: ${reason}` : text);
const unknownEvent = (event) => ({ what: event.event });

const DESCRIPTIONS = {
  checked: (event, times) => ({
    stateColour: event.result,
    what: outcome(event, times),
    why: times > 1 ? "" : reasons(event.causes), // the number of attempts says that it was a retry
    took: duration(event.duration),
  }),
  blocked: (event) => ({ stateColour: "blocked", what: `blocked by ${listed(event.culprits)}` }),
  unblocked: () => ({ stateColour: "ok", what: "no longer blocked" }),
  skipped: (event) => ({ stateColour: "skipped", what: because("skipped", event.reason) }),
  paused: (event) => ({ stateColour: "paused", what: because(`paused until ${clock(event.until)}`, event.reason) }),
  slotwaited: (event) => ({ stateColour: "waiting", what: `waiting for slot ${event.slot} (${event.reason})` }),
  resumed: () => ({ what: "resumed" }),
  output: (event) => ({ what: event.line }),
  watcherchanged: (event) => ({
    stateColour: event.state === "armed" ? "ok" : "failed",
    what: because(`watcher ${event.watcher} is ${event.state}`, event.reason),
  }),
  eventslost: (event) => ({ stateColour: "failed", what: because(`watcher ${event.watcher} lost events`, event.reason) }),
  auditfound: () => ({ stateColour: "failed", what: "the audit found drift that no event had reported" }),
  flapping: () => ({ stateColour: "failed", what: "another program keeps changing it back" }),
  reloaded: ({ kept, changed, added, gone }) => ({
    what: `manifest reloaded: ${added.length} added, ${changed.length} changed, ${gone.length} gone, ${kept} kept`,
  }),
  reloadrejected: (event) => ({ stateColour: "failed", what: because("invalid manifest", event.problems.join("; ")) }),
  reversing: () => ({ what: "was removed from the manifest and is being undone" }),
  reversed: () => ({ what: "was undone" }),
  converged: (event) => ({
    stateColour: "ok", what: `converged: ${count(event.resources, "resource")}`, took: duration(event.duration),
  }),
  ended: (event) => ({ what: because("the run ended", event.reason), took: duration(event.duration) }),
};

function outcome({ result, actions, error }, times) {
  const done = actions?.join("; ");
  if (result === "failed") return because(times > 1 ? `failed ${times} times` : "failed", error);
  return done || (result === "ok" ? "as desired" : words(result));
}
