"""Secret strings, the rule by which secrecy spreads, and which parts of a result depend on secrets.

An evaluation is tainted as a whole, or not at all. The strings in the result of a tainted evaluation are
``SecretText``. An evaluation is tainted in two cases:

- It may read a path that the scope declares secret, a path inside one, or a container that has one. Only the source of
  the expression decides this, before it runs (see ``paths_read`` in ``expression.analysis``): a branch that is not
  taken counts, and a computed key counts as every key.
- While it runs, it gets a ``SecretText`` from a root, a function or a list; or an operator, a builtin or the result
  uses a whole container that has one.

So it may taint too much, but never too little: ``toJSON(Data)`` and ``let d = Data; d.port`` are secret when anything
in ``Data`` is, but ``Data.port`` is not. A tainted number becomes ``SecretText`` too. True, false and nil are not
changed: one bit can't be masked by searching for it. The error of a tainted evaluation keeps its place, but loses its
message, because messages quote values.

To find the part of a tainted result that depends on secrets, the expression is evaluated again with other secrets of
the same shape. The parts that both results share are public; the parts that differ were made from a secret.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from reactor.language.values import to_string


class SecretText(str):
    """A string that no log, event or error may show. ``repr`` does not show it either."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<secret>"


def holds_secret(value: Any) -> bool:
    """Whether ``value`` is secret, or contains a secret."""
    if isinstance(value, (dict, list)):
        return any(map(holds_secret, dict.values(value) if isinstance(value, dict) else value))
    return isinstance(value, SecretText)


