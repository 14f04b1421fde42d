"""Symlinks in directories of root that say how the system is set up, such as /etc/localtime."""

from __future__ import annotations

import os
from contextlib import suppress

from reactor.hostfs import ErrorContext, Parent, flush_directory


def read_link(path: str) -> str | None:
    """The target of the link, as written; None if nothing is there, and an empty string for anything but a link."""
    with ErrorContext(f"read {path}"):
        try:
            return os.readlink(path)
        except FileNotFoundError:
            return None
        except OSError:
            if os.path.lexists(path):
                return ""
            raise


async def write_link(path: str, target: str) -> None:
    """Make ``path`` a link to ``target``, in one step; it replaces a link or a file. Raises ResourceError."""
    with ErrorContext(f"link {path}"), Parent(path) as (directory, base):
        new = f".{base}.reactor"
        with suppress(FileNotFoundError):  # of a killed run
            os.unlink(new, dir_fd=directory)
        os.symlink(target, new, dir_fd=directory)
        os.replace(new, base, src_dir_fd=directory, dst_dir_fd=directory)
        await flush_directory(directory)
