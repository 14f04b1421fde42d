"""The engine for Go templates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from reactor.language.errors import Fault, located
from reactor.language.foreign_names import go_function_meant
from reactor.language.templates.budget import Limits, limited
from reactor.language.templates.calls import Functions
from reactor.language.templates.engine import Delimiters, Loader
from reactor.language.templates.go.evaluator import LOGIC
from reactor.language.templates.go.functions import FUNCTIONS
from reactor.language.templates.go.nodes import Tree
from reactor.language.templates.go.parser import parse
from reactor.language.templates.go.renderer import Definition, Run
from reactor.language.templates.literals import quote
from reactor.language.templates.missing_values import MissingValues
from reactor.language.templates.parse_cache import ParsedTemplate, parse_cached
from reactor.suggestions import closest

DEFAULT_DELIMITERS = ("{{", "}}")


class _Templates:
    """The templates that one rendering can call: those defined in its sources, and those from the loader."""

    def __init__(self, functions: Functions, delimiters: Delimiters, loader: Loader) -> None:
        self._functions = functions
        self._delimiters = delimiters
        self._loader = loader
        self._known: dict[str, Definition] = {}

    def add(self, name: str, tree: Tree) -> None:
        """Add the templates that ``tree`` defines. Raises TemplateError if it calls an unknown function."""
        for function, offset in tree.functions.items():
            if function not in self._functions and function not in LOGIC:
                raise located(_not_defined(function, self._functions), name, tree.source, offset)
        for defined, body in tree.defined.items():
            self._known.setdefault(defined, (name, tree.source, body))
        self._known.setdefault(name, (name, tree.source, tree.root))

    def __call__(self, name: str) -> Definition | None:
        if name not in self._known:
            source = self._loader(name)
            if source is None:
                return None
            self.add(name, parse_cached(parse, source, name, self._delimiters))
        return self._known[name]


def _not_defined(function: str, known: Iterable[str]) -> Fault:
    hint = go_function_meant(function)
    if hint is None:
        near = closest(function, known)
        hint = f"did you mean {near}?" if near else ""
    return Fault(f"function {quote(function)} not defined", hint)


class GoTemplate(ParsedTemplate[Tree]):
    """One compiled Go template."""

    def render(
        self, context: Mapping[str, Any], functions: Functions, missing: MissingValues | None = None
    ) -> str:
        """Return the rendered text. Raises TemplateError."""
        all_functions = {**FUNCTIONS, **functions}
        templates = _Templates(all_functions, self.delimiters, self.loader)
        templates.add(self.name, self.tree)
        with limited(self.limits) as budget:
            run = Run(all_functions, templates, budget, missing or MissingValues())
            return run.render((self.name, self.tree.source, self.tree.root), context.get(".", context))


class GoEngine:
    """Compiles Go templates."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def compile(self, source: str, *, name: str, delimiters: Delimiters | None, loader: Loader) -> GoTemplate:
        """Compile ``source``. Raises TemplateError."""
        chosen = delimiters or DEFAULT_DELIMITERS
        return GoTemplate(name, parse_cached(parse, source, name, chosen), chosen, loader, self._limits)
