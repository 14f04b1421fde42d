"""Completion and docs inside expressions: data, facts, parameters, the environment and functions."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from reactor.lsp.outline import ITEM, Outline, Path, plain
from reactor.manifest.inputs import Inputs
from reactor.manifest.parameters import ROOT as PARAMETERS

_EXPRESSIONS = ("if", "unless", "assert")
"""The keys whose whole value is an expression."""
_SECTIONS = {PARAMETERS: "parameters", "Secrets": "secrets"}
"""The roots that a manifest has if it has the section, whose keys they have."""
_LOOP_NAMES = ("item", "key", "subitem", "subkey")
_UNITS = ("KiB", "MiB", "GiB", "TiB")
_WORD = re.compile(r"[A-Za-z_][\w.]*\Z|\Z")
_OUTPUT = re.compile(r"""\boutput\(\s*(["'`])([^"'`]*)\Z""")


class Inside(NamedTuple):
    """The text of an expression from its opening delimiter to the cursor."""

    text: str

    @property
    def word(self) -> str:
        """The dotted name before the cursor."""
        found = _WORD.search(self.text)
        return found[0] if found else ""

    @property
    def reference(self) -> str | None:
        """The beginning of a reference in ``output("``; None outside it."""
        found = _OUTPUT.search(self.text)
        return found[2] if found else None


def expression_before(line: str, path: Path, token: str) -> Inside | None:
    """Return the expression that is open at the end of ``line``, whose value at ``path`` begins with ``token``."""
    start = max(line.rfind("{{"), line.rfind("${"))
    if start >= 0:
        inner = line[start + 2 :]
        closed = "}}" in inner if line.startswith("{{", start) else inner.count("}") > inner.count("{")
        if not closed:
            return Inside(inner)
    return Inside(token) if path and path[-1] in _EXPRESSIONS else None


@cache
def function_docs() -> Mapping[str, tuple[str, str]]:
    """Return how each function is called, and what it returns."""
    text = (files("reactor.lsp") / "functions.toml").read_text()
    return {name: (call, what) for name, (call, what) in tomllib.loads(text).items()}


def roots(outline: Outline) -> list[str]:
    """Return the names that an expression can begin with, except functions."""
    sections = [root for root, section in _SECTIONS.items() if any(_keys(outline, (section,)))]
    return ["Data", "Facts", "Environ", *sections, *_UNITS, *_LOOP_NAMES]


def members(path: Path, outline: Outline, inputs: Inputs, data: Mapping[str, Any]) -> list[str]:
    """Return the keys of the map at ``path`` of the roots, for example ``("Data", "web")``.

    ``data`` are those of the last time when the manifest was valid.
    """
    root, *below = path
    found: list[str] = []
    if root == "Data":
        found += _keys(outline, ("data", *below))
        found += _keys_of_overrides(outline, tuple(below))
        for values in (data, inputs.data):
            found += _of_values(values, below)
    elif root in _SECTIONS and not below:
        found += _keys(outline, (_SECTIONS[root],))
    elif root == "Facts":
        found += _of_values(inputs.facts, below)
    elif root == "Environ" and not below:
        found += sorted(inputs.environ)
    return list(dict.fromkeys(found))


def _keys(outline: Outline, above: Path) -> Iterator[str]:
    depth = len(above)
    for each in outline.scalars:
        if each.is_key and len(each.path) == depth + 1 and each.path[:depth] == above:
            yield plain(each.text)


def _keys_of_overrides(outline: Outline, below: Path) -> Iterator[str]:
    for each in outline.scalars:
        path = each.path
        if each.is_key and path[:1] == ("overrides",) and len(path) == len(below) + 3 and path[2:-1] == below:
            yield plain(each.text)


def _of_values(values: Any, below: list[str]) -> Iterator[str]:
    for key in below:
        if not isinstance(values, Mapping) or key not in values or key == ITEM:
            return
        values = values[key]
    if isinstance(values, Mapping):
        yield from (key for key in values if isinstance(key, str))
