// The parts of the panel of one resource. `chosen` is called with the ref of another resource that is clicked.

import { element } from "./dom.js";
import { mergeFailures, foundNothing, reasons, describe } from "./event_text.js";
import { clock, elided, oneLine, readable, span, words } from "./format.js";

const LONGEST = 20_000; // characters of a text that are shown
const LISTED = 100; // neighbours
const RECENT = 8; // events
const INDENT = 7; // px for a space

const ACTIVITIES = { running: "being checked", dirty: "a check is pending", waiting: "a check is pending, and waits" };
const DIFF_LINES = { "+": "added", "-": "removed", "@": "hunk" };

export function heading(ref, close) {
  const [, kind, name] = ref.match(/^([^#]*)#([^]*)$/);
  const attributes = { type: "button", class: "close", title: "Close (Esc)", "aria-label": "Close", onclick: close };
  const title = element("h2", { title: elided(ref, 400) }, element("small", {}, kind), " ", name);
  return [element("button", attributes, "×"), title];
}

/** The status of the resource. */
export function status(record, chosen) {
  const { state, since, activity, error, hint, blocked_by: culprits, checked, paused } = record;
  const badge = element("span", { class: `badge ${state.replace("_", "-")}` }, words(state));
  const doing = activity && element("span", { class: "activity" }, ACTIVITIES[activity]);
  return [
    element("p", { class: "state" }, badge, " for ", passed(since), doing),
    error && element("div", { class: "error" }, note(cut(error)), hint && element("p", { class: "hint" }, hint)),
    record.retry_at && note(`Next attempt at ${clock(record.retry_at)}`),
    culprits.length > 0 && [note("Blocked by a failure of:"), links(culprits.map((ref) => ({ ref })), chosen)],
    record.waiting_for && note(`Waiting for slot ${record.waiting_for.slot} (${record.waiting_for.reason})`),
    paused && note(`Paused until ${clock(paused.until)}: ${paused.reason}`),
    record.refresh_at && note(`Refresh at ${clock(record.refresh_at)}`),
    record.flapping && note("Another program keeps changing it back."),
    record.watching.map((each) => note(`Watcher ${each.watcher} is ${each.state}: ${each.reason}`)),
    checked && faint("p", `Checked at ${clock(checked.time)} (${reasons(checked.causes)})`),
  ];
}

/** A unified diff; its first two lines are the names of the files. */
export function diff({ text, time }) {
  const lines = cut(text).replace(/\n$/, "").split("\n").map((line, place) =>
    element("span", { class: place < 2 ? "file" : DIFF_LINES[line[0]] ?? "" }, line || " "));
  const shown = element("pre", { class: "diff", tabIndex: 0, "aria-label": "Last diff" }, lines);
  return section("Last diff", shown, faint("span", clock(time)));
}

/** The sentences of `why`, each cause indented below its effect. */
export function chain(lines) {
  return section("Why", element("ol", { class: "chain" }, lines.map((line) => {
    const row = element("li", {}, line.trim());
    row.style.paddingInlineStart = `${line.search(/\S|$/) * INDENT}px`;
    return row;
  })));
}

export function neighbours(title, edges, chosen) {
  const more = edges.length > LISTED && faint("p", `and ${edges.length - LISTED} more`);
  return edges.length > 0 && section(`${title} (${edges.length})`, [links(edges.slice(0, LISTED), chosen), more]);
}

export function recent(events) {
  const shown = mergeFailures(events).filter(({ event }) => !foundNothing(event)).slice(-RECENT).reverse();
  return shown.length > 0 && section("Latest events", element("ul", { class: "recent" }, shown.map(({ event, times }) => {
    const { what, why, took } = describe(event, times);
    const more = [took, why].filter(Boolean).join(" · ");
    return element("li", {}, faint("span", clock(event.time)), " ", cut(what), " ", faint("span", more));
  })));
}

export function table(properties) {
  return section("Properties", element("dl", {}, Object.entries(properties).map(([name, value]) => [
    element("dt", {}, name), element("dd", {}, element("pre", {}, cut(readable(value)))),
  ])));
}

/** The time since `moment`. */
export const passing = (moment) => span(Math.max(0, Date.now() / 1000 - moment));

function passed(moment) {
  const time = element("time", { title: clock(moment) }, passing(moment));
  time.dataset.moment = moment;
  return time;
}

function links(edges, chosen) {
  return element("ul", { class: "links" }, edges.map(({ ref, kind, reason }) => {
    const dot = element("i", {});
    dot.dataset.ref = ref;
    const small = reason && element("small", {}, reason.startsWith(kind) ? reason : `${kind}: ${reason}`);
    const button = element("button", { type: "button", onclick: () => chosen(ref) }, dot, oneLine(ref), small);
    return element("li", {}, button);
  }));
}

const section = (title, content, aside) => element("section", {}, element("h3", {}, title, " ", aside), content);

const note = (text) => element("p", {}, text);

const faint = (name, text) => element(name, { class: "faint" }, text);

const cut = (text) =>
  (text.length > LONGEST ? `${text.slice(0, LONGEST)}… (${text.length - LONGEST} characters more)` : text);
