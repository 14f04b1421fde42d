// The fleet page: channels with counts, and only the hosts that are not well. Text is always set as text, never as HTML.

import { byId, element } from "./dom.js";

const FIRST_WAIT = 500; // ms
const LONGEST_WAIT = 5000;

let shown = { channels: [], failures: [], hosts: 0, unknown: [], unknown_count: 0 };

function channel(each) {
  const counts = Object.entries(each.counts).map(([phase, count]) => element("span", {}, `${count} ${phase}`));
  const conditions = each.conditions.map((one) =>
    element("li", { class: one.met ? "met" : "waits" }, `${one.met ? "ok" : "waits"} ${one.name}: ${one.words}`));
  const wanted = byId("search").value.trim().toLowerCase();
  const hosts = each.unwell.filter((host) => host.host.includes(wanted));
  const rows = hosts.map((host) =>
    element("tr", {}, element("td", {}, host.host), element("td", {}, host.phase), element("td", {}, host.serial || "-"),
      element("td", { class: "problem" }, host.why)));
  const more = each.unwell_count - each.unwell.length;
  const lacks = each.lacks.filter((one) => one.host.includes(wanted)).map((one) =>
    element("li", {}, `${one.host} lacks ${one.secrets.map((name) => `secret ${name}`).join(", ")}`));
  if (each.lacks_count > each.lacks.length) {
    lacks.push(element("li", {}, `and ${each.lacks_count - each.lacks.length} more hosts that lack a secret`));
  }
  const twins = each.twins.filter((one) => one.host.includes(wanted)).map((one) =>
    element("li", {}, `${one.host}: ${one.problem}`));
  if (each.twins_count > each.twins.length) {
    twins.push(element("li", {}, `and ${each.twins_count - each.twins.length} more names with two machines`));
  }
  const heads = ["Host", "Phase", "Serial", "Why"].map((title) => element("th", { scope: "col" }, title));
  return element("section", { "aria-label": `Channel ${each.channel}` },
    element("h2", {}, each.headline), each.why ? element("p", {}, each.why) : null,
    element("p", { class: "counts" }, counts), element("ul", { class: "conditions" }, conditions),
    rows.length ? element("table", {}, element("thead", {}, element("tr", {}, heads)), element("tbody", {}, rows)) : null,
    element("ul", { class: "lacks" }, lacks), element("ul", { class: "twins" }, twins),
    more > 0 ? element("p", {}, `and ${more} more hosts that are not well`) : null);
}

function draw() {
  byId("total").textContent = `${shown.hosts} hosts`;
  const channels = shown.channels.map(channel);
  byId("channels").replaceChildren(...(channels.length ? channels : [element("p", {}, "no channel has a release")]));
  drawUnknown();
  byId("failures").hidden = !shown.failures.length;
  byId("failures").querySelector("ul").replaceChildren(...shown.failures.map((each) =>
    element("li", {}, `${each.hosts} ${each.hosts === 1 ? "host" : "hosts"}  ${each.resource}: ${each.message}`)));
}

function drawUnknown() {
  const wanted = byId("search").value.trim().toLowerCase();
  const more = shown.unknown_count - shown.unknown.length;
  const hosts = shown.unknown.filter((host) => host.includes(wanted)).map((host) => element("li", {}, host));
  if (more > 0) hosts.push(element("li", {}, `and ${more} more`));
  byId("unknown").hidden = !shown.unknown_count;
  byId("unknown").querySelector("ul").replaceChildren(...hosts);
}

function connect(wait) {
  const source = new EventSource("stream");
  let next = wait;
  source.addEventListener("fleet", (message) => {
    next = FIRST_WAIT;
    shown = JSON.parse(message.data);
    byId("connection").textContent = "live";
    draw();
  });
  source.addEventListener("error", () => {
    source.close();
    byId("connection").textContent = "connection lost";
    setTimeout(connect, next, Math.min(2 * next, LONGEST_WAIT));
  });
}

byId("search").addEventListener("input", draw);
connect(FIRST_WAIT);
