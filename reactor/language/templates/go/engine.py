"""The engine for Go templates."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from reactor.language.errors import Fault, TemplateError, TemplateSourceError, line_and_column, located
from reactor.language.foreign_names import go_function_meant
from reactor.language.templates.budget import Limits, limited
from reactor.language.templates.calls import Functions
from reactor.language.templates.engine import Delimiters, Loader, Reference
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
        for error in _unknown_functions(name, tree, self._functions):
            raise error
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
        hint = (
            f"did you mean {near}?" if near else "the functions are those of text/template, and most of sprig"
        )
    return Fault(f"function {quote(function)} not defined", hint)


def _unknown_functions(name: str, tree: Tree, known: Collection[str]) -> Iterator[TemplateError]:
    for function, offset in tree.functions.items():
        if function not in known and function not in LOGIC:
            yield located(_not_defined(function, known), name, tree.source, offset, TemplateSourceError)


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

    def unknown_names(
        self,
        functions: Collection[str],
        variables: Collection[str] | None,  # noqa: ARG002 - as in the protocol
    ) -> Iterator[TemplateError]:
        """Yield an error for each function that it calls and that does not exist. All else is looked up in the data."""
        return _unknown_functions(self.name, self.tree, {*FUNCTIONS, *functions})

    def references(self) -> Iterator[Reference]:
        """Yield the templates that it invokes and does not define."""
        for name, offset in self.tree.templates.items():
            if name not in self.tree.defined and name != self.name:
                yield Reference((name,), *line_and_column(self.tree.source, offset))

    @property
    def defines(self) -> Collection[str]:
        """The names that its ``define`` and ``block`` clauses give."""
        return self.tree.defined.keys()


class GoEngine:
    """Compiles Go templates."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def compile(self, source: str, *, name: str, delimiters: Delimiters | None, loader: Loader) -> GoTemplate:
        """Compile ``source``. Raises TemplateError."""
        chosen = delimiters or DEFAULT_DELIMITERS
        return GoTemplate(name, parse_cached(parse, source, name, chosen), chosen, loader, self._limits)
