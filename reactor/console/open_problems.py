"""Keeps the resources that are failed, blocked or skipped now, and why."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from reactor.engine.events import Blocked, Checked, Event, Reloaded, Result, Skipped, Unblocked
from reactor.named_tuple import NamedTuple

_NAMED = 3
_PLAIN = 3
"""How many repeated failures are shown without their number: none of them is left out if they are 5 s apart."""
_LONGEST_PAUSE = 3600.0
"""The most seconds for which the same failure is not shown again."""


class OpenProblem(NamedTuple):
    """Why one resource is not as desired. ``beneath`` is the problem that a blocked resource had before."""

    result: Result
    reason: str
    beneath: OpenProblem | None = None


class OpenProblems:
    """Follows the events and keeps the open problems, in the order they began."""

    def __init__(self) -> None:
        self.problems: dict[str, OpenProblem] = {}

    def note(self, event: Event) -> OpenProblem | None:
        """Take one event; return the problem that its resource had before."""
        match event:
            case Checked(result=Result.FAILED):
                return self._enter(event.ref, OpenProblem(Result.FAILED, event.error or "failed"))
            case Checked():
                return self._enter(event.ref, None)
            case Blocked():
                reason = f"by {name_some(event.culprits)}"
                return self._enter(event.ref, OpenProblem(Result.BLOCKED, reason, self._beneath(event.ref)))
            case Unblocked():
                return self._enter(event.ref, self._beneath(event.ref))
            case Skipped():
                return self._enter(event.ref, OpenProblem(Result.SKIPPED, event.reason))
            case Reloaded():
                for ref in event.gone:
                    self._enter(ref, None)
        return None

    def _beneath(self, ref: str) -> OpenProblem | None:
        """The problem of a resource, without its block; None if it has no other problem."""
        now = self.problems.get(ref)
        return now.beneath if now is not None and now.result is Result.BLOCKED else now

    def _enter(self, ref: str, problem: OpenProblem | None) -> OpenProblem | None:
        before = self.problems.get(ref)
        if problem is None:
            self.problems.pop(ref, None)
        else:
            self.problems[ref] = problem
        return before


class RepeatedFailures:
    """Says which of the same failures of a resource are shown: the first few, then ever fewer, down to one an hour.

    A polled resource may fail every 5 s for weeks.
    """

    def __init__(self) -> None:
        self._shown: dict[str, tuple[float, float, int]] = {}
        """Ref -> when a failure was last shown, the seconds until the next one is, and the failures since the first."""

    def words(self, event: Checked, *, again: bool) -> str | None:
        """What to say of a check before anything else: that it failed ``again``, as before. None if it is not shown.

        A check that changed something is always shown. The clock may have been set back.
        """
        if not again:
            self._shown.pop(event.ref, None)
            return ""
        shown, pause, count = self._shown.get(event.ref, (-math.inf, 0.0, 0))
        if 0 <= event.time - shown < pause and not event.actions:
            self._shown[event.ref] = (shown, pause, count + 1)
            return None
        self._shown[event.ref] = (event.time, min(max(2 * pause, 1.0), _LONGEST_PAUSE), count + 1)
        return "again" if count < _PLAIN else f"again, {count + 1} times by now"


def what_differs(*, changed: Sequence[str], added: Sequence[str], gone: Sequence[str], kept: int) -> str:
    """The differences of a new version of the manifest, as text."""
    parts = {"changed": changed, "added": added, "gone": gone}
    differences = [f"{word} {name_some(refs)}" for word, refs in parts.items() if refs]
    return f"{'; '.join(differences) or 'nothing differs'}; kept {kept}"


def name_some(refs: Iterable[str]) -> str:
    """The first few refs as text, and the number of the others."""
    first, rest = (every := list(refs))[:_NAMED], len(every) - _NAMED
    return ", ".join(first) + (f" and {rest} more" if rest > 0 else "")
