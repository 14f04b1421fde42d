"""The engine for Jet templates."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from reactor.language.errors import (
    Fault,
    FunctionError,
    TemplateError,
    TemplateSourceError,
    line_and_column,
    located,
)
from reactor.language.templates.budget import Limits, limited
from reactor.language.templates.calls import Functions
from reactor.language.templates.engine import Delimiters, Loader, Reference
from reactor.language.templates.jet.blocks import Defined, Linked, Place
from reactor.language.templates.jet.evaluator import no_such_name
from reactor.language.templates.jet.functions import FUNCTIONS
from reactor.language.templates.jet.nodes import Tree
from reactor.language.templates.jet.parser import parse
from reactor.language.templates.jet.renderer import Run
from reactor.language.templates.missing_values import MissingValues
from reactor.language.templates.parse_cache import ParsedTemplate, parse_cached

DEFAULT_DELIMITERS = ("[[", "]]")
_EXTENSIONS = ("", ".jet", ".html.jet", ".jet.html")


def resolve(name: str, sibling: str) -> str:
    """Return the path of ``name``, which is relative to the directory of ``sibling``, never above the root."""
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(sibling), name)).lstrip("/")


class _Templates:
    """Loads and links the templates of one rendering."""

    def __init__(self, delimiters: Delimiters, loader: Loader) -> None:
        self._delimiters = delimiters
        self._loader = loader
        self._linked: dict[str, Linked] = {}
        self._linking: list[str] = []

    def __call__(self, name: str, sibling: str) -> Linked | None:
        resolved = resolve(name, sibling)
        for extension in _EXTENSIONS:
            found = resolved + extension
            if found in self._linked:
                return self._linked[found]
            source = self._loader(found)
            if source is not None:
                return self.link(found, parse_cached(parse, source, found, self._delimiters))
        return None

    def link(self, name: str, tree: Tree) -> Linked:
        """Link ``tree`` with the templates that it extends and imports. Raises TemplateError."""
        self._linking.append(name)
        root, place = tree.root, Place(name, tree.source)
        blocks: dict[str, Defined] = {}
        if tree.extends is not None:
            base = self._needed(place, *tree.extends)
            root, blocks = base.root, dict(base.blocks)
            root_place = base.place
        else:
            root_place = place
        for imported in tree.imports:
            blocks.update(self._needed(place, *imported).blocks)
        blocks.update((block.name, Defined(block, place)) for block in tree.blocks.values())
        self._linking.pop()
        self._linked[name] = Linked(root, root_place, blocks)
        return self._linked[name]

    def _needed(self, place: Place, name: str, offset: int) -> Linked:
        if resolve(name, place.name) in self._linking:
            fault = Fault(f"template {name} extends or imports itself")
            raise located(fault, *place, offset)
        try:
            found = self(name, place.name)
        except FunctionError as error:
            raise located(error, *place, offset) from error
        if found is None:
            raise located(Fault(f"template {name} could not be found"), *place, offset)
        return found


class JetTemplate(ParsedTemplate[Tree]):
    """One compiled Jet template."""

    def render(
        self, context: Mapping[str, Any], functions: Functions, missing: MissingValues | None = None
    ) -> str:
        """Return the rendered text. Raises TemplateError."""
        templates = _Templates(self.delimiters, self.loader)
        linked = templates.link(self.name, self.tree)
        with limited(self.limits) as budget:
            run = Run({**FUNCTIONS, **functions}, templates, budget, missing or MissingValues())
            return run.render(linked, context)

    def unknown_names(
        self,
        functions: Collection[str],
        variables: Collection[str] | None,  # noqa: ARG002 - as in the protocol
    ) -> Iterator[TemplateError]:
        """Yield an error for each function that it calls and that does not exist. All else may be a key of the data."""
        known = {*FUNCTIONS, *Run.specials, *functions, *self.tree.assigned}
        for function, offset in self.tree.called.items():
            if function not in known:
                fault = no_such_name(function, known)
                yield located(fault, self.name, self.tree.source, offset, TemplateSourceError)

    def references(self) -> Iterator[Reference]:
        """Yield the templates that it extends, imports and includes."""
        extended = () if self.tree.extends is None else (self.tree.extends,)
        for name, offset in (*extended, *self.tree.imports, *self.tree.includes):
            names = tuple(resolve(name, self.name) + extension for extension in _EXTENSIONS)
            yield Reference(names, *line_and_column(self.tree.source, offset))

    @property
    def defines(self) -> Collection[str]:
        """Nothing: blocks are not looked up as templates are."""
        return ()


class JetEngine:
    """Compiles Jet templates."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def compile(
        self, source: str, *, name: str, delimiters: Delimiters | None, loader: Loader
    ) -> JetTemplate:
        """Compile ``source``. Raises TemplateError."""
        chosen = delimiters or DEFAULT_DELIMITERS
        return JetTemplate(name, parse_cached(parse, source, name, chosen), chosen, loader, self._limits)
