"""Renders one template of a tree: it can call ``render`` for partials of the tree, and ``write`` for further files."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from reactor.language.templates.budget import current_budget
from reactor.language.templates.calls import Functions
from reactor.language.templates.engine import Delimiters, Engine
from reactor.language.templates.missing_values import MissingValues


class Sources(Protocol):
    """The source of the other templates and the functions."""

    @property
    def functions(self) -> Functions:
        """The functions that templates may call."""

    def load(self, name: str) -> str | None:
        """Return the source of a template of the tree; None when there is none."""


class Tree:
    """One rendering. ``used`` are the paths that it loaded, also missing ones; ``written`` are further files."""

    def __init__(
        self,
        engine: Engine,
        delimiters: Delimiters | None,
        sources: Sources,
        context: Mapping[str, Any],
        missing: MissingValues | None = None,
    ) -> None:
        self._engine = engine
        self._delimiters = delimiters
        self._sources = sources
        self._context = context
        self._missing = missing
        self._functions: dict[str, Callable[..., Any]] = {
            **sources.functions,
            "render": self._render_partial,
            "write": self._write,
        }
        self.used: set[str] = set()
        self.written: dict[str, str] = {}

    def render(self, name: str, source: str) -> str:
        """Return the rendered text of the template ``source`` at the path ``name``. Raises TemplateError."""
        return self._render(name, source, self._context)

    def _render(self, name: str, source: str, context: Mapping[str, Any]) -> str:
        compiled = self._engine.compile(source, name=name, delimiters=self._delimiters, loader=self._load)
        return compiled.render(context, self._functions, self._missing)

    def _load(self, name: str) -> str | None:
        path = posixpath.normpath(name)
        self.used.add(path)
        return self._sources.load(path)

    def _render_partial(self, name: str, data: Any) -> str:
        """``render(partial, data)``: another template of the tree.

        A map is merged over the context; any other value becomes ``.`` and ``data``.
        """
        source = self._load(name)
        if source is None:
            raise ValueError(f"there is no template {name} in the tree")
        given = data if isinstance(data, Mapping) else {".": data, "data": data}
        return self._render(posixpath.normpath(name), source, {**self._context, **given})

    def _write(self, name: str, content: str) -> str:
        """``write(path, content)``: one more file below the target."""
        path = posixpath.normpath(name)
        if path.startswith(("/", "../")) or path in ("..", "."):
            raise ValueError(f"{name} is not inside the target")
        current_budget().charge_characters(len(content))
        self.written[path] = content
        return ""
