"""Shared by both ends of the control socket: the query for a status, a refused request."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reactor.engine.events import Result
from reactor.errors import ReactorError
from reactor.graph.globs import covers


class RefusedError(ReactorError):
    """The run or the operating system refuses the request. ``hint`` says how to fix that."""

    code = "R0606"

    @classmethod
    def from_os_error(cls, error: OSError) -> RefusedError:
        """The error for a request that can't be written to the state directory."""
        return cls(f"the system refused: {error}", "check whether the state directory is writable")


NOT_OK = (Result.FAILED, Result.BLOCKED)


@dataclass(frozen=True, slots=True)
class StatusQuery:
    """Selects resources to show: by default those that are not as desired.

    ``match`` selects the resources that match it, ``everything`` all resources. ``failed`` leaves only the failed and
    blocked ones of these.
    """

    match: str | None = None
    everything: bool = False
    failed: bool = False

    def matches(self, names: Iterable[str]) -> bool:
        """Whether the query matches the resource with these names."""
        return self.match is None or covers(self.match, names)

    def selects(self, state: str | None, *, is_ok: bool) -> bool:
        """Whether to show a resource that the query matches."""
        asked_for = self.match is not None or self.everything or not is_ok
        return asked_for and (state in NOT_OK or not self.failed)
