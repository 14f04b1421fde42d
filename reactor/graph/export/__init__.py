"""Exports the graph: text for Graphviz and Mermaid, JSON, SVG, one HTML page, PNG.

- formats: ``dot``, ``mermaid``, ``json_graph``, ``svg``, ``png``, ``html``;
- what they share: ``picture``: vertices and edges; ``folds``: groups many in one box; ``layout``: places the boxes;
  ``routes``: leads the edges between them; ``colours``: of states, edges and pages.

Each format is a module with ``render(graph, states=None)``; the same graph and states give the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from reactor.graph.graph import Graph

_MODULES = {
    "dot": "dot",
    "mermaid": "mermaid",
    "json": "json_graph",
    "svg": "svg",
    "png": "png",
    "html": "html",
}

FORMATS = tuple(_MODULES)
"""The names of all formats."""


def export(graph: Graph, form: str, states: Mapping[str, str] | None = None) -> str | bytes:
    """``graph`` in one of `FORMATS`: bytes for ``png``, a string for all others.

    ``states`` maps each ref to one of `reactor.graph.export.picture.STATES`. Raises KeyError for another format, and
    `reactor.graph.export.png.GraphvizError` when ``png`` can't be made.
    """
    rendered: str | bytes = import_module(f"{__name__}.{_MODULES[form]}").render(graph, states)
    return rendered
