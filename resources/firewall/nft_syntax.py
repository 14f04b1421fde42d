"""Checks that text for nft stays within its place: one rule, or declarations in one table."""

from __future__ import annotations

from collections.abc import Iterator

_OPEN_STRING = "a quotation mark is not closed"
_BRACES = "its braces are not balanced"
_FOR_FILES = ("include", "define", "undefine", "redefine")
"""Words that begin no rule."""


def check_rule_text(text: str) -> str:
    """Return ``text`` if it is one rule. Raises ValueError."""
    if "\n" in text or "\r" in text or not text.strip():
        raise ValueError("a raw rule is one line; write each rule as one of its own")
    _check_balance(text)
    if any(mark in (";", "#") for mark in _outside_strings(text)):
        raise ValueError("a raw rule has no ; and no #: write each rule as one of its own")
    if text.split(maxsplit=1)[0] in _FOR_FILES:
        raise ValueError(f"{text.split(maxsplit=1)[0]} begins no rule")
    return text


def check_declarations(text: str) -> str:
    """Return ``text`` if all of it stays in the table. Raises ValueError."""
    _check_balance(text)
    if any(line.split()[:1] == ["include"] for line in text.splitlines()):
        raise ValueError("nothing can be included: write it here")
    return text


def _check_balance(text: str) -> None:
    depth = 0
    if "\0" in text:
        raise ValueError("there is a NUL character in it")
    for mark in _outside_strings(text):
        depth += {"{": 1, "}": -1}.get(mark, 0)
        if depth < 0:
            raise ValueError(_BRACES)
    if depth:
        raise ValueError(_BRACES)


def _outside_strings(text: str) -> Iterator[str]:
    """The characters outside of strings and comments. Raises ValueError for a string that does not end in its line."""
    for line in text.split("\n"):
        is_string = False
        for character in line:
            if character == '"':
                is_string = not is_string
            elif not is_string:
                yield character
                if character == "#":
                    break
        if is_string:
            raise ValueError(_OPEN_STRING)
