"""What hostname(5) and machine-info(5) say of the host's names: finding them in the text, and putting them there."""

from __future__ import annotations

import re

from reactor.resources.process import split_words

HOSTNAME = "/etc/hostname"
MACHINE_INFO = "/etc/machine-info"

_PRETTY = "PRETTY_HOSTNAME"
_SPECIAL = re.compile(r'([\\"$`])')


def static_name(text: str) -> str | None:
    """The name in the text of /etc/hostname: its first line that is neither empty nor a comment."""
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line and not line.startswith("#")), None)


def pretty_name(text: str) -> str | None:
    """The name for people in the text of /etc/machine-info; the last one counts."""
    values = [value for key, value in map(_assignment, text.splitlines()) if key == _PRETTY]
    try:
        return " ".join(split_words(values[-1])) or None if values else None
    except ValueError:  # quotes without end: whoever reads the file ignores the line, too
        return None


def with_pretty_name(text: str, name: str) -> str:
    """The text with this name for people; all other lines stay as they are."""
    quoted = _SPECIAL.sub(r"\\\1", name)
    lines = text.splitlines(keepends=True)
    others = [line for line in lines if _assignment(line)[0] != _PRETTY]
    if others and not others[-1].endswith("\n"):
        others[-1] += "\n"
    return "".join([*others, f'{_PRETTY}="{quoted}"\n'])


def _assignment(line: str) -> tuple[str, str]:
    key, _, value = line.partition("=")
    return key.strip(), value.strip()
