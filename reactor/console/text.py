"""Events as lines of text: one for each change of state, none for checks that found nothing to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from reactor.console.open_problems import OpenProblem, OpenProblems, RepeatedFailures, what_differs
from reactor.console.style import STATE_COLUMN, Style, in_words
from reactor.engine.events import (
    AuditFound,
    Blocked,
    Checked,
    Converged,
    Event,
    EventsLost,
    Flapping,
    Noted,
    Output,
    Paused,
    Reloaded,
    ReloadRejected,
    Result,
    Resumed,
    Reversed,
    Reversing,
    SlotWaited,
    Unblocked,
    WatcherChanged,
)
from reactor.number_format import counted, date_and_time, seconds
from reactor.resource.escaping import escaped
from reactor.resource.watch import WatchState

_INDENT = "    "
_MORE = "| "
"""The prefix of further lines of an error: they may come from the host, and must not look like our own lines."""
_OK, _FAILED = Result.OK, Result.FAILED  # see `reactor.engine.outcome.Outcome`
_WORDS = {result: in_words(result) for result in Result}


@lru_cache(maxsize=16)  # few: each may have a hundred thousand characters
def _joined(texts: tuple[str, ...]) -> str:
    """The texts on one line; a first run has the same ones for most resources."""
    return escaped(", ".join(texts))


class TextSink:
    """Turns events into lines. It also passes them to ``open_problems``, for the summary.

    A line starts with the name, for programs; ``aligned`` puts the states first, in a column, and an empty line after
    each diff.
    """

    def __init__(
        self, write: Callable[[str], None], style: Style, *, continuous: bool, aligned: bool = False
    ) -> None:
        self.open_problems = OpenProblems()
        self._repeated_failures = RepeatedFailures()
        self._write = write
        self._style = style
        self._continuous = continuous
        self._aligned = aligned
        self._indent = " " * (STATE_COLUMN + 2) if aligned else _INDENT
        self._announce_converged = continuous
        self._hearing: dict[tuple[str, str | None], WatchState] = {}

    def __call__(self, event: Event) -> None:
        """Take one event."""
        problems = self.open_problems.problems
        if type(event) is Checked and event.result is not _FAILED and event.ref not in problems:
            if event.result is _OK:
                return
            before = None  # nothing to note: neither is there a problem, nor was there one
        else:
            before = self.open_problems.note(event)
        if problems:
            self._announce_converged = self._continuous
        for line in self._checked(event, before) if type(event) is Checked else self._lines(event, before):
            self._write(line)

    def _lines(self, event: Event, before: OpenProblem | None) -> Iterable[str]:
        match event:
            case Blocked() if before is None or before.result is not Result.BLOCKED:
                yield self._line(event.ref, "blocked", self.open_problems.problems[event.ref].reason)
            case Unblocked() if before is not None and before.result is Result.BLOCKED:
                yield self._line(event.ref, "unblocked", "", role="ok")
            case Output() | Noted():
                indent = self._indent if self._aligned else ""
                yield f"{indent}{escaped(event.ref)} | {escaped(event.line)}\n"
            case WatcherChanged():
                yield from self._watcher(event)
            case EventsLost():
                yield self._line(
                    f"watcher {event.watcher}",
                    "warning",
                    f"events lost: {event.reason}; everything it watches is checked",
                )
            case AuditFound():
                yield self._line(event.ref, "warning", "the audit found drift that no event had reported")
            case Converged() if self._announce_converged:
                self._announce_converged = False
                resources = counted(event.resources, "resource")
                yield f"{self._state('converged', 'ok')}  {resources} in {seconds(event.duration)}\n"
            case _:
                yield from self._rare(event)

    def _rare(self, event: Event) -> Iterable[str]:
        match event:
            case Paused():
                until = f"until {date_and_time(event.until)}: {event.reason}"
                yield self._line(event.ref, "paused", until, role="warning")
            case SlotWaited():
                yield self._line(
                    event.ref, "waiting", f"for slot {event.slot} ({event.reason})", role="warning"
                )
            case Resumed():
                yield self._line(event.ref, "resumed", "", role="ok")
            case Flapping():
                times = ", ".join(f"{action} {count} times" for action, count in event.actions.items())
                from reactor.console.status_lines import cause_of_flapping

                why = cause_of_flapping(event.expressions)
                yield self._line(event.ref, "warning", f"{why}: {times}; slowing down")
            case Reloaded():
                yield self._reloaded(event)
            case Reversing():
                yield self._line(event.ref, "warning", "was removed from the manifest, and is undone now")
            case Reversed():
                yield self._line(event.ref, "undone", "", role="ok")
            case ReloadRejected():
                problems = counted(len(event.problems), "problem")
                text = f"the new version is invalid ({problems}); the last valid one stays in force"
                yield self._line("manifest", "failed", text)

    def _line(self, subject: str, word: str, rest: str, *, role: str = "") -> str:
        return self._row(subject, word, escaped(rest), role=role or word)

    def _row(self, subject: str, word: str, rest: str, *, role: str) -> str:
        state, name = self._state(word, role), escaped(subject)
        cells = [state, name] if self._aligned else [name, state]
        if rest:
            cells.append(rest)
        return f"{'  '.join(cells)}\n"

    def _state(self, word: str, role: str) -> str:
        state = self._style(role, word)
        return state + " " * (STATE_COLUMN - len(word)) if self._aligned else state

    def _checked(self, event: Checked, before: OpenProblem | None) -> Iterable[str]:
        why = self._style("dim", f"({_joined(event.causes.words)}, {seconds(event.duration)})")
        word = _WORDS[event.result]
        again = before is not None and before == self.open_problems.problems.get(event.ref)
        if (words := self._repeated_failures.words(event, again=again)) is None:
            return
        text = self._result_text(event, again=words, recovered=before is not None)
        yield self._row(event.ref, word, f"{text} {why}" if text else why, role=word)
        if event.result is _FAILED and not again:
            yield from self._error(event)
        for diff in event.diffs:
            yield self._style.diff(diff) + ("\n" if self._aligned else "")

    def _result_text(self, event: Checked, *, again: str, recovered: bool) -> str:
        if event.result is _OK:
            return "again" if recovered else ""
        if event.result is _FAILED:
            retry = f"retry in {seconds(event.retry_in)}" if event.retry_in is not None else ""
            done = f"after it {_joined(event.actions)}" if event.actions else ""
            return ", ".join(filter(None, (again, done, retry)))
        return _joined(event.actions)

    def _error(self, event: Checked) -> Iterable[str]:
        code = f"error[{event.code}]: " if event.code else ""
        for number, line in enumerate((event.error or "").splitlines()):
            yield f"{self._indent}{_MORE if number else code}{escaped(line)}\n"
        if event.hint:
            yield f"{self._indent}{self._style('bold', 'hint:')} {escaped(event.hint)}\n"

    def _reloaded(self, event: Reloaded) -> str:
        text = what_differs(changed=event.changed, added=event.added, gone=event.gone, kept=event.kept)
        return self._line("manifest", "changed", f"reloaded: {text}")

    def _watcher(self, event: WatcherChanged) -> Iterable[str]:
        """The lines for a watcher. A watcher that works from the start has none."""
        key = (event.watcher, event.ref)
        before = self._hearing.get(key, WatchState.ARMED)
        self._hearing[key] = event.state
        if event.state is not before:
            word = "ok" if event.state is WatchState.ARMED else "warning"
            subject = event.ref or f"watcher {event.watcher}"
            if self._aligned:
                yield self._line(subject, "watching", f"{event.state}: {event.reason}", role=word)
            else:
                watching = f"watching: {event.state}" if event.ref else str(event.state)
                yield self._line(subject, watching, event.reason, role=word)
