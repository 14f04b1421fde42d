"use strict";

const { nodes, edges, overview } = JSON.parse(document.getElementById("data").textContent);
const stage = document.getElementById("stage");
const sheet = document.getElementById("sheet");
const search = document.getElementById("search");
const picture = sheet.querySelector(".whole svg");
const folds = sheet.querySelector(".overview svg");
const unfold = document.getElementById("unfold");
const boxes = [];
for (const box of picture.querySelectorAll("[data-vertex]")) boxes[Number(box.dataset.vertex)] = box;

const LISTED = 200;
const view = { x: 0, y: 0, scale: 1 };
let folded = folds !== null;
let selected = null;

// The view: a shift and a scale.

function show() {
  sheet.style.transform = `translate(${view.x}px, ${view.y}px) scale(${view.scale})`;
}

function zoom(factor, x = stage.clientWidth / 2, y = stage.clientHeight / 2) {
  const scale = Math.min(4, Math.max(0.02, view.scale * factor));
  view.x = x - (x - view.x) * scale / view.scale;
  view.y = y - (y - view.y) * scale / view.scale;
  view.scale = scale;
  show();
}

function pan(x, y) {
  view.x += x;
  view.y += y;
  show();
}

function fit() {
  const size = (folded ? folds : picture).viewBox.baseVal;
  const room = Math.min(stage.clientWidth / size.width, stage.clientHeight / size.height);
  view.scale = Math.max(0.02, Math.min(1, room));
  view.x = (stage.clientWidth - size.width * view.scale) / 2;
  view.y = Math.max(0, (stage.clientHeight - size.height * view.scale) / 2);
  show();
}

// Folds: boxes of several resources, in a separate picture. Opening one shows its members in the whole picture.

function fold(yes) {
  folded = yes;
  sheet.classList.toggle("folded", yes);
  unfold.textContent = yes ? "Open all" : "Fold all";
  unfold.hidden = folds === null;
}

function open(box) {
  const members = overview[box];
  fold(false);
  if (members.length === 1) {
    select(members[0]);
    reveal(members[0]);
    return;
  }
  select(null);
  const frames = members.map((member) => boxes[member].getCTM());
  const [{ a: scale }] = frames;
  const place = (key) => frames.map((frame) => frame[key] / scale);
  const left = Math.min(...place("e"));
  const top = Math.min(...place("f"));
  const width = Math.max(...place("e")) - left + 260;
  const height = Math.max(...place("f")) - top + 42;
  view.scale = Math.max(0.02, Math.min(1, stage.clientWidth / (width + 40), stage.clientHeight / (height + 40)));
  view.x = stage.clientWidth / 2 - (left + width / 2) * view.scale;
  view.y = stage.clientHeight / 2 - (top + height / 2) * view.scale;
  show();
  picture.classList.add("selecting");
  for (const member of members) boxes[member].classList.add("near");
  const links = members.slice(0, LISTED).map((member) => link(member));
  document.getElementById("details").replaceChildren(
    element("h2", `Opened (${members.length})`), element("ul", "", ...links),
  );
}

folds?.setAttribute("role", "group");
for (const box of folds?.querySelectorAll("[data-vertex]") ?? []) {
  box.setAttribute("tabindex", 0);
  box.setAttribute("role", "button");
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    open(Number(box.dataset.vertex));
  });
}
unfold.addEventListener("click", () => {
  fold(!folded);
  select(null);
  fit();
});
fold(folded);

function reveal(vertex) {
  fold(false);
  if (view.scale < 0.6) zoom(0.9 / view.scale);
  const frame = stage.getBoundingClientRect();
  const box = boxes[vertex].getBoundingClientRect();
  const outside = box.left < frame.left || box.right > frame.right || box.top < frame.top || box.bottom > frame.bottom;
  if (outside) {
    pan(frame.left + frame.width / 2 - box.left - box.width / 2, frame.top + frame.height / 2 - box.top - box.height / 2);
  }
}

// Helpers to write the panel. Text is always set as text, never as HTML.

function element(name, content, ...children) {
  const made = document.createElement(name);
  if (content) made.textContent = content;
  made.append(...children);
  return made;
}

function readable(value) {
  if (typeof value === "string") return value;
  const plain = Array.isArray(value) && value.every((item) => typeof item !== "object");
  return plain ? value.join("\n") : JSON.stringify(value, null, 1);
}

function why(edge) {
  return edge.reason.startsWith(edge.kind) ? edge.reason : `${edge.kind}: ${edge.reason}`;
}

function link(vertex, note) {
  const button = element("button", nodes[vertex].ref);
  if (note) button.append(element("small", note));
  button.addEventListener("click", () => { select(vertex); reveal(vertex); });
  return element("li", "", button);
}

function list(title, items) {
  return items.length ? [element("h3", title), element("ul", "", ...items)] : [];
}

// The selected resource and its neighbours.

function select(vertex) {
  selected = vertex;
  for (const marked of picture.querySelectorAll(".near, .selected")) marked.classList.remove("near", "selected");
  picture.classList.toggle("selecting", vertex !== null);
  const details = document.getElementById("details");
  details.replaceChildren();
  history.replaceState(null, "", vertex === null ? "#" : `#${encodeURIComponent(nodes[vertex].ref)}`);
  if (vertex === null) return;
  boxes[vertex].classList.add("selected", "near");
  for (const edge of edges) {
    if (edge.from === vertex) boxes[edge.to].classList.add("near");
    if (edge.to === vertex) boxes[edge.from].classList.add("near");
  }
  for (const blocked of troubled(vertex)) boxes[blocked].classList.add("near");
  for (const line of picture.querySelectorAll(`[data-from="${vertex}"], [data-to="${vertex}"]`)) line.classList.add("near");
  details.append(...describe(vertex));
}

