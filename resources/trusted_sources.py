"""Refuses files and directories of other users that decide what root installs, or whom it trusts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from reactor import (
    DistrustedError,
    ResourceError,
    in_thread,
    open_input,
    require_input_place,
    require_input_tree,
)
from reactor.hostfs import ErrorContext

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


def refuse_foreign_file(path: str, what: str, otherwise: str = "") -> None:
    """Raise ResourceError if another user can change the file at ``path``, and so ``what``. A missing file is no source.

    ``otherwise`` is what else helps than to give it to root.
    """
    with _refusing(path, what, otherwise):
        os.close(open_input(path, _READ))


def refuse_foreign_place(path: str, what: str) -> None:
    """As `refuse_foreign_file`, if another user can put something else at ``path``; to whom it belongs means nothing."""
    with _refusing(path, what, ""):
        require_input_place(path)


async def refuse_foreign_tree(path: str, what: str, otherwise: str = "") -> None:
    """As `refuse_foreign_file`, for a directory and everything in it, in a thread: there may be 100,000 packages."""
    with _refusing(path, what, otherwise):
        await in_thread(require_input_tree, path, abandon_on_cancel=True, gives_way=True)


@contextmanager
def _refusing(path: str, what: str, otherwise: str) -> Iterator[None]:
    with ErrorContext(f"inspect {path}"), suppress(FileNotFoundError, NotADirectoryError):
        try:
            yield
        except DistrustedError as error:
            hint = error.hint or "give it to root"
            words = f"another user can change {what}: {error}"
            raise ResourceError(words, f"{hint}; or {otherwise}" if otherwise else hint) from error
