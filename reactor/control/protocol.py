"""What both ends of the control socket share: the path of the socket, the query for a status, a refused request."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from reactor.engine.events import Result
from reactor.errors import ReactorError
from reactor.graph.globs import covers


class RefusedError(ReactorError):
    """The converger, or the system, does not do what was asked. ``hint`` says how to mend that."""

    code = "R0606"

    @classmethod
    def from_os_error(cls, error: OSError) -> RefusedError:
        """What was asked is written to the state directory, and can't be."""
        return cls(f"the system refused: {error}", "see whether the state directory can be written")


SOCKET_FILE = "control.sock"


@contextmanager
def short_socket_path(directory: str) -> Iterator[str]:
    """The socket's path in a form that is short enough for any directory: the kernel allows 107 bytes."""
    descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET_FILE}"
    finally:
        os.close(descriptor)


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
