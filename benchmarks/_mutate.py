"""Breaks manifests at random: the mistakes of people (typing, indentation, names) and of machines (cut, binary)."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

MOST_AT_ONCE = 4
BYTES = [
    "\t",
    "\0",
    "\x07",
    "\ud800",
    "\ufeff",
    "é",
    "\u2028",
    "{",
    "}",
    "[",
    "]",
    ":",
    "#",
    "&a",
    "*a",
    "!!",
    "%",
    "@",
    "`",
    "'",
    '"',
    "|",
    ">",
]
VALUES = [
    "[]",
    "{}",
    "null",
    "true",
    "-1",
    "0777",
    "1e400",
    "''",
    "[1, {a: b}]",
    "~",
    "!!python/object:os.system x",
    "&x [*x]",
    "{{ a }}",
]
LINES = [
    "unknown: 1",
    "resources: []",
    "<<: *nowhere",
    "---",
    "...",
    "- file: {name: /x}",
    "- file: {name: x, ensure: present}",
    "- service#x: {}",
    "- exec:",
    "a: &a [x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nc: [*b, *b, *b, *b, *b, *b, *b, *b]",
    "deep: " + "[" * 300 + "]" * 300,
]

Mutation = Callable[[str, random.Random], str]


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True) or [""]


def _cut(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text) + 1)]


def _drop_some(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + text[at + rng.randint(1, 5) :]


def _insert_byte(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(BYTES) + text[at:]


def _drop_line(text: str, rng: random.Random) -> str:
    lines = _lines(text)
    del lines[rng.randrange(len(lines))]
    return "".join(lines)


def _repeat_line(text: str, rng: random.Random) -> str:
    lines = _lines(text)
    lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    return "".join(lines)


def _swap_lines(text: str, rng: random.Random) -> str:
    lines = _lines(text)
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return "".join(lines)


def _indent(text: str, rng: random.Random) -> str:
    lines = _lines(text)
    at = rng.randrange(len(lines))
    lines[at] = " " * rng.randint(1, 4) + lines[at] if rng.random() < 0.5 else lines[at][rng.randint(1, 4) :]
    return "".join(lines)


def _insert_line(text: str, rng: random.Random) -> str:
    lines = _lines(text)
    at = rng.randrange(len(lines))
    lines.insert(at, " " * rng.randrange(0, 9, 2) + rng.choice(LINES) + "\n")
    return "".join(lines)


def _change_value(text: str, rng: random.Random) -> str:
    lines = _lines(text)
    at = rng.randrange(len(lines))
    lines[at] = re.sub(r":.*", lambda _: ": " + rng.choice(VALUES), lines[at], count=1)
    return "".join(lines)


def _misspell(text: str, rng: random.Random) -> str:
    words = list(re.finditer(r"[a-z_]{3,}", text))
    if not words:
        return text + "x"
    word = rng.choice(words)
    at = rng.randrange(word.start(), word.end())
    return text[:at] + rng.choice("abcxyz_") + text[at + 1 :]


def _swap_words(text: str, rng: random.Random) -> str:
    words = list(re.finditer(r"[\w#/.]{3,}", text))
    if not words:
        return text + "x"
    one, other = rng.choice(words), rng.choice(words)
    return text[: one.start()] + other.group() + text[one.end() :]


MUTATIONS: tuple[Mutation, ...] = (
    _cut,
    _drop_some,
    _insert_byte,
    _drop_line,
    _repeat_line,
    _swap_lines,
    _indent,
    _insert_line,
    _change_value,
    _misspell,
    _swap_words,
)


def mutated(text: str, rng: random.Random) -> bytes:
    """``text`` after one to four random changes. The result need not be UTF-8, and may still be valid."""
    for _ in range(rng.randint(1, MOST_AT_ONCE)):
        text = rng.choice(MUTATIONS)(text, rng)
    return text.encode("utf-8", "surrogatepass")
