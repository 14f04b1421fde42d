// Handles pointer, wheel and keys on the graph, and the keyboard shortcuts of the page.

import { typing } from "./dom.js";
import { oneLine, words } from "./format.js";

const DRAG = 4; // px that a pointer may move and still click

/** Move `view` by pointer, wheel and keys on `stage`; `chosen` is called with the box clicked, or null. */
export function handleInput(stage, view, drawing, tip, chosen) {
  const pointers = new Map();
  let moved = false;

  const at = (event) => {
    const frame = stage.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  };
  const onGraph = (event) => event.target === stage || event.target.localName === "canvas";

  stage.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !onGraph(event)) return;
    if (pointers.size === 0) moved = false;
    pointers.set(event.pointerId, at(event));
    stage.setPointerCapture(event.pointerId);
  });
  stage.addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) {
      point(event);
      return;
    }
    const before = pointers.get(event.pointerId);
    const now = at(event);
    const far = Math.hypot(now[0] - before[0], now[1] - before[1]) >= DRAG;
    if (!moved && !far) return;
    moved = true;
    stage.classList.add("dragging");
    pointers.set(event.pointerId, now);
    if (pointers.size === 1) view.pan(now[0] - before[0], now[1] - before[1]);
    else pinch([...pointers.entries()].find(([id]) => id !== event.pointerId)[1], before, now);
  });
  const drop = (event) => {
    if (!pointers.delete(event.pointerId)) return;
    stage.classList.remove("dragging");
    if (event.type === "pointerup" && !moved) chosen(drawing.at(...at(event)));
  };
  stage.addEventListener("pointerup", drop);
  stage.addEventListener("pointercancel", drop);
  stage.addEventListener("pointerleave", () => { tip.hidden = true; });

  /** Zoom with two fingers: the resting one is the centre. */
  function pinch(rest, before, now) {
    const distance = ([x, y]) => Math.max(1, Math.hypot(x - rest[0], y - rest[1]));
    view.zoom(distance(now) / distance(before), ...rest);
  }

  /** Show the name of the box below the pointer in a tooltip. */
  function point(event) {
    const vertex = onGraph(event) ? drawing.at(...at(event)) : null;
    stage.classList.toggle("pointing", vertex !== null);
    tip.hidden = vertex === null;
    if (!vertex) return;
    const [x, y] = at(event);
    tip.textContent = vertex.description ?? `${oneLine(vertex.ref.slice(0, 200))} — ${words(vertex.status.state)}`;
    const left = Math.max(4, Math.min(x + 14, view.width - tip.offsetWidth - 4));
    tip.style.transform = `translate(${left}px, ${y + 18}px)`;
  }

  stage.addEventListener("wheel", (event) => {
    if (!onGraph(event)) return;
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 30 : 1;
    const step = Math.max(-120, Math.min(120, event.deltaY * lines));
    view.zoom(Math.exp(-step / 500), ...at(event));
  }, { passive: false });

  const keys = {
    "+": () => view.zoom(1.25),
    "=": () => view.zoom(1.25),
    "-": () => view.zoom(0.8),
    "0": () => view.show(drawing.runState.bounds),
    ArrowLeft: () => view.pan(60, 0),
    ArrowRight: () => view.pan(-60, 0),
    ArrowUp: () => view.pan(0, 60),
    ArrowDown: () => view.pan(0, -60),
  };
  stage.addEventListener("keydown", (event) => {
    const plain = event.target === stage && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (!plain || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
}

/** The keys of the whole page: `/` goes to the field `search`, Escape calls `back`. None works while `dialog` is open. */
export function handleShortcuts(dialog, search, back) {
  addEventListener("keydown", (event) => {
    if (dialog.open) return;
    if (event.key === "Escape") back();
    if (event.key === "/" && !typing(event)) {
      event.preventDefault();
      search.focus();
    }
  });
}
