// The live page: connects the graph, the events and the panel with the stream.

import * as connection from "./connection.js";
import { byId } from "./dom.js";
import { Drawing } from "./drawing.js";
import { Search } from "./search.js";
import { Folding } from "./folds.js";
import { handleInput, handleShortcuts } from "./input.js";
import { Header } from "./header.js";
import { Panel } from "./resource.js";
import { urgent, describe } from "./event_text.js";
import { Timeline } from "./timeline.js";
import { View } from "./view.js";
import { oneLine } from "./format.js";
import { RunState } from "./state.js";

const EVENTS = 300; // of the past, when the page opens

const stage = byId("stage");
const runState = new RunState();
const view = new View(() => drawing.changed());
const drawing = new Drawing(runState, view, byId("edges"), byId("boxes"));
const header = new Header(runState, () => panel.refresh());
const timeline = new Timeline(byId("timeline"), byId("newer"), select);
const panel = new Panel(byId("resource"), { chosen: select, shown: showNeighbours, runState });
const finding = new Search(runState, {
  field: byId("search"),
  list: byId("found"),
  states: byId("states"),
  changed: highlight,
  chosen: (vertex) => select(vertex.ref),
});

const folding = new Folding(runState, view, {
  layer: byId("folds"),
  list: byId("opened"),
  toggle: byId("unfold"),
  changed: (shown) => retryUntilDone(() => load(shown)),
});
drawing.drawn = () => folding.follow();

// ---- selection ----

let neighbours = []; // of the selected resource, as in the panel: the drawing has no edges that follow from others

/** Highlight the neighbours that the panel has loaded. */
function showNeighbours({ edges, status }) {
  neighbours = [...edges.before, ...edges.after].map(({ ref }) => ref).concat(status.blocked_by);
  highlight();
}

/** Select one resource by its ref; null selects none. */
function select(ref, { moving = true } = {}) {
  const vertex = ref === null ? null : runState.byRef.get(ref) ?? null;
  history.replaceState(null, "", ref === null ? location.pathname : `#${encodeURIComponent(ref)}`);
  document.body.classList.toggle("selecting", ref !== null);
  drawing.selected = vertex;
  neighbours = [];
  panel.open(ref);
  highlight();
  measure();
  if (vertex && moving) view.reveal(vertex);
}

/** Highlight the search results, and the selected resource with its neighbours. */
function highlight() {
  const { selected } = drawing;
  const listed = neighbours.map((ref) => runState.byRef.get(ref)?.box).filter(Boolean);
  const near = selected && [...runState.related(selected.box), ...listed];
  const matches = finding.matches && [...finding.matches].map(({ box }) => box);
  drawing.highlighted = near || matches ? new Set([...near ?? [], ...matches ?? []]) : null;
  drawing.shade = finding.matches ? 0.2 : 0.4;
  drawing.changed();
}

function selectFromAddress() {
  let ref = "";
  try {
    ref = decodeURIComponent(location.hash.slice(1));
  } catch {
    return; // not a valid fragment
  }
  if (runState.byRef.has(ref) && ref !== panel.ref) select(ref);
}

// ---- messages of the server ----

let fitted = false;
let newest = 0; // counts the requests for a graph: the answer to an older one is dropped

/** Fetch and show the graph. The selection and the view stay; the members of the fold `opened` are brought into view. */
async function load(opened = null) {
  newest += 1;
  const mine = newest;
  const graph = await connection.graph(folding.opened);
  if (mine !== newest) return;
  runState.replace(graph);
  drawing.prepare();
  drawing.selected = runState.byRef.get(panel.ref) ?? null;
  byId("empty").hidden = runState.vertices.length > 0;
  const shown = opened && extent(runState.vertices.filter(({ folds }) => folds.includes(opened)).map(({ box }) => box));
  if (shown) view.show(shown);
  else if (!fitted || view.whole) view.show(runState.bounds, { gliding: fitted });
  folding.refresh();
  if (!fitted) selectFromAddress();
  fitted = true;
  finding.find();
  refresh();
  panel.refresh();
}

/** The box around some boxes; null around none. */
function extent(boxes) {
  if (boxes.length === 0) return null;
  const [x, y] = [Math.min(...boxes.map(({ left }) => left)), Math.min(...boxes.map(({ top }) => top))];
  const [right, bottom] = [Math.max(...boxes.map((box) => box.right)), Math.max(...boxes.map((box) => box.bottom))];
  return { x, y, width: right - x, height: bottom - y };
}

/** Update counts and colours after a change of states. */
function refresh() {
  folding.relabel();
  finding.refresh();
  header.refresh();
  panel.tick();
  drawing.changed({ edges: false });
}

/** Retry until it works: the stream may be connected while one request fails. */
async function retryUntilDone(act) {
  try {
    await act();
  } catch (error) {
    header.notice(connection.errorText(error));
    setTimeout(retryUntilDone, 2000, act);
  }
}

const handlers = {
  status({ run, vertices }) {
    runState.run = run;
    runState.setStatuses(vertices);
    header.connected(true);
    retryUntilDone(load);
    retryUntilDone(async () => timeline.replace(await connection.events(EVENTS)));
  },
  states(statuses) {
    for (const { vertex, before } of runState.update(statuses)) {
      const { state } = vertex.status;
      const settles = before.state === "changed" && state === "ok";
      if (state !== before.state && !settles) drawing.pulse(vertex, state);
      panel.refresh(vertex.ref);
    }
    refresh();
  },
  run(run) {
    runState.run = run;
    header.refresh();
  },
  event(event) {
    timeline.add(event);
    const vertex = runState.byRef.get(event.ref);
    if (vertex && event.event === "checked" && event.result !== "ok") drawing.pulse(vertex, event.result);
    if (urgent(event)) byId("alarm").textContent = oneLine(`${event.ref ?? ""} ${describe(event).what}`.slice(0, 300));
    panel.refresh(event.ref);
  },
  reloaded() {
    retryUntilDone(load);
  },
  lost() {
    header.connected(false);
    connection.events(1).catch((error) => { if (error.status) header.notice(error.message); });
  },
};

// ---- input ----

handleInput(stage, view, drawing, byId("tip"), (box) => {
  if (box?.members) folding.open(box.name);
  else select(box?.ref ?? null, { moving: false });
});

function measure() {
  view.resize(stage.clientWidth, stage.clientHeight);
  drawing.resize(stage.clientWidth, stage.clientHeight);
}

byId("zoom-in").addEventListener("click", () => view.zoom(1.25));
byId("zoom-out").addEventListener("click", () => view.zoom(0.8));
byId("fit").addEventListener("click", () => view.show(runState.bounds));
byId("unchanged-checks").addEventListener("change", ({ target }) => timeline.showUnchanged(target.checked));
addEventListener("hashchange", selectFromAddress);
handleShortcuts(byId("pause-dialog"), byId("search"), () => {
  if (finding.matches) finding.clear();
  else if (panel.ref !== null) select(null);
});
new ResizeObserver(measure).observe(stage);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawing.recolour());
setInterval(() => panel.tick(), 1000);

measure();
connection.listen(handlers);

// For debugging in the console: (await import("./page/main.js")).runState
export { drawing, view, runState };
