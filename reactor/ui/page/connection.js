// The way to the server: the stream, which connects again by itself, and requests.

const FIRST_WAIT = 500; // ms
const LONGEST_WAIT = 5000;

/** An answer that is an error: `message` says what, `hint` how to mend it. */
export class Refused extends Error {
  constructor(message, hint, status) {
    super(message);
    this.hint = hint;
    this.status = status;
  }
}

/** Ask for JSON. Raises Refused, also when there is no answer. */
export async function ask(path, body) {
  const headers = { "Content-Type": "application/json" };
  const options = body && { method: "POST", headers, body: JSON.stringify(body) };
  let response;
  try {
    response = await fetch(path, { cache: "no-store", ...options });
  } catch {
    throw new Refused("reactor does not answer", "see whether it still runs: reactor status", 0);
  }
  const text = await response.text();
  if (response.ok) return JSON.parse(text);
  const isObject = response.headers.get("Content-Type")?.startsWith("application/json");
  const { error, hint } = isObject ? JSON.parse(text) : { error: text };
  throw new Refused(error || `reactor answered ${response.status}`, hint ?? null, response.status);
}

/** An error in one line. */
export const told = (error) => [error.message, error.hint].filter(Boolean).join(" — ");

export const graph = (opened) =>
  ask(`graph?folded=1${[...opened].map((name) => `&open=${encodeURIComponent(name)}`).join("")}`);
export const resource = (ref) => ask(`resource?ref=${encodeURIComponent(ref)}`);
export const events = async (limit) => (await ask(`events?limit=${limit}`)).events;
export const pause = (refs, time, reason) => ask("pause", { refs: refs.map(exactly), for: time, reason });
export const resume = (refs) => ask("resume", { refs: refs.map(exactly) });

/** The glob that means this name and no other. */
function exactly(ref) {
  return ref.replace(/[*?[]/g, "[$&]");
}

/** Listen to the stream for as long as the page lives. `heard` has a function for each event, and `lost`. */
export function listen(heard) {
  let wait = FIRST_WAIT;
  const connect = () => {
    const source = new EventSource("stream");
    for (const name of ["standing", "states", "run", "event", "reloaded"]) {
      source.addEventListener(name, (message) => heard[name](JSON.parse(message.data)));
    }
    source.addEventListener("standing", () => { wait = FIRST_WAIT; });
    source.addEventListener("error", () => {
      // The browser's own way to connect again gives up on some errors; ours does not.
      source.close();
      heard.lost();
      setTimeout(connect, wait);
      wait = Math.min(LONGEST_WAIT, wait * 1.6);
    });
  };
  connect();
}
