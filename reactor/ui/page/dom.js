// Creates elements. Text is always set as text, never as HTML, so names and contents can't inject markup.

import { visible } from "./format.js";

export const byId = (id) => document.getElementById(id);

/** An element with properties (`class` too), attributes with a dash, listeners (`on...`), and children or text. */
export function element(name, given = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(given)) {
    if (value === null || value === undefined) continue;
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key.includes("-")) made.setAttribute(key, value);
    else made[key] = value;
  }
  made.append(...nodes(children));
  return made;
}

/** Nested elements and strings as a list of nodes, without null, undefined and false. */
export function nodes(children) {
  const present = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
  return present.map((child) => (child instanceof Node ? child : document.createTextNode(visible(String(child)))));
}

/** Whether a key press is typed into a field. */
export function typing(event) {
  return event.target.closest?.("input:not([type=checkbox]), select, textarea") !== null;
}
