"""The outline of a manifest by its lines and indentation, which also works while its YAML is broken."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from itertools import takewhile
from operator import eq
from typing import NamedTuple

ITEM = "-"
"""The step of a path into an item of a list."""

_QUOTED = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')"""
_INDENT = re.compile(r" *(?:- +|-$)*")
_KEY = re.compile(rf"""({_QUOTED}|[^\s#'"{{}}\[\],&*!|>%@`](?:[^#]|(?<!\s)#)*?)\s*:(?=\s|$)""")
_FLOW_TOKEN = re.compile(
    rf"""\s+|(?P<comment>(?<![^\s])\#.*)|(?P<mark>[{{}}\[\],]|:(?=[\s,}}\]]|$))|(?P<scalar>{_QUOTED}|["'].*|(?:[^,{{}}\[\]:]|:(?![\s,}}\]]|$))+)"""
)
_BLOCK_SCALAR = re.compile(r"[|>][-+0-9]*\s*(?:#.*)?$")
_COMMENT = re.compile(r"(?:^|\s)#")
_WHOLE_QUOTED = re.compile(_QUOTED)

Path = tuple[str, ...]


class Scalar(NamedTuple):
    """A key or a value in the text. ``path`` leads to it; the path of a key ends with the key.

    Its text is at the columns ``[start, end)`` of the ``line``, with its quotes. All are counted from 0.
    """

    path: Path
    line: int
    start: int
    end: int
    text: str
    is_key: bool


class State(NamedTuple):
    """What the lines above mean for the next line.

    ``stack`` has the columns and steps of the open maps and lists; ``flow`` those in brackets, which began on a line
    with the indentation ``flow_indent``. ``literal`` is the indentation above a block of text, or -1.
    """

    stack: tuple[tuple[int, str], ...] = ()
    flow: tuple[tuple[str, str], ...] = ()
    flow_indent: int = 0
    literal: int = -1

    @property
    def path(self) -> Path:
        """The path to the innermost open map or list."""
        return (*(step for _, step in self.stack), *(step for _, step in self.flow if step))


class Cursor(NamedTuple):
    """What is at the cursor: ``token`` is the text before it, from the column ``start``.

    ``path`` leads to the map of the key, or to the value. Between dashes and a colon it ``may_be_key``; ``may_be_value``
    says whether it may be a value.
    """

    path: Path
    token: str
    start: int
    may_be_key: bool
    may_be_value: bool


class Outline:
    """The outline of ``text``: all its keys and values, in order.

    ``before`` is that of an earlier version of the text: lines that mean the same as there are not read again.
    """

    def __init__(self, text: str, before: Outline | None = None) -> None:
        self.lines = text.split("\n")
        self._states = [State()]
        self._found: list[tuple[Scalar, ...]] = []
        if before is not None:
            self._take_start(before)
        rest = 0 if before is None else self._same_at_end(before)
        for number in range(len(self._found), len(self.lines)):
            if before is not None and number >= len(self.lines) - rest and self._take_end(before, number):
                break
            state, found = _Line(self._states[-1], number, self.lines[number]).read()
            self._states.append(state)
            self._found.append(found)

    def _take_start(self, before: Outline) -> None:
        """Take the lines up to the first that differs from those of ``before``."""
        same = _count_same(self.lines, before.lines)
        self._states, self._found = before._states[: same + 1], before._found[:same]

    def _same_at_end(self, before: Outline) -> int:
        """Return how many lines at the end are those of ``before``, beside those taken from its start."""
        most = min(len(self.lines), len(before.lines)) - len(self._found)
        return min(most, _count_same(reversed(self.lines), reversed(before.lines)))

    def _take_end(self, before: Outline, number: int) -> bool:
        """Take all lines from ``number`` on from ``before`` if the lines above mean the same there. Return whether they do."""
        shift = len(before.lines) - len(self.lines)
        if self._states[-1] != before._states[number + shift]:
            return False
        self._states += before._states[number + shift + 1 :]
        for found in before._found[number + shift :]:
            self._found.append(
                tuple([each._replace(line=each.line - shift) for each in found]) if shift else found
            )
        return True

    @cached_property
    def scalars(self) -> list[Scalar]:
        """All keys and values, in order."""
        return [each for found in self._found for each in found]

    def at(self, line: int, column: int) -> Cursor | None:
        """Return what is at the cursor; None in a comment and in a block of text."""
        if line >= len(self.lines):
            return None
        return _Line(self._states[line], line, self.lines[line][:column]).cursor()

    def scalar_at(self, line: int, column: int) -> Scalar | None:
        """Return the key or value around a position."""
        found = self._found[line] if line < len(self._found) else ()
        return next((each for each in found if each.start <= column <= each.end), None)


def _count_same(lines: Iterable[str], others: Iterable[str]) -> int:
    """Return how many of the first lines are equal."""
    return sum(takewhile(bool, map(eq, lines, others)))


def plain(text: str) -> str:
    """Return the string that a key or value means, without its quotes."""
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) > 1 and text[0] == text[-1] == '"':
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


