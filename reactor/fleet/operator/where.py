"""Chooses hosts by an expression: ``web*``, ``group:eu``, ``failed``, ``serial<42``, ``facts.os == 'debian'``.

Terms are joined with ``and``, ``or``, ``not`` and parentheses. A term is a word for a phase, ``WORD:PATTERN``, a
comparison, or else a pattern for the name of a host. A comparison with a value that a host does not report is false.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, NoReturn

from reactor.errors import ReactorError
from reactor.fleet.operator.known_hosts import NEVER_HEARD, WELL, HostLine, KnownHost
from reactor.fleet.rollout.hosts import HostPhase

_TOKEN = re.compile(
    r"""\s*(?:(?P<quoted>'[^']*'|"[^"]*")|(?P<sign>==|!=|<=|>=|<|>|\(|\))|(?P<word>[^\s()<>=!'"]+))"""
)
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_PHASES = frozenset((*HostPhase, "silent"))
_WORDS: dict[str, Callable[[KnownHost, HostLine], bool]] = {
    **{each: lambda _, line, phase=each: line.phase == phase for each in sorted(_PHASES)},  # type: ignore[misc]
    "unheard": lambda _, line: line.phase == NEVER_HEARD,
    "well": lambda _, line: line.phase in WELL,
    "pinned": lambda host, line: line.channel in host.spec.pins,
    "in-wave": lambda _, line: line.in_wave,
}
_PATTERNS: dict[str, Callable[[KnownHost, HostLine], tuple[str, ...]]] = {
    "host": lambda host, _: (host.name,),
    "group": lambda host, _: host.spec.groups,
    "channel": lambda _, line: (line.channel,),
    "phase": lambda _, line: (line.phase,),
}
_COUNTS = ("resources", "ok", "changed", "blocked")
_VALUES: dict[str, Callable[[KnownHost, HostLine], Any]] = {
    "serial": lambda _, line: line.serial or None,
    "rank": lambda _, line: line.rank,
    "reactor": lambda host, _: host.summary.reactor if host.summary else None,
    **{
        each: lambda host, _, name=each: getattr(host.summary.engine, name) if host.summary else None  # type: ignore[misc]
        for each in _COUNTS
    },
}
_JOINING = ("and", "or", "not")
HINT = "write web*, group:eu, channel:web, failed, silent, serial<42 or \"facts.os == 'debian'\"; join them with and, or, not"

Predicate = Callable[[KnownHost, HostLine], bool]


class WhereError(ReactorError):
    """An expression that chooses hosts can't be read."""

    code = "R1020"


class _Token(NamedTuple):
    sort: str
    text: str


def parse_where(text: str) -> Predicate:
    """Return the function that decides whether a host in a channel is chosen. Raises WhereError."""
    return _Parser(text).whole()


def everything(_host: KnownHost, _line: HostLine) -> bool:
    """Choose all hosts."""
    return True


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(self._split(text))
        self._next = 0

    def _split(self, text: str) -> Iterator[_Token]:
        place, text = 0, text.rstrip()
        while place < len(text):
            found = _TOKEN.match(text, place)
            if found is None:
                self._refuse(f"{text[place:].strip()!r} can't be read")
            sort = str(found.lastgroup)
            yield _Token(sort, found[sort])
            place = found.end()

    def whole(self) -> Predicate:
        """The expression with nothing after it."""
        found = self._either()
        if self._next < len(self._tokens):
            self._refuse(f"{self._tokens[self._next].text!r} is not expected there")
        return found

    def _either(self) -> Predicate:
        found = [self._both()]
        while self._takes("or"):
            found.append(self._both())
        return found[0] if len(found) == 1 else lambda host, line: any(each(host, line) for each in found)

    def _both(self) -> Predicate:
        found = [self._one()]
        while self._takes("and"):
            found.append(self._one())
        return found[0] if len(found) == 1 else lambda host, line: all(each(host, line) for each in found)

    def _one(self) -> Predicate:
        if self._takes("not"):
            inner = self._one()
            return lambda host, line: not inner(host, line)
        if self._takes("("):
            inner = self._either()
            if not self._takes(")"):
                self._refuse("a parenthesis is not closed")
            return inner
        return self._term()

    def _term(self) -> Predicate:
        token = self._take("a term is missing")
        if token.sort == "sign" or token.text in _JOINING:
            self._refuse(f"{token.text!r} is not expected there")
        if self._next < len(self._tokens) and (sign := self._tokens[self._next].text) in _COMPARE:
            self._next += 1
            return self._comparison(token.text, sign, self._take(f"a value is missing after {sign}"))
        if token.sort == "quoted":
            return _matches("host", token.text[1:-1])
        name, colon, pattern = token.text.partition(":")
        if colon:
            if name not in _PATTERNS or not pattern:
                self._refuse(f"{token.text!r} is not one of {', '.join(f'{each}:' for each in _PATTERNS)}")
            return _matches(name, pattern)
        return _WORDS[name] if name in _WORDS else _matches("host", name)

    def _comparison(self, name: str, sign: str, value: _Token) -> Predicate:
        read = _fact(name.split(".")[1:]) if name.startswith("facts.") else _VALUES.get(name)
        if read is None or value.sort == "sign":
            known = ", ".join((*_VALUES, "facts.NAME"))
            self._refuse(
                f"{name!r} is not a value of a host" if read is None else "a value is missing", known
            )
        wanted, compare = _value(value), _COMPARE[sign]

        def is_chosen(host: KnownHost, line: HostLine) -> bool:
            found = read(host, line)
            if found is None or (
                sign not in ("==", "!=") and isinstance(found, str) != isinstance(wanted, str)
            ):
                return False
            return compare(found, wanted)

        return is_chosen

    def _takes(self, text: str) -> bool:
        if self._next < len(self._tokens) and self._tokens[self._next] in (
            _Token("word", text),
            _Token("sign", text),
        ):
            self._next += 1
            return True
        return False

    def _take(self, missing: str) -> _Token:
        if self._next >= len(self._tokens):
            self._refuse(missing)
        self._next += 1
        return self._tokens[self._next - 1]

    def _refuse(self, words: str, known: str = "") -> NoReturn:
        raise WhereError(f"{self._text!r}: {words}", f"the values are {known}" if known else HINT)


def _matches(sort: str, pattern: str) -> Predicate:
    read = _PATTERNS[sort]
    return lambda host, line: any(fnmatchcase(each, pattern) for each in read(host, line))


def _fact(path: list[str]) -> Callable[[KnownHost, HostLine], Any]:
    def read(host: KnownHost, _line: HostLine) -> Any:
        found: Any = host.summary.facts if host.summary else None
        if isinstance(found, dict) and ".".join(path) in found:
            return found[".".join(path)]
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        return found

    return read


def _value(token: _Token) -> Any:
    if token.sort == "quoted":
        return token.text[1:-1]
    if token.text in ("true", "false"):
        return token.text == "true"
    for kind in (int, float):
        try:
            return kind(token.text)
        except ValueError:
            continue
    return token.text
