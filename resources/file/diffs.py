"""What a change would do to a file, as a unified diff. Reads the world and changes nothing."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from functools import partial

from reactor import Diff, in_thread, printable
from resources.file.content import Content, read
from resources.file.state import Change

_AT_ONCE = 16 * 1024
"""Bytes. For less, a thread would take longer than the diff."""

_LIMIT = 1024 * 1024
"""Bytes. Nobody reads the diff of more, and making it takes long."""

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


async def content_diff(path: str, content: Content | None, changes: Sequence[Change]) -> Diff:
    """The diff from what is at ``path`` now to ``content``, or to nothing, and of the attributes that change."""
    old = _head(path)
    new = None if content is None else content.head(_LIMIT + 1)
    return partial(_content_text, path, old, new, changes)


async def secret_diff(path: str, changes: Sequence[Change], *, removed: bool) -> Diff:
    """The same for content that nobody may see, from what is at ``path`` now to another, or to nothing."""
    return partial(_secret_text, path, changes, old=_head(path) is not None, new=not removed)


async def attributes_diff(path: str, changes: Sequence[Change], *, created: bool = False) -> Diff:
    """The diff of the attributes alone."""
    return partial(_attributes_text, path, changes, created=created)


async def _content_text(path: str, old: bytes | None, new: bytes | None, changes: Sequence[Change]) -> str:
    head = [*_header(path, old=old is not None, new=new is not None), *_attribute_lines(changes)]
    old, new = old or b"", new or b""
    if len(old) + len(new) <= _AT_ONCE:
        return "".join([*head, *_body(old, new)])
    return "".join([*head, *await in_thread(_body, old, new)])


async def _secret_text(path: str, changes: Sequence[Change], *, old: bool, new: bool) -> str:
    head = [*_header(path, old=old, new=new), *_attribute_lines(changes)]
    return "".join([*head, "Content is not shown: the data hold secrets\n"])


async def _attributes_text(path: str, changes: Sequence[Change], *, created: bool) -> str:
    return "".join([*_header(path, old=not created, new=True), *_attribute_lines(changes)])


def _header(path: str, *, old: bool, new: bool) -> list[str]:
    shown = printable(path)
    return [f"--- {shown if old else '/dev/null'}\n", f"+++ {shown if new else '/dev/null'}\n"]


def _attribute_lines(changes: Sequence[Change]) -> list[str]:
    old = [f"-{change.attribute}: {change.old}\n" for change in changes if change.old]
    return old + [f"+{change.attribute}: {change.new}\n" for change in changes]


def _body(old: bytes, new: bytes) -> list[str]:
    before, after = _text(old), _text(new)
    if before is None or after is None:
        return [f"Content differs: {_summary(old)} before, {_summary(new)} after\n"]
    from difflib import unified_diff  # noqa: PLC0415 - most runs show none

    hunks = unified_diff(_lines(before), _lines(after), n=3)
    return [_terminated(line) for line in list(hunks)[2:]]  # without difflib's own header


def _text(data: bytes) -> str | None:
    """The text of ``data``, or None when it is binary or too large to show."""
    if len(data) > _LIMIT or b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _summary(data: bytes) -> str:
    return f"more than {_LIMIT} bytes" if len(data) > _LIMIT else f"{len(data)} bytes"


def _lines(text: str) -> list[str]:
    """Lines with their ends; only a newline ends one, unlike for str.splitlines."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _terminated(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _head(path: str) -> bytes | None:
    """The start of the regular file at ``path``, or None when there is none to read."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        fd = os.open(path, _OPEN)
    except OSError:
        return None
    try:
        return read(fd, _LIMIT + 1)
    finally:
        os.close(fd)