class _Line:
    """Reads one line. ``end`` is where the last token begins, for the cursor."""

    def __init__(self, state: State, number: int, text: str) -> None:
        self._number, self._text = number, text
        self._found: list[Scalar] = []
        self._indent = len(text) - len(text.lstrip(" "))
        self._is_blank = not text.strip()
        self._state = state
        self._in_literal = state.literal >= 0 and (self._is_blank or self._indent > state.literal)
        self._token = self._indent
        self._is_after_key = False
        self._is_comment = False

    def read(self) -> tuple[State, tuple[Scalar, ...]]:
        """Return the state for the next line, and the keys and values of this one."""
        if not (self._in_literal or self._is_blank or self._text[self._indent] == "#"):
            self._parse()
        return self._state, tuple(self._found)

    def cursor(self) -> Cursor | None:
        """Return what is at the end of the line, which ends at the cursor."""
        if self._in_literal and not (self._is_blank and len(self._text) <= self._state.literal):
            return None
        if self._is_blank and not self._state.flow:
            stack = _popped(self._state.stack, len(self._text), is_item=False)
            return Cursor(State(stack).path, "", len(self._text), may_be_key=True, may_be_value=True)
        self._parse()
        if self._is_comment:
            return None
        token = self._text[self._token :]
        if self._state.flow:
            path, in_map = self._state.path, self._state.flow[-1][0] == "{"
            may_be_key = in_map and not self._state.flow[-1][1]
            return Cursor(path, token, self._token, may_be_key, not may_be_key)
        return Cursor(self._state.path, token, self._token, not self._is_after_key, may_be_value=True)

    def _parse(self) -> None:
        state = self._state
        if state.flow and (self._is_blank or self._indent > state.flow_indent):
            self._flow(self._indent)
            return
        start = _INDENT.match(self._text)
        column = start.end() if start else 0
        dashes = [at for at in range(self._indent, column) if self._text[at] == "-"]
        stack = _popped(state.stack, dashes[0] if dashes else column, is_item=bool(dashes))
        stack += tuple((at, ITEM) for at in dashes)
        self._state = State(stack)
        self._token = column
        if key := _KEY.match(self._text, column):
            self._state = State((*stack, (column, plain(key[1]))))
            self._add(key.start(1), key.end(1), is_key=True)
            self._is_after_key = True
            rest = key.end()
            column = rest + len(self._text[rest:]) - len(self._text[rest:].lstrip())
            self._token = column
        self._value(column)

    def _value(self, column: int) -> None:
        rest = self._text[column:]
        if rest[:1] == "#":
            self._is_comment = True
        elif rest[:1] in ("{", "["):
            self._state = self._state._replace(flow_indent=self._indent)
            self._flow(column)
        elif _BLOCK_SCALAR.match(rest):
            stack = self._state.stack
            self._state = self._state._replace(literal=stack[-1][0] if stack else self._indent)
        elif rest:
            self._scalar(column)

    def _scalar(self, column: int) -> None:
        """Read the value that begins at ``column``, up to the end of the line or a comment."""
        end = len(self._text)
        if quoted := _WHOLE_QUOTED.match(self._text, column):
            self._add(column, quoted.end(), is_key=False)
            self._is_comment = self._text[quoted.end() :].lstrip().startswith("#")
            return
        if self._text[column] not in "\"'" and (comment := _COMMENT.search(self._text, column)):
            end, self._is_comment = comment.start(), True
        self._add(column, column + len(self._text[column:end].rstrip()), is_key=False)

    def _flow(self, column: int) -> None:
        """Read maps and lists in brackets from ``column`` on."""
        last: tuple[int, int] | None = None
        self._token = column
        while column < len(self._text) and (found := _FLOW_TOKEN.match(self._text, column)):
            column = found.end()
            if found["comment"]:
                self._is_comment = True
                break
            if found["scalar"]:
                last = (found.start(), found.start() + len(found["scalar"].rstrip()))
                self._token = found.start()
            elif found["mark"]:
                self._mark(found["mark"], last)
                last, self._token = None, column
                if not self._state.flow:
                    return
            elif last is None:
                self._token = column
        if last is not None:
            self._end_of_value(last)

    def _mark(self, mark: str, last: tuple[int, int] | None) -> None:
        flow = self._state.flow
        if mark in "{[":
            self._state = self._state._replace(flow=(*flow, (mark, "" if mark == "{" else ITEM)))
        elif mark == ":" and last is not None and flow[-1][0] == "{":
            key = plain(self._text[last[0] : last[1]])
            self._state = self._state._replace(flow=(*flow[:-1], ("{", key)))
            self._add(*last, is_key=True)
        else:
            if last is not None:
                self._end_of_value(last)
            if mark == ",":
                self._state = self._state._replace(
                    flow=(*flow[:-1], (flow[-1][0], "" if flow[-1][0] == "{" else ITEM))
                )
            elif mark in "}]":
                self._state = self._state._replace(flow=flow[:-1])

    def _end_of_value(self, last: tuple[int, int]) -> None:
        if self._state.flow[-1][1]:  # a key without a value is not finished
            self._add(*last, is_key=False)

    def _add(self, start: int, end: int, *, is_key: bool) -> None:
        self._found.append(Scalar(self._state.path, self._number, start, end, self._text[start:end], is_key))


def _popped(stack: tuple[tuple[int, str], ...], column: int, *, is_item: bool) -> tuple[tuple[int, str], ...]:
    """Return what is still open at ``column``. An item may begin at the column of the key that it belongs to."""
    while stack and (
        stack[-1][0] > column or (stack[-1][0] == column and not (is_item and stack[-1][1] != ITEM))
    ):
        stack = stack[:-1]
    return stack
