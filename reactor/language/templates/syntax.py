"""What the lexers and trees of Go's templates and of Jet have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

SPACES: Final = " \t\r\n"
UNTERMINATED: Final[Mapping[str, str]] = {
    '"': "unterminated quoted string",
    "`": "unterminated raw quoted string",
    "'": "unterminated character constant",
}


class Token(NamedTuple):
    """One token: what it is, its text and where it starts."""

    kind: str
    text: str
    offset: int


@dataclass(slots=True)
class Node:
    """One part of a template. It knows its offset in the source, for errors."""

    offset: int


@dataclass(slots=True)
class Text(Node):
    """What stands outside of actions."""

    text: str


@dataclass(slots=True)
class Literal(Node):
    """A text, a number, ``true`` or ``false``; ``source`` is how it was written."""

    value: Any
    source: str


def trims(source: str, inside: int) -> bool:
    """Whether the action whose inside starts at ``inside`` trims the text before it: ``- ``."""
    return source.startswith("-", inside) and source[inside + 1 : inside + 2] in tuple(SPACES)


def trims_after(closing: str, right: str) -> bool:
    """Whether the end of an action, as it was found, trims the text after it: `` -``."""
    return closing != right and closing.endswith(right)


def character_name(character: str) -> str:
    """A character with its number, for errors."""
    name = f"U+{ord(character):04X}"
    return f"{name} '{character}'" if character.isprintable() else name
