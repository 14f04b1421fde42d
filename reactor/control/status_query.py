"""What somebody wants to see of a run that goes on, or of the last one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reactor.engine.events import Result
from reactor.graph.names import covers

IN_TROUBLE = (Result.FAILED, Result.BLOCKED)


@dataclass(frozen=True, slots=True)
class StatusQuery:
    """Which resources somebody wants to see: by default those that are not fine.

    With ``match`` those it means, with ``everything`` all; ``failed`` leaves of these the failed and blocked ones.
    """

    match: str | None = None
    everything: bool = False
    failed: bool = False

    def means(self, names: Iterable[str]) -> bool:
        """Whether it is about the resource with these names."""
        return self.match is None or covers(self.match, names)

    def wants(self, state: str | None, *, is_fine: bool) -> bool:
        """Whether one that it is about is to be shown."""
        asked_for = self.match is not None or self.everything or not is_fine
        return asked_for and (state in IN_TROUBLE or not self.failed)
