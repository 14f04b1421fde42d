// Forms that pause and resume one resource or all.

import { pause, resume, errorText } from "./connection.js";
import { element } from "./dom.js";

/** A form that pauses `refs`, or all for an empty list. `done` is called afterwards. */
export function pauseForm(refs, done) {
  const field = (given) => element("input", { required: true, autocomplete: "off", ...given });
  const time = field({ name: "for", value: "1h", "aria-label": "For how long, as in 30m or 2h" });
  const reason = field({ name: "reason", placeholder: "the reason", "aria-label": "Reason" });
  const fields = [
    element("span", {}, "Pause for"), time, element("span", {}, "because of"), reason, element("button", {}, "Pause"),
  ];
  const form = element("form", { class: "pause" }, element("div", { class: "fields" }, fields));
  return guarded(form, () => pause(refs, time.value, reason.value), done);
}

/** A form with one button that resumes `refs`. */
export function resumeForm(refs, done, text = "Resume") {
  return guarded(element("form", { class: "pause" }, element("button", {}, text)), () => resume(refs), done);
}

/** The form: calls `act` on submit, and shows its error. */
function guarded(form, act, done) {
  const problem = element("p", { class: "problem", role: "alert", hidden: true });
  form.append(problem);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    problem.hidden = true;
    try {
      await act();
      done();
    } catch (error) {
      problem.textContent = errorText(error);
      problem.hidden = false;
    } finally {
      button.disabled = false;
    }
  });
  return form;
}