def paths_of_secrets(values: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """The paths of the secrets in ``values``. A list that contains a secret is secret as a whole."""
    return paths_holding(values, holds_secret)


def paths_holding(values: dict[str, Any], holds: Callable[[Any], bool]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the values for which ``holds`` is true. A list is one value."""
    for key, value in dict.items(values):
        if isinstance(value, dict):
            yield from ((key, *path) for path in paths_holding(value, holds))
        elif holds(value):
            yield (key,)


_FEW = 4
"""Fewer equal characters than this, between or beside different ones, are a coincidence, not public text."""


def _cycle(characters: str) -> dict[int, str]:
    """Map each character to the farthest other one, so that encodings of the two also have little in common."""
    half = len(characters) // 2
    return {
        ord(one): other for one, other in zip(characters, characters[half:] + characters[:half], strict=True)
    }


_CYCLES = ("0123456789", "abcdef", "ghijklmnopqrstuvwxyz", "ABCDEF", "GHIJKLMNOPQRSTUVWXYZ")
_WORDS = {code: other for cycle in _CYCLES for code, other in _cycle(cycle).items()}
_ALL = _WORDS | _cycle(string.punctuation)


def scrambled(value: Any, marked: Callable[[str], str] | None = None) -> Any:
    """Return a value of the same shape, with every letter and digit in strings and numbers replaced by another one.

    For a string made from a secret, ``marked`` returns the replacement: some of the string may not be secret.
    """
    if isinstance(value, Mapping):
        return {key: scrambled(item, marked) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [scrambled(item, marked) for item in value]
    if isinstance(value, SecretText) and marked is not None:
        other = marked(value)
        return other if other != value else _other(value)
    if value is None or isinstance(value, bool):
        return value
    return _other_number(value) if isinstance(value, (int, float)) else _other(str(value))


def scramble_paths(
    names: Mapping[str, Any], secrets: Iterable[tuple[str, ...]], marked: Callable[[str], str]
) -> dict[str, Any]:
    """Return ``names`` with a scrambled value at each of the paths ``secrets``."""
    return replace_paths(names, secrets, partial(scrambled, marked=marked))


def replace_paths(
    names: Mapping[str, Any], secrets: Iterable[tuple[str, ...]], replace: Callable[[Any], Any]
) -> dict[str, Any]:
    """Return ``names`` with another value at each of the paths ``secrets``: what ``replace`` makes of the present one."""
    found = dict(names)
    for root in {path[0] for path in secrets}:
        found[root] = _copied(found[root])
    for *way, last in secrets:
        holder: Any = found
        for key in way:
            holder = holder.get(key) if isinstance(holder, dict) else None
        if isinstance(holder, dict) and last in holder:
            holder[last] = replace(holder[last])
    return found


def with_unrelated(names: Mapping[str, Any], secrets: Iterable[tuple[str, ...]]) -> dict[str, Any] | None:
    """Return ``names`` with an unrelated value at each of the paths ``secrets``; None if one of them can't be replaced.

    What is made alike from both does not depend on the secrets. Unlike scrambled ones, these are of no use: what fails with
    them depends on the secrets, too.
    """
    secrets = [*secrets]
    found = replace_paths(names, secrets, _unrelated)
    has_same = any(_at(found, path) is not None and _at(found, path) == _at(names, path) for path in secrets)
    return None if has_same else found


def _at(names: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        names = names.get(key) if isinstance(names, Mapping) else None
    return names


def _unrelated(value: Any) -> Any:
    """A value of the same form, of which nothing is as in ``value``: no character, no length, no number."""
    if isinstance(value, Mapping):
        return {key: _unrelated(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_unrelated(item) for item in value]
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return 8 if value == 7 else 7  # noqa: PLR2004 - any two numbers
    return "".join("y" if each == "x" else "x" for each in str(value)) + "x"


def differing(value: Any, other: Any, *, named: bool = False) -> Iterator[str]:
    """Yield the strings in ``value`` that are not in ``other``, which is the result with other secrets.

    Of a string, yield the parts that differ; but the whole if it is ``named``, not computed, and scrambled as a whole.
    """
    if isinstance(value, dict) and isinstance(other, dict) and value.keys() == other.keys():
        for key, item in value.items():
            yield from differing(item, other[key], named=named)
    elif isinstance(value, list) and isinstance(other, list) and len(value) == len(other):
        for one, another in zip(value, other, strict=True):
            yield from differing(one, another, named=named)
    elif isinstance(value, str) and isinstance(other, str) and not (named and other == _other(str(value))):
        yield from _in_lines(value.split("\n"), other.split("\n"))
    elif type(value) is not type(other) or value != other:
        yield from all_strings(value)


def all_strings(value: Any) -> Iterator[str]:
    """Yield every string and number in ``value``, as a string."""
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from all_strings(item)
    elif value is not None and not isinstance(value, bool):
        yield to_string(value)


def _other_number(value: float) -> float:
    if isinstance(value, float):
        return value * 1.375 + 1
    digits = str(abs(value)).translate(_WORDS)
    return int(f"7{digits[1:]}" if digits[0] == "0" else digits) * (-1 if value < 0 else 1)


def _other(word: str) -> str:
    plain = sum(character.isascii() and character.isalnum() for character in word)
    shifted = word.translate(_WORDS if plain >= _FEW else _ALL)
    return "".join(character if character.isascii() else "x" for character in shifted)


def _copied(value: Any) -> Any:
    """Return a copy, of what is known of a map."""
    return {key: _copied(item) for key, item in dict.items(value)} if isinstance(value, dict) else value


def _in_lines(lines: list[str], others: list[str]) -> Iterator[str]:
    if len(lines) == len(others):
        for line, other in zip(lines, others, strict=True):
            if line != other:
                yield from _in_line(line, other)
    else:
        known = set(others)
        yield from (line for line in lines if line not in known)


def _in_line(line: str, other: str) -> Iterator[str]:
    """Yield the parts that differ, and these parts with the few characters around them that may be equal by chance."""
    if len(line) == len(other):
        places = [at for at, (one, another) in enumerate(zip(line, other, strict=True)) if one != another]
        spans = list(_runs(places, 1))
        wide = list(_runs(places, _FEW))
        if any(end - start < _FEW for start, end in wide):
            wide = [(places[0], places[-1] + 1)]
    else:
        spans, wide = [], [_middle(line, other)]
    wide += [_widened(line, *span) for span in wide]
    long_enough = (span for span in spans if span[1] - span[0] >= _FEW)
    yield from {line[start:end] for start, end in (*long_enough, *wide)}


def _runs(places: list[int], gap: int) -> Iterator[tuple[int, int]]:
    """Yield the spans in which neighbouring ``places`` are at most ``gap`` apart."""
    start = previous = places[0]
    for at in places[1:]:
        if at - previous > gap:
            yield start, previous + 1
            start = at
        previous = at
    yield start, previous + 1


def _middle(line: str, other: str) -> tuple[int, int]:
    """Return the span of ``line`` between the beginning and the end that both lines share."""
    most = min(len(line), len(other))
    start = next((at for at in range(most) if line[at] != other[at]), most)
    alike = next((at for at in range(most - start) if line[-1 - at] != other[-1 - at]), most - start)
    return start, len(line) - alike


def _widened(line: str, start: int, end: int) -> tuple[int, int]:
    """Return the span, extended to the ends of the word if these are near."""
    before = next((n for n in range(_FEW) if start - n == 0 or not line[start - n - 1].isalnum()), 0)
    after = next((n for n in range(_FEW) if end + n == len(line) or not line[end + n].isalnum()), 0)
    return start - before, end + after
