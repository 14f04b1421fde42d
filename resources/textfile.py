"""Edits small configuration files that several resources, and people, share."""

from __future__ import annotations

import os
import stat
from collections.abc import Awaitable, Callable
from functools import partial

from reactor import Action, Diff, ResourceError
from reactor.hostfs import (
    Attributes,
    ErrorContext,
    Inline,
    content_diff,
    open_source,
    refuse_replacement,
    remove_path,
)
from reactor.resources.shared_lines import Found, find, rewrite

_MODE = 0o644

Change = Callable[[str], str]
"""A function from the present content of a file to the desired content."""


def read(path: str) -> str | None:
    """The content of the file at ``path``; None if it does not exist. Raises ResourceError when it can't be read."""
    return _text(path, find(path))


def _text(path: str, found: Found | None) -> str | None:
    try:
        return None if found is None else found.data.decode()
    except UnicodeDecodeError as error:
        hint = "correct it: a change could damage the rest of it"
        raise ResourceError(f"{path} is not UTF-8 text at byte {error.start}", hint) from error


async def edit(path: str, change: Change, *, mode: int = _MODE) -> None:
    """Apply ``change`` to the content of the file, atomically. A missing file counts as empty, and gets ``mode``.

    Owner, mode and symlinks to the file stay. Stale temporary files beside it are removed. What another program writes
    in between is not lost: then ``change`` is called again. Raises ResourceError when it can't be written.
    """
    path = os.path.realpath(path)  # noqa: ASYNC240 - as fast as the read that follows

    def changed(found: Found | None) -> bytes | None:
        before = _text(path, found)
        after = change(before or "")
        return None if after == before else after.encode()

    await rewrite(path, changed, Attributes(os.geteuid(), os.getegid(), mode))


async def replace(path: str, text: str, *, mode: int = _MODE) -> None:
    """Replace the content of the file by ``text``; a new file gets ``mode``. Raises ResourceError when it can't be written."""
    await edit(path, lambda _: text, mode=mode)


def refuse_unwritable(path: str) -> None:
    """Raise the ResourceError with which `edit` would fail, as far as that can be seen before."""
    refuse_replacement(os.path.realpath(path))


def mode(path: str) -> int | None:
    """The permissions of the file at ``path``; None if it does not exist. Raises ResourceError."""
    with ErrorContext(f"inspect {path}"):
        try:
            return stat.S_IMODE(os.stat(path).st_mode)
        except FileNotFoundError:
            return None


def set_mode(path: str, permissions: int) -> None:
    """Set the permissions of the file at ``path``. Raises ResourceError."""
    with ErrorContext(f"change the mode of {path}"):
        fd = _opened(path)
        try:
            os.fchmod(fd, permissions)
        finally:
            os.close(fd)


def edit_step(
    words: str, path: str, change: Change, run: Callable[[], Awaitable[None]] | None = None
) -> Action:
    """The step that makes ``change``, as ``words`` tell. ``run`` makes it, by default `edit`."""
    return Action.proven(words, run or partial(edit, path, change), partial(diff, path, change))


def replace_step(
    path: str, text: str | None, run: Callable[[], Awaitable[None]] | None = None, *, title: str = ""
) -> Action:
    """The step that makes ``text`` the content of the file; None removes it. ``run`` writes it, by default `replace`.

    ``title`` is the file in words, by default its path.
    """
    title = title or path
    if text is None:
        remove, shown = partial(remove_path, path, recursive=False), partial(content_diff, path, None, ())
        return Action.proven(f"removed {title}", remove, shown)
    write, shown = run or partial(replace, path, text), partial(diff, path, lambda _: text)
    return Action(f"Would have written {title}", f"wrote {title}", write, shown, is_proof=True)


async def diff(path: str, change: Change) -> Diff:
    """The change that `edit` would make, as a unified diff."""
    return await content_diff(path, Inline(change(read(path) or "")), ())


def _opened(path: str) -> int:
    """Open a regular file; refuse a pipe, which may never end, and a device."""
    fd = open_source(path)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise ResourceError(f"{path} is not a regular file, or leads to something else", "remove it")
