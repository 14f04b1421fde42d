"""Unified diffs that show how a change would alter a file. They read files and change nothing."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import TypeGuard

from reactor.hostfs.attributes import Change
from reactor.hostfs.backups import ShortFile
from reactor.hostfs.content import Bytes, Content, GuardedContent, Inline, read
from reactor.hostfs.safe_open import open_content_stat, open_path
from reactor.resource.escaping import escaped
from reactor.resource.plan import Diff, ResourceError
from reactor.resource.redaction import without_removed_lines
from reactor.resource.threads import in_thread

_AT_ONCE = 16 * 1024
"""Bytes. A smaller diff takes less time than a thread."""

_LIMIT = 1024 * 1024
"""Bytes. A larger diff takes long to compute, and is too long to read."""

_NO_NEWLINE = "\n\\ No newline at end of file\n"
_HOLDS_SECRETS = "the data hold secrets"


async def content_diff(path: str, content: Content | None, changes: Sequence[Change]) -> Diff:
    """The diff from the file at ``path`` to ``content``, with the attributes that change.

    If ``content`` is None, the file is removed.
    """
    if not await _may_show(content):
        return await secret_diff(path, changes, removed=False)
    try:
        old = _head(path)
    except ResourceError as error:
        return partial(_hidden_text, path, changes, error.message, new=content is not None)
    if isinstance(content, Inline):  # it is in memory, and the change need not wait for it
        return partial(_inline_text, path, old, content, changes)
    if content is not None:
        await content.prepare()
    new = None if content is None else content.head(_LIMIT + 1)
    text = partial(_content_text, path, old, new, changes)
    return partial(_without_removed, text) if _is_guarded(content) else text


async def replaced_text(path: str, old: ShortFile, new: Inline, changes: Sequence[Change]) -> str:
    """The text of the diff from the file ``old``, which may have been replaced meanwhile, to ``new``."""
    if old.content is None:
        return await (await content_diff(path, new, changes))()
    return await _inline_text(path, old.content, new, changes)


async def new_file_diff(path: str, content: Content, changes: Sequence[Change]) -> Diff:
    """The diff of a file that is created, or that replaces a directory or another non-file."""
    if not await _may_show(content):
        return partial(_hidden_text, path, changes, _HOLDS_SECRETS, new=True, old=False)
    if isinstance(content, Inline):
        return partial(_inline_text, path, None, content, changes)
    await content.prepare()
    return partial(_content_text, path, None, content.head(_LIMIT + 1), changes)


def _is_guarded(content: Content | None) -> TypeGuard[GuardedContent]:
    return bool(getattr(content, "is_secret", False))


async def _may_show(content: Content | None) -> bool:
    return not _is_guarded(content) or await content.shows_no_secret()


async def _without_removed(diff: Diff) -> str:
    return without_removed_lines(await diff())


async def secret_diff(path: str, changes: Sequence[Change], *, removed: bool) -> Diff:
    """The diff of a file with secret content: the attributes that change, without the content."""
    return partial(_hidden_text, path, changes, _HOLDS_SECRETS, new=not removed, old=_exists(path))


async def added_lines_diff(path: str, content: Content, changes: Sequence[Change]) -> Diff:
    """As `content_diff`, without the removed lines: they may hold a former secret."""
    return partial(_without_removed, await content_diff(path, content, changes))


async def attributes_diff(path: str, changes: Sequence[Change], *, created: bool = False) -> Diff:
    """The diff of a change of the attributes alone."""
    return partial(_attributes_text, path, changes, created=created)


async def _inline_text(path: str, old: Bytes | None, new: Inline, changes: Sequence[Change]) -> str:
    return await _content_text(path, old, new.head(_LIMIT + 1), changes)


async def _content_text(path: str, old: Bytes | None, new: Bytes | None, changes: Sequence[Change]) -> str:
    head = _head_lines(path, changes, old=old is not None, new=new is not None)
    old, new = old or b"", new or b""
    body = _body(old, new) if len(old) + len(new) <= _AT_ONCE else await in_thread(_body, old, new)
    return head + body


async def _hidden_text(
    path: str, changes: Sequence[Change], reason: str, *, new: bool, old: bool = True
) -> str:
    return f"{_head_lines(path, changes, old=old, new=new)}Content is not shown: {reason}\n"


async def _attributes_text(path: str, changes: Sequence[Change], *, created: bool) -> str:
    return _head_lines(path, changes, old=not created, new=True)


def _head_lines(path: str, changes: Sequence[Change], *, old: bool, new: bool) -> str:
    shown = escaped(path)
    names = f"--- {shown if old else '/dev/null'}\n+++ {shown if new else '/dev/null'}\n"
    return names + _attribute_lines(tuple(changes))


@lru_cache(maxsize=64)
def _attribute_lines(changes: tuple[Change, ...]) -> str:
    """The lines for the attributes; a first run has the same ones for most files."""
    old = [f"-{change.attribute}: {change.old}\n" for change in changes if change.old]
    return "".join([*old, *(f"+{change.attribute}: {change.new}\n" for change in changes)])


def _body(old: Bytes, new: Bytes) -> str:
    before, after = _text(old), _text(new)
    if before is None or after is None:
        return f"Content differs: {_summary(old)} before, {_summary(new)} after\n"
    if not before or not after:
        return _whole(before, "-") + _whole(after, "+")
    from difflib import unified_diff  # noqa: PLC0415 - most runs show none

    hunks = unified_diff(_lines(before), _lines(after), n=3)
    return "".join([_terminated(line) for line in list(hunks)[2:]])  # without difflib's own header


def _whole(text: str, sign: str) -> str:
    """A single hunk, as difflib writes it, in which all lines of ``text`` are new (``+``) or removed (``-``)."""
    if not text:
        return ""
    lines = text.removesuffix("\n")
    number = lines.count("\n") + 1
    count = "1" if number == 1 else f"1,{number}"
    ranges = f"-0,0 +{count}" if sign == "+" else f"-{count} +0,0"
    end = "\n" if len(lines) < len(text) else _NO_NEWLINE
    body = lines.replace("\n", f"\n{sign}")
    return f"@@ {ranges} @@\n{sign}{body}{end}"


def _text(data: Bytes) -> str | None:
    """``data`` as a string; None when it is binary or too large to show."""
    if len(data) > _LIMIT or b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _summary(data: Bytes) -> str:
    return f"more than {_LIMIT} bytes" if len(data) > _LIMIT else f"{len(data)} bytes"


def _lines(text: str) -> list[str]:
    """The lines with their line ends. Only a newline ends a line; str.splitlines knows other line ends."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _terminated(line: str) -> str:
    return line if line.endswith("\n") else f"{line}{_NO_NEWLINE}"


def _head(path: str) -> bytes | None:
    """The first bytes of the regular file at ``path``; None if it is missing or unreadable. Raises ResourceError."""
    try:
        fd, found = open_content_stat(path)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(found.st_mode):
            return None
        # A buffer of _LIMIT takes longer than all else. Files of the kernel have a size of 0 and some content.
        return read(fd, min(found.st_size or _LIMIT + 1, _LIMIT + 1))
    finally:
        os.close(fd)


def _exists(path: str) -> bool:
    try:
        os.close(open_path(path))
    except OSError:
        return False
    return True
