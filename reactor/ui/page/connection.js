// The connection to the server: requests, and the event stream, which reconnects by itself.

const FIRST_WAIT = 500; // ms
const LONGEST_WAIT = 5000;

/** An error response: `message` says what is wrong, `hint` how to fix it. */
export class RequestError extends Error {
  constructor(message, hint, status) {
    super(message);
    this.hint = hint;
    this.status = status;
  }
}

/** Request JSON. Throws RequestError, also without an answer. */
export async function ask(path, body) {
  const headers = { "Content-Type": "application/json" };
  const options = body && { method: "POST", headers, body: JSON.stringify(body) };
  let response;
  try {
    response = await fetch(path, { cache: "no-store", ...options });
  } catch {
    throw new RequestError("reactor does not answer", "check whether it is running: reactor status", 0);
  }
  const text = await response.text();
  if (response.ok) return JSON.parse(text);
  const isObject = response.headers.get("Content-Type")?.startsWith("application/json");
  const { error, hint } = isObject ? JSON.parse(text) : { error: text };
  throw new RequestError(error || `reactor answered ${response.status}`, hint ?? null, response.status);
}

/** An error in one line. */
export const errorText = (error) => [error.message, error.hint].filter(Boolean).join(" — ");

export const graph = (opened) =>
  ask(`graph?folded=1${[...opened].map((name) => `&open=${encodeURIComponent(name)}`).join("")}`);
export const resource = (ref) => ask(`resource?ref=${encodeURIComponent(ref)}`);
export const events = async (limit) => (await ask(`events?limit=${limit}`)).events;
export const pause = (refs, time, reason) => ask("pause", { refs: refs.map(exactly), for: time, reason });
export const resume = (refs) => ask("resume", { refs: refs.map(exactly) });

/** The glob that matches this name only. */
function exactly(ref) {
  return ref.replace(/[*?[]/g, "[$&]");
}

/** Read the stream until the page is closed. `handlers` has a function for each event, and `lost`. */
export function listen(handlers) {
  let wait = FIRST_WAIT;
  const connect = () => {
    const source = new EventSource("stream");
    for (const name of ["status", "states", "run", "event", "reloaded"]) {
      source.addEventListener(name, (message) => handlers[name](JSON.parse(message.data)));
    }
    source.addEventListener("status", () => { wait = FIRST_WAIT; });
    source.addEventListener("error", () => {
      // The reconnection of the browser gives up on some errors; ours does not.
      source.close();
      handlers.lost();
      setTimeout(connect, wait);
      wait = Math.min(LONGEST_WAIT, wait * 1.6);
    });
  };
  connect();
}
