// Values as text, and the states of a resource.

// Invisible characters and those that change the text direction: a name must not look like another one.
// `graph/export/picture.py` has the same for pictures, `resource/escaping.py` for terminals; tabs and line feeds stay here.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** The text with a code such as `‹U+202E›` for each invisible character. */
export function visible(text) {
  return text.replace(HIDDEN, (sign) => `‹U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);
}

/** The text on one line. */
export function oneLine(text) {
  return visible(text.replace(/\n/g, "↵").replace(/\t/g, " "));
}

/** The text on one line of at most `most` characters, shortened in the middle: both ends distinguish paths. */
export function elided(text, most) {
  const characters = [...oneLine(text.length > 1000 ? `${text.slice(0, 500)}${text.slice(-500)}` : text)];
  if (characters.length <= most) return characters.join("");
  const last = Math.ceil(most * 0.65);
  return [...characters.slice(0, most - last - 1), "…", ...characters.slice(-last)].join("");
}

export const words = (state) => state.replaceAll("_", " ");

export const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

/** A number of seconds: "0.8 ms", "12 s", "2 h 5 min". */
export function duration(seconds) {
  if (seconds < 0.01) return `${(seconds * 1000).toFixed(1)} ms`;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  return span(seconds);
}

/** A longer time in its two largest units: "12 s", "2 h 5 min", "3 d 4 h". */
export function span(seconds) {
  const whole = Math.round(seconds);
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const first = units.findIndex(([, size]) => whole >= size);
  if (first < 0) return "0 s";
  const [name, size] = units[first];
  const [nextName, nextSize] = units[first + 1] ?? ["", 1];
  const rest = Math.floor((whole % size) / nextSize);
  return `${Math.floor(whole / size)} ${name}${rest && nextName ? ` ${rest} ${nextName}` : ""}`;
}

/** The time of day of `moment` (seconds since 1970), with the date if it is not today. */
export function clock(moment) {
  const when = new Date(moment * 1000);
  const time = when.toLocaleTimeString("en-GB");
  return when.toDateString() === new Date().toDateString() ? time : `${when.toLocaleDateString("sv-SE")} ${time}`;
}

/** The value of a property as text of one or more lines. */
export function readable(value) {
  if (typeof value === "string") return value;
  const plain = Array.isArray(value) && value.every((item) => typeof item !== "object");
  return plain ? value.join("\n") : JSON.stringify(value, null, 1);
}

export const UNKNOWN = { state: "unknown", in_motion: false, activity: null, paused: false, is_ok: true };

/** The states, the worst first. */
export const WORST_FIRST = ["failed", "blocked", "waiting", "would_change", "changed", "ok", "skipped", "unknown"];
