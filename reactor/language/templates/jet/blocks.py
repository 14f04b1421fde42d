"""The renderer of Jet's lists of nodes, blocks and whole templates: all code that changes the scope."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from reactor.language.errors import Fault
from reactor.language.templates.budget import Budget
from reactor.language.templates.calls import Functions
from reactor.language.templates.jet import nodes
from reactor.language.templates.jet.evaluator import NOTHING, Evaluator, Scope
from reactor.language.templates.jet.operators import INVALID, SilentBool, type_for_error
from reactor.language.templates.missing_values import MissingValues, no_such_key, no_value

_ISSET = "test what may be missing first: with if, or isset"


class Place(NamedTuple):
    """A source and its name."""

    name: str
    source: str


class Defined(NamedTuple):
    """A block, and the template that defines it."""

    block: nodes.Block
    place: Place


class Linked(NamedTuple):
    """A template with everything that it extends and imports: the nodes to run, their source, and the known blocks."""

    root: list[nodes.Node]
    place: Place
    blocks: Mapping[str, Defined]


Find = Callable[[str, str], Linked | None]
"""Returns a template by its name, which is relative to the template that uses it."""


class Blocks(Evaluator):
    """One rendering: its output, and its current place in the templates."""

    def __init__(self, functions: Functions, find: Find, budget: Budget, missing: MissingValues) -> None:
        super().__init__(functions, budget)
        self._find = find
        self._missing = missing
        self._out: list[str] = []
        self._place = Place("", "")
        self._content: Callable[[nodes.Node | None], None] | None = None

    def _report_missing(self, missed: tuple[str, Mapping[str, Any]] | None) -> None:
        fault = no_value(_ISSET) if missed is None else no_such_key(*missed, _ISSET)
        self._missing.report(fault, *self._place, self._at)

    def _run_template(self, template: Linked) -> Any:
        outer = self._scope
        self._scope = Scope(outer, template.blocks)
        found = self._run_at(template.place, template.root)
        self._scope = outer
        return found

    def _run_at(self, place: Place, listed: Iterable[nodes.Node]) -> Any:
        outer, self._place = self._place, place
        found = self._list(listed)
        self._place = outer
        return found

    def _with_context(self, context: nodes.Node | None, run: Callable[[], Any]) -> Any:
        """Call ``run`` with ``context`` as the context, if there is one."""
        outer = self._context
        if context is not None:
            self._context = self._value(context)
        found = run()
        self._context = outer
        return found

    def _list(self, listed: Iterable[nodes.Node]) -> Any:
        """Run nodes, and return the value of the last ``return`` in them.

        Their variables have a scope that ends with them.
        """
        outer = self._scope
        returned: Any = NOTHING
        for node in listed:
            if node.__class__ is nodes.Text:
                self._write(node.text)
                continue
            self._at = node.offset
            self._budget.step()
            if (
                isinstance(node, nodes.Action)
                and node.set is not None
                and node.set.declares
                and self._scope is outer
            ):
                self._scope = Scope(outer, outer.blocks)
            found = self.statements[node.__class__](self, node)
            returned = returned if found is NOTHING else found
        self._scope = outer
        return returned

    def _write(self, text: str) -> None:
        self._budget.charge_characters(len(text))
        self._out.append(text)

    # Blocks

    def _find_block(self, name: str) -> Defined | None:
        scope: Scope | None = self._scope
        while scope is not None:
            if name in scope.blocks:
                found: Defined = scope.blocks[name]
                return found
            scope = scope.parent
        return None

    def _block(self, node: nodes.Block) -> Any:
        defined = self._find_block(node.name) or Defined(node, self._place)
        block = defined.block
        return self._yield_block(defined, block.parameters, block.context, block.content)

    def _yield(self, node: nodes.Yield) -> Any:
        defined = self._find_block(node.name)
        if defined is None:
            raise Fault(
                f'unresolved block "{node.name}"!', "define it with block, or import the template that does"
            )
        return self._yield_block(defined, node.arguments, node.context, node.content)

    def _yield_block(
        self,
        defined: Defined,
        arguments: Sequence[nodes.Parameter],
        context: nodes.Node | None,
        content: list[nodes.Node] | None,
    ) -> Any:
        outer, outer_content = self._scope, self._content
        self._scope = Scope(outer, outer.blocks)
        for argument in arguments:
            if argument.value is None:
                raise Fault(
                    f"missing name for block parameter '{argument.name}'", f"write {argument.name}=..."
                )
            self._scope.variables[argument.name] = self._value(argument.value)
        for parameter in defined.block.parameters:
            if parameter.name not in self._scope.variables:
                default = parameter.value
                self._scope.variables[parameter.name] = False if default is None else self._value(default)
        if content is not None:
            self._content = self._content_of(content, self._scope, outer_content, self._place)
        self._with_context(context, lambda: self._run_at(defined.place, defined.block.body))
        self._scope, self._content = outer, outer_content
        return NOTHING

    def _content_of(
        self,
        content: list[nodes.Node],
        scope: Scope,
        content_there: Callable[[nodes.Node | None], None] | None,
        place: Place,
    ) -> Callable[[nodes.Node | None], None]:
        """Return the function for ``yield content``. It runs the caller's nodes in the caller's scope."""

        def run(context: nodes.Node | None) -> None:
            kept = self._scope, self._content
            here = self._context
            if context is not None:
                self._context = self._value(context)
            self._scope, self._content = scope, content_there
            self._run_at(place, content)
            self._scope, self._content = kept
            self._context = here

        return run

    def _yield_content(self, node: nodes.Content) -> Any:
        if self._content is not None:
            self._content(node.context)
        return NOTHING

    # Other templates

    def _load(self, name: Any) -> Linked | None:
        if not isinstance(name, str):
            raise Fault(f"the name of a template must be a string, not {type_for_error(name)}")
        return self._find(name, self._place.name)

    def _include(self, node: nodes.Include) -> Any:
        name = self._value(node.name)
        template = self._load(name)
        if template is None:
            self._at = node.name.offset
            raise Fault(f"template {name} could not be found")
        return self._with_context(node.context, lambda: self._run_template(template))

    def _include_if_exists(self, arguments: Sequence[nodes.Node], piped: Any) -> Any:
        name, context = self._template_arguments("includeIfExists", arguments, piped)
        template = self._load(name)
        if template is not None:
            self._with_context(context, lambda: self._run_template(template))
        return SilentBool(template is not None)

    def _exec(self, arguments: Sequence[nodes.Node], piped: Any) -> Any:
        name, context = self._template_arguments("exec", arguments, piped)
        template = self._load(name)
        if template is None:
            raise Fault(f"exec: template {name} could not be found")
        out, self._out = self._out, []
        found = self._with_context(context, lambda: self._run_template(template))
        self._out = out
        return INVALID if found is NOTHING else found

    def _template_arguments(
        self, function: str, arguments: Sequence[nodes.Node], piped: Any
    ) -> tuple[Any, nodes.Node | None]:
        rest = list(arguments)
        if piped is NOTHING and rest:
            piped = self._value(rest.pop(0))
        if piped is NOTHING or len(rest) > 1:
            raise Fault(f"unexpected number of arguments in a call to {function}")
        return piped, rest[0] if rest else None

    specials: ClassVar[dict[str, Callable[[Any, Sequence[nodes.Node], Any], Any]]] = {
        **Evaluator.specials,
        "exec": _exec,
        "includeIfExists": _include_if_exists,
    }
    statements: ClassVar[Mapping[type, Callable[[Any, Any], Any]]] = {
        nodes.Block: _block,
        nodes.Yield: _yield,
        nodes.Content: _yield_content,
        nodes.Include: _include,
    }
