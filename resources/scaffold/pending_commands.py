"""Notes on the disk of commands that are owed for a file: they outlive a process that is killed before it has run them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b

from reactor.hostfs import Explaining, Parent, lock_temporary

_NOTE = os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def note_of(path: str) -> str:
    """Where the note is: beside the file at ``path``, named as a temporary file and litter once nobody holds it."""
    directory, base = os.path.split(path)
    return f"{directory}/.post.{blake2b(os.fsencode(base), digest_size=6).hexdigest()}.reactor"


@contextmanager
def noted(path: str) -> Iterator[None]:
    """Owe the commands for the file at ``path`` from now on, and no longer once the block has ended without an error."""
    with Parent(note_of(path)) as (directory, name):
        with Explaining(f"write {note_of(path)}"):
            fd = os.open(name, _NOTE, 0o600, dir_fd=directory)
        try:
            lock_temporary(fd)
            yield
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=directory)
        finally:
            os.close(fd)
