"""The docs of what is under the cursor: a kind, a property or a function."""

from __future__ import annotations

import re
from typing import NamedTuple

from reactor.lsp.document import Document
from reactor.lsp.expressions import expression_before, function_docs
from reactor.lsp.outline import Scalar, plain
from reactor.lsp.references import Span
from reactor.lsp.schema import DEFAULTS, are_kinds, kind_and_rest, kind_docs, property_docs, property_path
from reactor.resource.registry import kind_names

_NAME = re.compile(r"[A-Za-z_]\w*")


class Docs(NamedTuple):
    """The docs, in Markdown, of the part of the text at ``span``."""

    text: str
    span: Span


def docs_at(document: Document, line: int, column: int) -> Docs | None:
    """Return the docs of what is at a position; None if there are none."""
    if line >= len(document.lines):
        return None
    text = document.lines[line]
    for found in _NAME.finditer(text):
        if found.start() <= column < found.end():
            cursor = document.outline.at(line, found.start())
            path, token = (cursor.path, cursor.token) if cursor else ((), "")
            docs = function_docs().get(found[0])
            if docs and expression_before(text[: found.start()], path, token):
                return Docs(f"```\n{docs[0]}\n```\n{docs[1]}", Span(line, *found.span()))
    scalar = document.outline.scalar_at(line, column)
    return _of_key(scalar) if scalar is not None and scalar.is_key else None


def docs_of(kind: str, path: tuple[str, ...]) -> str | None:
    """Return the docs of a kind, or of the property of it at ``path``, in Markdown."""
    if kind not in kind_names():
        return None
    found = property_docs(kind, path) if path else kind_docs(kind)
    return found.replace("``", "`") if found else None


def _of_key(key: Scalar) -> Docs | None:
    within = kind_and_rest(key.path)
    if within is None:
        return None
    kind, rest = within
    path = property_path(rest)
    is_kind = are_kinds(key.path[:-1])
    if not is_kind and (not path or path == (DEFAULTS,)):
        return None  # the name of a resource
    text = docs_of(kind, () if is_kind else path)
    title = f"**{plain(key.text)}**"
    return Docs(f"{title}\n\n{text}", Span(key.line, key.start, key.end)) if text else None
