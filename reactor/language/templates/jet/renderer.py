"""The renderer of Jet templates: runs their statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from reactor.language.errors import Fault, FunctionError, LimitFault, TemplateError, located
from reactor.language.templates.budget import located_failure
from reactor.language.templates.jet import nodes
from reactor.language.templates.jet.blocks import Blocks, Linked
from reactor.language.templates.jet.evaluator import NOTHING, CaughtError, Scope
from reactor.language.templates.jet.operators import INVALID, is_true, printed, type_for_error
from reactor.language.templates.values import OwnMap, sorted_keys


class Run(Blocks):
    """One rendering of one template and the templates that it loads."""

    def render(self, template: Linked, context: Mapping[str, Any]) -> str:
        """Return the rendered text of ``template``. Raises TemplateError."""
        self._scope.variables.update(context)
        self._context = context.get(".", context)
        try:
            self._run_template(template)
        except (FunctionError, MemoryError, RecursionError) as error:
            raise located_failure(error, *self._place, self._at) from error
        return "".join(self._out)

    # Actions

    def _action(self, node: nodes.Action) -> Any:
        self._missed = None
        if node.set is not None:
            self._set(node.set)
        if not node.commands:
            return NOTHING
        value: Any = NOTHING
        for command in node.commands:
            value = self._command(command, value)
        self._at = node.offset
        if callable(value):
            raise Fault("can't print a function", "call it: add ()")
        if value is not NOTHING:
            self._expect(value)
            self._write(printed(value))
        return NOTHING

    def _command(self, command: nodes.Command, piped: Any) -> Any:
        if command.arguments is None and piped is NOTHING:
            return self._value(command.base)
        return self._called(command, command.base, command.arguments or (), piped)

    def _set(self, node: nodes.Set) -> None:
        if len(node.targets) > len(node.values):  # value, found := map[key]
            found = self._value(node.values[0])
            self._assign(node.targets[0], found, declare=node.declares)
            self._assign(node.targets[1], found is not INVALID, declare=node.declares)
            return
        for target, value in zip(node.targets, node.values, strict=True):
            self._assign(target, self._value(value), declare=node.declares)

    def _assign(self, target: nodes.Node, value: Any, *, declare: bool) -> None:
        if isinstance(target, nodes.Identifier):
            self._assign_name(target.name, value, declare=declare)
        elif isinstance(target, nodes.Field):
            base = self._context if target.base is None else self._value(target.base)
            self._at = target.offset
            if not isinstance(base, OwnMap):
                raise Fault(
                    "can't change data from outside the template", "only a map that map() made can be changed"
                )
            base[target.name] = value

    def _assign_name(self, name: str, value: Any, *, declare: bool) -> None:
        scope: Scope | None = self._scope
        while scope is not None and not declare and name not in scope.variables:
            scope = scope.parent
        if scope is None:
            raise Fault(
                f'could not assign "{name}" because variable "{name}" is uninitialised',
                f"declare it: {name} := ...",
            )
        scope.variables[name] = value

    # Control

    def _if(self, node: nodes.If) -> Any:
        outer = self._scope
        if node.set is not None:
            self._scope = Scope(outer, outer.blocks) if node.set.declares else outer
            self._set(node.set)
        found = self._list(node.body if is_true(self._value(node.condition)) else node.otherwise)
        self._scope = outer
        return found

    def _range(self, node: nodes.Range) -> Any:
        outer, context = self._scope, self._context
        items = self._items(self._value(node.expression), node)
        if node.set is not None and node.set.declares:
            self._scope = Scope(outer, outer.blocks)
        found: Any = NOTHING
        for key, item in items:
            self._budget.step()
            self._name_item(node, key, item)
            found = self._list(node.body)
            if found is not NOTHING:
                break
        self._context = context
        if not items:
            found = self._list(node.otherwise)
        self._scope = outer
        return found

    def _items(self, value: Any, node: nodes.Range) -> Sequence[tuple[Any, Any]]:
        self._at = node.offset
        if isinstance(value, Mapping):
            return [(key, value[key]) for key in sorted_keys(value)]
        if isinstance(value, list | tuple):
            return list(enumerate(value))
        raise Fault(
            f"a value of type {type_for_error(value)} is not rangeable",
            "it takes a list, a map or ints(from, to)",
        )

    def _name_item(self, node: nodes.Range, key: Any, item: Any) -> None:
        targets = [] if node.set is None else node.set.targets
        for target, value in zip(targets, (key, item), strict=False):
            self._assign(target, value, declare=node.set is not None and node.set.declares)
        if len(targets) < 2:  # noqa: PLR2004  a key and a value
            self._context = item

    def _try(self, node: nodes.Try) -> Any:
        kept = self._scope, self._context, self._content, self._place, self._out
        self._out = []
        try:
            found = self._list(node.body)
        except LimitFault:
            raise
        except (FunctionError, TemplateError) as error:
            problem = error if isinstance(error, TemplateError) else located(error, *self._place, self._at)
            self._scope, self._context, self._content, self._place, self._out = kept
            return self._catch(node, problem)
        made, self._out = self._out, kept[-1]
        self._out += made
        return found

    def _catch(self, node: nodes.Try, problem: TemplateError) -> Any:
        outer = self._scope
        self._scope = Scope(outer, outer.blocks)
        if node.name is not None:
            self._scope.variables[node.name] = CaughtError(problem)
        found = self._list(node.otherwise)
        self._scope = outer
        return found

    def _return(self, node: nodes.Return) -> Any:
        return self._value(node.value)

    statements: ClassVar[Mapping[type, Callable[[Any, Any], Any]]] = {
        **Blocks.statements,
        nodes.Action: _action,
        nodes.If: _if,
        nodes.Range: _range,
        nodes.Try: _try,
        nodes.Return: _return,
    }
