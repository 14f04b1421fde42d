// The header: the manifest, the state of the run, the connection, and the button that pauses everything.

import { element, byId } from "./dom.js";
import { pauseForm, resumeForm } from "./pauses.js";
import { count, oneLine } from "./format.js";

const UNUSABLE = "The new version of the manifest is invalid; the last valid one stays in force.";

export class Header {
  /** `changed` is called after everything was paused or resumed. */
  constructor(runState, changed) {
    this.runState = runState;
    this.changed = changed;
    this.dialog = byId("pause-dialog");
    byId("pause-all").addEventListener("click", () => this.#ask());
    this.#setText(byId("connection"), "connecting", "connecting…");
  }

  /** Show the current run and its counts. */
  refresh() {
    const { runState, runState: { run } } = this;
    const counts = runState.counts();
    const problems = counts.get("failed") + counts.get("blocked");
    const moving = counts.get("in_motion");
    if (!run) return;
    byId("pause-all").hidden = !run.pausable;
    byId("manifest").textContent = oneLine(run.manifest) + (run.mode === "noop" ? " (noop: nothing is changed)" : "");
    byId("manifest").title = run.manifest;
    document.title = `${problems ? `(${problems}) ` : ""}${run.manifest.split("/").at(-1)} · reactor`;
    if (moving) this.#setText(byId("run-status"), "moving", `${count(moving, "resource")} in motion`);
    else if (problems) this.#setText(byId("run-status"), "not-converged", "not converged");
    else this.#setText(byId("run-status"), "converged", "converged");
    this.notice(run.rejected ? `${UNUSABLE} ${run.rejected.problems.join(" ")}` : "");
  }

  connected(yes) {
    document.body.classList.toggle("offline", !yes);
    if (yes) this.#setText(byId("connection"), "live", "live");
    else this.#setText(byId("connection"), "lost", "reconnecting…");
  }

  /** A line below the header, or none. */
  notice(text) {
    byId("notice").hidden = !text;
    if (byId("notice").textContent !== text) byId("notice").textContent = oneLine(text);
  }

  /** Set the text of a live region only if it has changed: screen readers announce every write. */
  #setText(place, state, text) {
    place.className = state;
    if (place.textContent !== text) place.textContent = text;
  }

  #ask() {
    const done = () => {
      this.dialog.close();
      this.changed();
    };
    const paused = this.runState.counts().get("paused");
    this.dialog.replaceChildren(
      element("h2", {}, "Pause everything"),
      element("p", {}, "No check starts until the time is over. Watching goes on."),
      pauseForm([], done),
      paused ? resumeForm([], done, `Resume all (${paused.toLocaleString("en")} paused)`) : "",
      element("button", { type: "button", onclick: () => this.dialog.close() }, "Close"),
    );
    this.dialog.showModal();
  }
}
