"""Explains the state of one resource in sentences: its last event, check and change, and what that refreshed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reactor.clock import STEP
from reactor.console.status_lines import cause_of_flapping
from reactor.journal.history import Entry, History
from reactor.number_format import date_and_time, seconds

_CAUSES = {
    "initial": "the run had started",
    "intent": "its entry in the manifest, or what its values come from, had changed",
    "drift": "something outside of reactor had changed it",
    "refresh": "a resource that it subscribes to had changed",
    "retry": "an earlier attempt had failed",
    "audit": "the regular audit checks every resource",
    "health": "a health check was critical",
}

_INDENT = "  "

_MOST_LINES = 20
"""The most lines of a diff that are shown."""

_TOGETHER = 1.0
"""Seconds between the record of a refresh and the end of its check."""


class Explanation:
    """Explains the state of resources from ``history``. ``now`` is seconds since 1970."""

    def __init__(self, history: History, now: float) -> None:
        self._history = history
        self._now = now
        self._explained: set[int] = set()

    def explain(self, ref: str) -> list[str] | None:
        """The sentences, each cause indented below its effect; None if ``ref`` is not in the history."""
        last = self._history.last(ref)
        wait = self._history.last_wait(ref, after=last.id if last else 0)
        if last is None and wait is None and not self._history.knows(ref):
            return None
        lines = (
            [f"{ref} was not part of the last run: the manifest does not have it, or the run left it out."]
            if self._history.has_left(ref)
            else []
        )
        if wait is not None:
            slot, reason = wait.record["slot"], wait.record["reason"]
            lines.append(
                f"{ref} differs, and has been waiting for slot {slot} ({reason}); reported {self._when(wait.time)}."
            )
        sentences = self._entry(last, "") if last else () if wait else self._without_events(ref)
        return [*lines, *sentences, *self._note(ref), *self._flapping(ref), *self._consequences(ref)]

    def _without_events(self, ref: str) -> Iterator[str]:
        if (since := self._history.applied_since(ref)) is None:
            yield f"{ref} has no known state: no run has recorded the result of a check of it."
        else:
            yield f"{ref} is as desired since {self._when(since)}: no check has found anything to do."

    def _note(self, ref: str) -> Iterator[str]:
        if (noted := self._history.last_note(ref)) is not None:
            yield f"Note of {self._when(noted.time)}: {noted.record['line']}."

    def _flapping(self, ref: str) -> Iterator[str]:
        if (flapped := self._history.last_flapping(ref)) is not None:
            why = cause_of_flapping(flapped.record.get("expressions", ()))
            often = ", ".join(
                f"{action} {count} times" for action, count in flapped.record["actions"].items()
            )
            yield f"It began to flap {self._when(flapped.time)}: {why}. By then: {often}."

    def _entry(self, entry: Entry, indent: str) -> Iterator[str]:
        """The sentences about an event, then about its causes. No event is explained twice."""
        if entry.id in self._explained:
            return
        self._explained.add(entry.id)
        if entry.event == "blocked":
            yield from self._blocked(entry, indent)
            return
        outcome, *details = self._outcome(entry).split("\n")
        yield f"{indent}{entry.ref} {outcome}"
        yield from (f"{indent}{_INDENT}{line}" for line in details)
        if entry.result == "failed" and (done := entry.record["actions"]):
            yield f"{indent}{_INDENT}Before it failed, it was changed: {', '.join(done)}."
        if hint := entry.record["hint"]:
            yield f"{indent}{_INDENT}Fix: {hint}."
        if (delay := entry.record["retry_in"]) is not None:
            yield f"{indent}{_INDENT}The next attempt was scheduled {seconds(delay)} later."
        yield from self._causes(entry, indent)
        if not indent:
            yield from self._difference(entry)

    def _causes(self, entry: Entry, indent: str) -> Iterator[str]:
        """Why the resource was checked, and the sentences about the events that caused it."""
        causes = entry.record["causes"]
        failure = self._failure_before(entry) if "health" in causes else None
        yield f"{indent}{_INDENT}It was checked because {_in_words(causes, failure)}."
        if failure is not None:
            yield from self._entry(failure, indent + _INDENT * 2)
        if "refresh" in causes:
            for source in self._sources(entry):
                yield from self._entry(source, indent + _INDENT * 2)

    def _failure_before(self, entry: Entry) -> Entry | None:
        """The last failure of the resource before ``entry``: the one that ``entry`` repaired."""
        return self._history.last(str(entry.ref), result="failed", before=entry.id)

    def _difference(self, entry: Entry) -> Iterator[str]:
        """The diff of the change, or of the change that a dry run would make."""
        diffs = self._history.diffs(entry)
        lines = [line for text in diffs for line in text.removesuffix("\n").split("\n")]
        if lines:
            yield f"{_INDENT}Content before (-) and {'after a change' if entry.result == 'would_change' else 'after'} (+):"
        yield from (f"{_INDENT * 2}{line}" for line in lines[:_MOST_LINES])
        if len(lines) > _MOST_LINES:
            yield f"{_INDENT * 2}… and {len(lines) - _MOST_LINES} more lines: reactor events --diff shows them"

    def _blocked(self, entry: Entry, indent: str) -> Iterator[str]:
        when = self._when(entry.time)
        if (reason := entry.record.get("detail")) is not None:
            yield f"{indent}{entry.ref} was blocked {when}: {reason}."
            return
        yield f"{indent}{entry.ref} was blocked {when}, because a resource that it requires failed."
        for culprit in entry.record["culprits"]:
            if failure := self._history.last(culprit, result="failed"):
                yield from self._entry(failure, indent + _INDENT * 2)

    def _outcome(self, entry: Entry) -> str:
        when, actions = self._when(entry.time), ", ".join(entry.record["actions"])
        match entry.result:
            case "failed":
                return f"failed {when}: {entry.record['error']}"
            case "changed":
                return f"was changed {when}: {actions}."
            case "would_change":
                return f"would have changed {when}, in a dry run or with mode: warn: {actions}."
            case _:
                return f"was ok again {when}, after a failure."

    def _sources(self, entry: Entry) -> Iterator[Entry]:
        """The changes that caused a refresh."""
        for refresh in self._history.refreshes(subscriber=entry.ref):
            completed = refresh.refreshed is not None and abs(refresh.refreshed - entry.time) < _TOGETHER
            if completed or refresh.pending_since is not None:
                change = self._history.last(refresh.source, result="changed", before=entry.id)
                if change is not None:
                    yield change

    def _consequences(self, ref: str) -> Iterator[str]:
        """The refreshes that its last change caused, done and pending."""
        for refresh in self._history.refreshes(source=ref):
            if refresh.pending_since is not None:
                yield f"A refresh of {refresh.subscriber} because of it has been pending since {self._at(refresh.pending_since)}."
                if (last := self._history.last(refresh.subscriber)) and last.result in ("failed", "blocked"):
                    yield from self._entry(last, _INDENT)
            elif refresh.refreshed is not None:
                yield f"It refreshed {refresh.subscriber} {self._when(refresh.refreshed)}."
        for refresh in self._history.refreshes(subscriber=ref):
            if refresh.pending_since is not None:
                yield f"A refresh of it because of {refresh.source} has been pending since {self._at(refresh.pending_since)}."

    def _when(self, moment: float) -> str:
        age = self._age(moment)
        return f"at {_set_back(moment)}" if age is None else f"{age} ago ({date_and_time(moment)})"

    def _at(self, moment: float) -> str:
        age = self._age(moment)
        return _set_back(moment) if age is None else f"{date_and_time(moment)}, for {age}"

    def _age(self, moment: float) -> str | None:
        """The time since ``moment``; None if that is still to come, and the age is not known."""
        return None if moment - self._now > STEP else seconds(max(0.0, self._now - moment))


def _set_back(moment: float) -> str:
    return f"{date_and_time(moment)} (the clock was set back since)"


def _in_words(causes: Iterable[str], failure: Entry | None) -> str:
    """``causes`` as text. If a health check is among them, its name is taken from ``failure``, and "retry" is left out."""
    reasons = [
        _CAUSES[cause]
        for cause in causes
        if cause != "health" and not (cause == "retry" and "health" in causes)
    ]
    if "health" in causes:
        health = failure.record.get("health", ()) if failure is not None else ()
        critical = [f"{each['name']!r}" for each in health if each["status"] == "critical"]
        reasons.append(
            f"its health check {' and '.join(critical)} was critical" if critical else _CAUSES["health"]
        )
    return " and ".join(reasons)
