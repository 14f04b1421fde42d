"""The options of a line of authorized_keys, see sshd(8): commas between them, and quotes around values."""

from __future__ import annotations

import re

FLAGS = frozenset((
    "agent-forwarding", "cert-authority", "no-agent-forwarding", "no-port-forwarding", "no-pty",
    "no-touch-required", "no-user-rc", "no-x11-forwarding", "port-forwarding", "pty", "restrict", "user-rc",
    "verify-required", "x11-forwarding",
))  # fmt: skip
WITH_VALUE = frozenset((
    "command", "environment", "expiry-time", "from", "permitlisten", "permitopen", "principals", "tunnel",
))  # fmt: skip
_MARK = re.compile(r'\\"|[",]')
"""A quote inside of quotes, or what begins or ends something. Users decide how long a line is: its other bytes are skipped."""


def check(option: str) -> str:
    """Return ``option``. Raises ValueError if sshd would ignore a key with it."""
    if not option.isprintable() or not option.isascii():
        raise ValueError("an option is one line of ASCII text")
    name, equals, value = option.partition("=")
    if name.lower() in WITH_VALUE:
        if not equals or end_of_quoted(value) != len(value):
            raise ValueError(f'the value of {name} stands in double quotes: {name}="..."')
    elif name.lower() not in FLAGS:
        known = ", ".join(sorted(FLAGS | WITH_VALUE))
        raise ValueError(
            f"{name!r} is not an option of a key, and sshd ignores keys with unknown ones: use {known}"
        )
    elif equals:
        raise ValueError(f"{name} takes no value")
    return option


def end_of_quoted(text: str) -> int:
    """The length of the quoted string that ``text`` begins with; -1 if it begins with none."""
    at = 1
    while text.startswith('"') and at < len(text):
        if text[at] == '"':
            return at + 1
        at += 2 if text.startswith('\\"', at) else 1
    return -1


def split(text: str) -> tuple[str, ...]:
    """The options in ``text``, separated by commas outside of quotes."""
    found, start, quoted = [], 0, False
    for mark in _MARK.finditer(text):
        if mark[0] == '"':
            quoted = not quoted
        elif mark[0] == "," and not quoted:
            found.append(text[start : mark.start()])
            start = mark.end()
    return (*found, text[start:])
