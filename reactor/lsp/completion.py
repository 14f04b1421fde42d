"""Completes what is typed: kinds, properties, values, references, and names inside expressions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from reactor.lsp.document import Document
from reactor.lsp.expressions import Inside, expression_before, function_docs, members, roots
from reactor.lsp.outline import Cursor
from reactor.lsp.references import REFERENCES, Span, declared, rename_problem
from reactor.lsp.schema import are_kinds, keys_at, kind_and_rest, property_path, values_at
from reactor.manifest.inputs import Inputs


class Candidate(NamedTuple):
    """One completion: ``text`` replaces ``span``. ``what`` is its sort: kind, property, value, reference and so on.

    ``target`` is the kind and the path of the property whose docs belong to it; ``docs`` are docs that are known.
    """

    label: str
    text: str
    span: Span
    what: str
    target: tuple[str, tuple[str, ...]] | None = None
    detail: str | None = None
    docs: str | None = None


def candidates(document: Document, line: int, column: int, inputs: Inputs) -> list[Candidate]:
    """Return all completions at a position. The editor chooses those that fit what is typed."""
    outline = document.outline
    cursor = outline.at(line, column)
    before = document.lines[line][:column] if line < len(document.lines) else ""
    path, token = (cursor.path, cursor.token) if cursor else ((), "")
    inside = expression_before(before, path, token)
    if inside is not None:
        return [*_in_expression(document, inside, Span(line, 0, column), inputs)]
    if cursor is None:
        return []
    found: list[Candidate] = []
    rest_of_line = document.lines[line][column:] if line < len(document.lines) else ""
    if cursor.may_be_key:
        colon = "" if rest_of_line.lstrip().startswith(":") else ":"
        found += _keys(cursor, Span(line, cursor.start, column), colon)
    if cursor.may_be_value:
        found += _values(document, cursor, Span(line, cursor.start, column))
    return found


def _keys(cursor: Cursor, span: Span, colon: str) -> Iterator[Candidate]:
    path = cursor.path
    if are_kinds(path):
        for kind in keys_at(path):
            yield Candidate(kind, kind + colon, span, "kind", (kind, ()))
        return
    within = kind_and_rest(path)
    for key in keys_at(path):
        target = (within[0], (*property_path(within[1]), key)) if within else None
        yield Candidate(key, f"{key}{colon and ': '}", span, "property" if within else "section", target)


def _values(document: Document, cursor: Cursor, span: Span) -> Iterator[Candidate]:
    quote = cursor.token[:1] if cursor.token[:1] in ("'", '"') else ""
    span = span._replace(start=span.start + len(quote))
    within = kind_and_rest(cursor.path)
    if within and property_path(within[1])[:1] in [(each,) for each in REFERENCES]:
        for ref in _refs(document):
            yield Candidate(ref, ref if quote else _written(ref), span, "reference")
    for value in values_at(cursor.path):
        yield Candidate(value, value, span, "value")


def _refs(document: Document) -> Iterable[str]:
    return dict.fromkeys(name.ref for name in declared(document.outline))


def _written(ref: str) -> str:
    """Return a reference as a value of YAML, in quotes if it needs these."""
    _, _, name = ref.partition("#")
    return json.dumps(ref, ensure_ascii=False) if rename_problem(name) and not name.isdigit() else ref


def _in_expression(document: Document, inside: Inside, span: Span, inputs: Inputs) -> Iterator[Candidate]:
    end = span.end
    if (begun := inside.reference) is not None:
        for ref in _refs(document):
            yield Candidate(ref, ref, span._replace(start=end - len(begun)), "reference")
        return
    *above, last = inside.word.split(".")
    span = span._replace(start=end - len(last))
    if above:
        for name in members(tuple(above), document.outline, inputs, document.data):
            if name.isidentifier():
                yield Candidate(name, name, span, "key")
        return
    for name in roots(document.outline):
        yield Candidate(name, name, span, "root")
    for name, (call, what) in function_docs().items():
        yield Candidate(name, name, span, "function", detail=call, docs=what)