/** Everything that a resource blocks, and everything that blocks it, directly or not. */
function troubled(vertex) {
  const walk = (near, far, states) => {
    const found = new Set([vertex]);
    for (const each of found) {
      for (const edge of edges) {
        if (edge[near] === each && states.includes(nodes[edge[far]].state)) found.add(edge[far]);
      }
    }
    return [...found];
  };
  const blocked = walk("from", "to", ["blocked"]);
  return nodes[vertex].state === "blocked" ? [...blocked, ...walk("to", "from", ["blocked", "failed"])] : blocked;
}

function describe(vertex) {
  const node = nodes[vertex];
  const facts = [node.state, node.alias && `alias ${node.alias}`, node.place].filter(Boolean).join(", ");
  const properties = element("dl");
  for (const [name, value] of Object.entries(node.properties)) {
    properties.append(element("dt", name), element("dd", "", element("pre", readable(value))));
  }
  const before = edges.filter((edge) => edge.to === vertex);
  const after = edges.filter((edge) => edge.from === vertex);
  return [
    element("h2", node.ref),
    ...(facts ? [Object.assign(element("p", facts), { className: "facts" })] : []),
    ...list(`Goes after (${before.length})`, before.map((edge) => link(edge.from, why(edge)))),
    ...list(`Goes before (${after.length})`, after.map((edge) => link(edge.to, why(edge)))),
    element("h3", "Properties"),
    properties,
  ];
}

// Search: every word must be found somewhere in the reference, the alias or the state.

const haystacks = nodes.map((node) => [node.ref, node.alias, node.state].filter(Boolean).join(" ").toLowerCase());

function find() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  haystacks.forEach((text, vertex) => {
    const match = words.length > 0 && words.every((word) => text.includes(word));
    boxes[vertex].classList.toggle("match", match);
    if (match) found.push(vertex);
  });
  picture.classList.toggle("searching", words.length > 0);
  document.getElementById("count").textContent = words.length ? `${found.length} found` : "";
  const title = found.length > LISTED ? `The first ${LISTED} of ${found.length} found` : "Found";
  document.getElementById("results").replaceChildren(...list(title, found.slice(0, LISTED).map((vertex) => link(vertex))));
  return found;
}

function clear() {
  search.value = "";
  find();
  select(null);
}

// Event handlers.

let drag = null;

stage.addEventListener("pointerdown", (event) => {
  if (event.button === 0) drag = { x: event.clientX, y: event.clientY, moved: false };
});
addEventListener("pointermove", (event) => {
  if (!drag) return;
  const [x, y] = [event.clientX - drag.x, event.clientY - drag.y];
  if (!drag.moved && Math.hypot(x, y) < 4) return;
  drag = { x: event.clientX, y: event.clientY, moved: true };
  stage.classList.add("dragging");
  pan(x, y);
});
function drop() {
  // The click that follows a drag must still see that there was one.
  setTimeout(() => { drag = null; });
  stage.classList.remove("dragging");
}
addEventListener("pointerup", drop);
addEventListener("pointercancel", drop);
stage.addEventListener("click", (event) => {
  if (drag?.moved) return;
  const box = event.target.closest("[data-vertex]");
  if (box && folded) open(Number(box.dataset.vertex));
  else select(box ? Number(box.dataset.vertex) : null);
});
stage.addEventListener("wheel", (event) => {
  event.preventDefault();
  const frame = stage.getBoundingClientRect();
  const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 30 : 1;
  const step = Math.max(-120, Math.min(120, event.deltaY * lines));
  zoom(Math.exp(-step / 500), event.clientX - frame.left, event.clientY - frame.top);
}, { passive: false });

const KEYS = {
  "+": () => zoom(1.25),
  "=": () => zoom(1.25),
  "-": () => zoom(0.8),
  "0": fit,
  ArrowLeft: () => pan(60, 0),
  ArrowRight: () => pan(-60, 0),
  ArrowUp: () => pan(0, 60),
  ArrowDown: () => pan(0, -60),
};
stage.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
  event.preventDefault();
  KEYS[event.key]();
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape") clear();
  if (event.key === "/" && document.activeElement !== search) {
    event.preventDefault();
    search.focus();
  }
});
search.addEventListener("input", find);
search.addEventListener("keydown", (event) => {
  const [first] = event.key === "Enter" ? find() : [];
  if (first === undefined) return;
  select(first);
  reveal(first);
});
document.getElementById("zoom-in").addEventListener("click", () => zoom(1.25));
document.getElementById("zoom-out").addEventListener("click", () => zoom(0.8));
document.getElementById("fit").addEventListener("click", fit);
addEventListener("resize", () => { if (selected === null) fit(); });

function selectFromAddress() {
  let ref = "";
  try {
    ref = decodeURIComponent(location.hash.slice(1));
  } catch {
    return;  // not a link to a resource
  }
  const vertex = nodes.findIndex((node) => node.ref === ref);
  if (vertex < 0) return;
  select(vertex);
  reveal(vertex);
}

fit();
selectFromAddress();
addEventListener("hashchange", selectFromAddress);
