"""Makes and removes locales, and keeps /etc/locale.gen, the list of what Debian's `locale-gen` makes."""

from __future__ import annotations

import os
import re
from typing import Final

from reactor.resources.locale.installed import normalized
from reactor.resources.process import ENVIRONMENT, Command, perform, require_startable

LIST: Final = "/etc/locale.gen"
SOURCES: Final = "/usr/share/i18n/locales"
_NAME: Final = re.compile(r"([A-Za-z0-9_]+)(?:\.([A-Za-z0-9-]+))?(?:@([A-Za-z0-9]+))?")
_LINE: Final = re.compile(r"\s*(#?)\s*(\S+)\s+(\S+)\s*")


def parse(name: str) -> tuple[str, str]:
    """The source and the character set of a locale: ``ca_ES.UTF-8@valencia`` is ``ca_ES@valencia`` in ``UTF-8``.

    Raises ValueError.
    """
    match = _NAME.fullmatch(name)
    if match is None or not match[2]:
        raise ValueError(f"{name!r} is not a locale with its character set: write it as in de_AT.UTF-8")
    modifier = f"@{match[3]}" if match[3] else ""
    return f"{match[1]}{modifier}", match[2]


def is_listed(text: str, name: str) -> bool:
    """Whether the list has the locale, and not as a comment."""
    return any(
        found[1] == "" and _is(found, name) for line in text.splitlines() if (found := _LINE.fullmatch(line))
    )


def with_entry(text: str, name: str, *, listed: bool) -> str:
    """The list with the locale, or with it as a comment. All other lines stay."""
    lines, is_done = [], False
    for line in text.splitlines(keepends=True):
        found = _LINE.fullmatch(line.rstrip("\n"))
        if found is None or not _is(found, name):
            lines.append(line)
        elif listed and is_done:
            continue
        else:
            lines.append(f"{'' if listed else '# '}{found[2]} {found[3]}\n")
            is_done = True
    if listed and not is_done:
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        source, charset = parse(name)
        start, at, modifier = source.partition("@")
        lines.append(f"{start}.{charset}{at}{modifier} {charset}\n")
    return "".join(lines)


def _is(found: re.Match[str], name: str) -> bool:
    """Whether a line is of this locale. A line may leave the character set out of the name: ``ca_ES@valencia UTF-8``."""
    source, charset = parse(name)
    start, _, modifier = found[2].partition("@")
    language, _, own = start.partition(".")
    written = f"{language}@{modifier}" if modifier else language
    return written == source and (own or found[3]) == charset


def has_source(name: str) -> bool:
    """Whether the locale can be made here."""
    return os.path.isfile(source_of(name))


def source_of(name: str) -> str:
    """The file that the locale is made from."""
    return f"{SOURCES}/{parse(name)[0]}"


async def require_program() -> None:
    """Raise the ResourceError of a host without localedef."""
    await require_startable(Command(("localedef",), "/", ENVIRONMENT))


async def make(name: str) -> None:
    """Make the locale; takes a second or two. Raises ResourceError."""
    source, charset = parse(name)
    await perform("localedef", "-i", source, "-f", charset, name)


async def remove(name: str) -> None:
    """Take the locale out of the archive. Raises ResourceError."""
    await perform("localedef", "--delete-from-archive", normalized(name))
