"""The resources that a manifest declares by its lines, and the references to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from reactor.lsp.outline import ITEM, Outline, Scalar, plain
from reactor.lsp.schema import DEFAULTS, kind_and_rest, property_path

REFERENCES = ("require", "subscribe", "after")
"""The properties whose values are references."""
_OUTPUT = re.compile(r"""\boutput\(\s*["'`]([^"'`#]+#[^"'`]+)["'`]""")
_PLAIN_NAME = re.compile(r"[\w/.+@~][\w/.+@~ -]*(?<! )")
_NOT_STRINGS = re.compile(r"~|null|true|false|[-+.]?\d.*|\.(inf|nan)", re.IGNORECASE)


class Span(NamedTuple):
    """A part of a line: columns ``[start, end)``, counted from 0."""

    line: int
    start: int
    end: int


class Name(NamedTuple):
    """The name or alias of a resource: its reference, and the place of the name without quotes."""

    ref: str
    span: Span


def declared(outline: Outline) -> Iterator[Name]:
    """Yield the names and aliases of all resources, in order."""
    for each in outline.scalars:
        if (within := kind_and_rest(each.path)) is None:
            continue
        kind, rest = within
        if rest[:1] == (ITEM,):
            is_name = rest[1:] == (plain(each.text),) and each.is_key and rest[1] != DEFAULTS
        else:
            is_name = rest == ("name",) and not each.is_key
        if is_name or (property_path(rest) == ("alias",) and not each.is_key):
            yield Name(f"{kind}#{plain(each.text)}", _unquoted(each))


def references(outline: Outline) -> Iterator[Name]:
    """Yield all references, in order. The span is that of the name after ``#``."""
    for each in outline.scalars:
        if each.is_key:
            continue
        if is_reference(each):
            span, text = _unquoted(each), plain(each.text)
            kind, hash_mark, _ = text.partition("#")
            if hash_mark:
                yield Name(text, span._replace(start=span.start + len(kind) + 1))
        elif "output(" in each.text:
            for found in _OUTPUT.finditer(each.text):
                start = each.start + found.start(1) + found[1].index("#") + 1
                yield Name(found[1], Span(each.line, start, each.start + found.end(1)))


def is_reference(scalar: Scalar) -> bool:
    """Whether a value is a reference to a resource."""
    within = kind_and_rest(scalar.path)
    return within is not None and property_path(within[1])[:1] in [(each,) for each in REFERENCES]


def name_at(outline: Outline, line: int, column: int) -> Name | None:
    """Return the name or the reference at a position. On a reference, its kind counts too."""
    for each in declared(outline):
        if each.span.line == line and each.span.start <= column <= each.span.end:
            return each
    for each in references(outline):
        first = each.span.start - each.ref.index("#") - 1
        if each.span.line == line and first <= column <= each.span.end:
            return each
    return None


def rename_problem(name: str) -> str | None:
    """Return why ``name`` can't be written in place of another name; None if it can, with and without quotes."""
    if not _PLAIN_NAME.fullmatch(name) or _NOT_STRINGS.fullmatch(name):
        return "the new name needs quotes in YAML, so write it by hand"
    return None


def _unquoted(scalar: Scalar) -> Span:
    quoted = scalar.text[:1] in ("'", '"') and len(scalar.text) > 1
    return Span(scalar.line, scalar.start + quoted, scalar.end - quoted)
