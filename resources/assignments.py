"""Files of assignments that a shell or systemd reads: NAME=value, one a line, with quotes around some values."""

from __future__ import annotations

import re
from collections.abc import Mapping

from reactor.resources.process import split_words

_SPECIAL = re.compile(r'([\\"$`])')
_PLAIN = re.compile(r"[A-Za-z0-9_./:@,+-]+")


def values(text: str) -> dict[str, str]:
    """The values by name. The last one counts; a line that ends within quotes is ignored, as by systemd."""
    found = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals and not name.lstrip().startswith("#"):
            try:
                found[name.strip()] = " ".join(split_words(value.strip()))
            except ValueError:
                continue
    return found


def with_values(text: str, wanted: Mapping[str, str]) -> str:
    """``text`` with these values, each in place of the first assignment to its name; all other lines stay."""
    left = dict(wanted)
    lines = []
    for line in text.splitlines(keepends=True):
        name = line.partition("=")[0].strip()
        if "=" not in line or name not in wanted:
            lines.append(line)
        elif name in left:
            lines.append(_line(name, left.pop(name)))
    if left and lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return "".join([*lines, *(_line(name, value) for name, value in left.items())])


def _line(name: str, value: str) -> str:
    if _PLAIN.fullmatch(value):
        return f"{name}={value}\n"
    quoted = _SPECIAL.sub(r"\\\1", value)
    return f'{name}="{quoted}"\n'
