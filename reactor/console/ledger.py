"""Who is failed, blocked or skipped at this moment, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reactor.engine.events import Blocked, Checked, Event, Reloaded, Result, Skipped

_NAMED = 3


class Trouble(NamedTuple):
    """Why one resource is not as desired."""

    result: Result
    reason: str


class Ledger:
    """Follows the events and keeps the troubles that last, in the order they began."""

    def __init__(self) -> None:
        self.troubles: dict[str, Trouble] = {}

    def note(self, event: Event) -> Trouble | None:
        """Take one event; return the trouble its resource was in before."""
        match event:
            case Checked(result=Result.FAILED):
                return self._enter(event.ref, Trouble(Result.FAILED, event.error or "failed"))
            case Checked():
                return self.troubles.pop(event.ref, None)
            case Blocked():
                return self._enter(event.ref, Trouble(Result.BLOCKED, f"by {name_some(event.culprits)}"))
            case Skipped():
                return self._enter(event.ref, Trouble(Result.SKIPPED, event.reason))
            case Reloaded():
                for ref in event.gone:
                    self.troubles.pop(ref, None)
        return None

    def _enter(self, ref: str, trouble: Trouble) -> Trouble | None:
        before = self.troubles.get(ref)
        self.troubles[ref] = trouble
        return before


def what_differs(*, changed: Sequence[str], added: Sequence[str], gone: Sequence[str], kept: int) -> str:
    """What a new version of the manifest differs in from the one before."""
    parts = {"changed": changed, "added": added, "gone": gone}
    said = [f"{word} {name_some(refs)}" for word, refs in parts.items() if refs]
    return f"{'; '.join(said) or 'nothing differs'}; kept {kept}"


def name_some(refs: Iterable[str]) -> str:
    """The first refs by name, the others by number."""
    first, rest = (every := list(refs))[:_NAMED], len(every) - _NAMED
    return ", ".join(first) + (f" and {rest} more" if rest > 0 else "")
