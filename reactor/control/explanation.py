"""The story of one resource in sentences: from the event to the check to the change to whom it refreshed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reactor.console.number_format import date_and_time, seconds
from reactor.journal.history import Entry, History

_CAUSES = {
    "initial": "it was new to this host, or is done once in every run",
    "intent": "the manifest had been edited",
    "drift": "something outside had touched it",
    "refresh": "something it subscribes to had changed",
    "retry": "an earlier attempt had failed",
    "audit": "the slow audit looks at everything now and then",
    "health": "a health check was critical",
}

_INDENT = "  "

_MOST_LINES = 20
"""Lines of what a change was that are told with it."""

_TOGETHER = 1.0
"""Seconds between a refresh being booked as paid and the end of its check."""


class Explanation:
    """Tells why a resource is as it is, as far as ``history`` knows. ``now`` is seconds since 1970."""

    def __init__(self, history: History, now: float) -> None:
        self._history = history
        self._now = now
        self._told: set[int] = set()

    def explain(self, ref: str) -> list[str] | None:
        """The sentences, indented by how far back they go; None when nothing is known of ``ref``."""
        last = self._history.last(ref)
        if last is None and not self._history.knows(ref):
            return None
        lines = [f"{ref} is not in the manifest any more."] if self._history.has_left(ref) else []
        story = self._entry(last, "") if last else self._calm(ref)
        return [*lines, *story, *self._note(ref), *self._consequences(ref)]

    def _calm(self, ref: str) -> Iterator[str]:
        since = self._history.applied_since(ref)
        when = f" since {self._when(since)}" if since else ""
        yield f"{ref} is as desired{when}: no check has found anything to do."

    def _note(self, ref: str) -> Iterator[str]:
        if (noted := self._history.last_note(ref)) is not None:
            yield f"What to know of it, as of {self._when(noted.time)}: {noted.record['line']}."

    def _entry(self, entry: Entry, indent: str) -> Iterator[str]:
        """What happened, then why. Nothing is told twice."""
        if entry.id in self._told:
            return
        self._told.add(entry.id)
        if entry.event == "blocked":
            yield from self._blocked(entry, indent)
            return
        outcome, *details = self._outcome(entry).split("\n")
        yield f"{indent}{entry.ref} {outcome}"
        yield from (f"{indent}{_INDENT}{line}" for line in details)
        if hint := entry.record["hint"]:
            yield f"{indent}{_INDENT}How to mend that: {hint}."
        if (delay := entry.record["retry_in"]) is not None:
            yield f"{indent}{_INDENT}The next attempt was due {seconds(delay)} later."
        causes = entry.record["causes"]
        failure = self._sickness(entry) if "health" in causes else None
        yield f"{indent}{_INDENT}It was checked because {_in_words(causes, failure)}."
        if failure is not None:
            yield from self._entry(failure, indent + _INDENT * 2)
        if "refresh" in entry.record["causes"]:
            for source in self._sources(entry):
                yield from self._entry(source, indent + _INDENT * 2)
        if not indent:
            yield from self._difference(entry)

    def _sickness(self, entry: Entry) -> Entry | None:
        """The failure that ``entry`` was to repair, if it was one of its own."""
        return self._history.last(str(entry.ref), result="failed", before=entry.id)

    def _difference(self, entry: Entry) -> Iterator[str]:
        """What it was before, and became, or would have."""
        lines = [line for text in self._history.diffs(entry) for line in text.splitlines()]
        if lines:
            yield f"{_INDENT}What it was before (-), and {'would be' if entry.result == 'would_change' else 'became'} (+):"
        yield from (f"{_INDENT * 2}{line}" for line in lines[:_MOST_LINES])
        if len(lines) > _MOST_LINES:
            yield f"{_INDENT * 2}… and {len(lines) - _MOST_LINES} lines more: reactor events --diff tells them"

    def _blocked(self, entry: Entry, indent: str) -> Iterator[str]:
        yield f"{indent}{entry.ref} is blocked since {self._when(entry.time)}: it can't go on without what has failed."
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
                return f"was left alone {when}, as noop or mode: warn asks for: {actions}."
            case _:
                return f"was ok again {when}, after a trouble."

    def _sources(self, entry: Entry) -> Iterator[Entry]:
        """The changes that a refresh was for."""
        for refresh in self._history.refreshes(subscriber=entry.ref):
            paid = refresh.paid is not None and abs(refresh.paid - entry.time) < _TOGETHER
            if paid or refresh.owed_since is not None:
                change = self._history.last(refresh.source, result="changed", before=entry.id)
                if change is not None:
                    yield change

    def _consequences(self, ref: str) -> Iterator[str]:
        """Whom its last change has refreshed, and who still owes that."""
        for refresh in self._history.refreshes(source=ref):
            if refresh.owed_since is not None:
                yield f"{refresh.subscriber} owes a refresh because of it, since {self._when(refresh.owed_since)}."
                if (last := self._history.last(refresh.subscriber)) and last.result in ("failed", "blocked"):
                    yield from self._entry(last, _INDENT)
            elif refresh.paid is not None:
                yield f"It refreshed {refresh.subscriber} {self._when(refresh.paid)}."
        for refresh in self._history.refreshes(subscriber=ref):
            if refresh.owed_since is not None:
                yield f"It owes a refresh because of {refresh.source}, since {self._when(refresh.owed_since)}."

    def _when(self, moment: float) -> str:
        return f"{seconds(max(0.0, self._now - moment))} ago ({date_and_time(moment)})"


def _in_words(causes: Iterable[str], failure: Entry | None) -> str:
    """``causes``, with the health checks that ``failure`` tells of. A repair is an attempt that follows a failure anyway."""
    told = [
        _CAUSES[cause]
        for cause in causes
        if cause != "health" and not (cause == "retry" and "health" in causes)
    ]
    if "health" in causes:
        health = failure.record.get("health", ()) if failure is not None else ()
        critical = [f"{each['name']!r}" for each in health if each["status"] == "critical"]
        told.append(
            f"its health check {' and '.join(critical)} was critical" if critical else _CAUSES["health"]
        )
    return " and ".join(told)
