"""The renderer of Go templates: runs their statements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, ClassVar

from reactor.language.errors import Fault, FunctionError
from reactor.language.templates.budget import Budget, located_failure
from reactor.language.templates.calls import Functions
from reactor.language.templates.go import nodes
from reactor.language.templates.go.evaluator import MISSING, Evaluator
from reactor.language.templates.literals import quote
from reactor.language.templates.missing_values import MissingValues
from reactor.language.templates.values import sorted_keys, string_of

Definition = tuple[str, str, list[nodes.Node]]
"""The name of the source that defines a template, the source, and the nodes of the template."""


class _Break(Exception):  # noqa: N818  control flow, not an error
    pass


class _Continue(Exception):  # noqa: N818  control flow, not an error
    pass


class Run(Evaluator):
    """One rendering of one template and the templates that it calls."""

    def __init__(
        self,
        functions: Functions,
        find: Callable[[str], Definition | None],
        budget: Budget,
        missing: MissingValues,
    ) -> None:
        super().__init__(functions, budget, missing)
        self._find = find
        self._out: list[str] = []

    def render(self, definition: Definition, dot: Any) -> str:
        """Return the rendered text of ``definition`` for ``dot``. Raises TemplateError."""
        self._invoke(definition, dot)
        return "".join(self._out)

    def _invoke(self, definition: Definition, dot: Any) -> None:
        name, source, body = definition
        outer, self._variables = self._variables, [["$", dot]]
        place, self._place = self._place, (name, source)
        try:
            self._walk(body, dot)
        except (FunctionError, MemoryError, RecursionError) as error:
            raise located_failure(error, name, source, self._at) from error
        self._variables, self._place = outer, place

    def _walk(self, listed: Iterable[nodes.Node], dot: Any) -> None:
        for node in listed:
            if node.__class__ is nodes.Text:
                self._write(node.text)
            else:
                self._at = node.offset
                self._budget.step()
                self._statements[node.__class__](self, node, dot)

    def _write(self, text: str) -> None:
        self._budget.charge_characters(len(text))
        self._out.append(text)

    def _action(self, node: nodes.Action, dot: Any) -> None:
        value = self._pipeline(node.pipeline, dot)
        if node.pipeline.variables:
            return
        self._at = node.offset
        if callable(value):
            raise Fault("can't print a function")
        if value is MISSING:
            self._report_missing()
        self._write("<no value>" if value is MISSING else string_of(value))

    def _if(self, node: nodes.If, dot: Any) -> None:
        known = len(self._variables)
        self._walk(node.body if self._pipeline(node.pipeline, dot) else node.otherwise, dot)
        del self._variables[known:]

    def _with(self, node: nodes.With, dot: Any) -> None:
        known = len(self._variables)
        if value := self._pipeline(node.pipeline, dot):
            self._walk(node.body, value)
        else:
            self._walk(node.otherwise, dot)
        del self._variables[known:]

    def _range(self, node: nodes.Range, dot: Any) -> None:
        known = len(self._variables)
        value = self._pipeline(node.pipeline, dot)
        empty = True
        with suppress(_Break):
            for key, item in self._items(value, node):
                empty = False
                self._turn(node, known, key, item)
        if empty:
            self._walk(node.otherwise, dot)
        del self._variables[known:]

    def _items(self, value: Any, node: nodes.Range) -> Iterable[tuple[Any, Any]]:
        if isinstance(value, Mapping):
            return [(key, value[key]) for key in sorted_keys(value)]
        if isinstance(value, list | tuple):
            return enumerate(value)
        if isinstance(value, int) and not isinstance(value, bool):
            if len(node.pipeline.variables) > 1:
                raise Fault(f"can't use {value} to iterate over more than one variable")
            return ((number, number) for number in range(value))
        if value is MISSING:
            self._report_missing()
            return ()
        raise Fault(f"range can't iterate over {string_of(value)}", "it takes a list, a map or a number")

    def _turn(self, node: nodes.Range, known: int, key: Any, item: Any) -> None:
        """Run one iteration.

        The loop's new variables begin at index ``known``, unless they existed before the loop.
        """
        names = node.pipeline.variables
        values = (item,) if len(names) == 1 else (key, item)
        for index, (name, value) in enumerate(zip(names, values, strict=False)):
            if node.pipeline.assigns:
                self._assign(name, value, node.pipeline)
            else:
                self._variables[known + index][1] = value
        self._budget.step()
        with suppress(_Continue):
            self._walk(node.body, item)
        del self._variables[known + (0 if node.pipeline.assigns else len(names)) :]

    def _break(self, _node: nodes.Break, _dot: Any) -> None:
        raise _Break

    def _continue(self, _node: nodes.Continue, _dot: Any) -> None:
        raise _Continue

    def _template(self, node: nodes.Template, dot: Any) -> None:
        definition = self._find(node.name)
        if definition is None:
            raise Fault(f"template {quote(node.name)} not defined")
        value = MISSING if node.pipeline is None else self._pipeline(node.pipeline, dot)
        self._invoke(definition, value)

    _statements: ClassVar[Mapping[type, Callable[[Run, Any, Any], None]]] = {
        nodes.Action: _action,
        nodes.If: _if,
        nodes.With: _with,
        nodes.Range: _range,
        nodes.Break: _break,
        nodes.Continue: _continue,
        nodes.Template: _template,
    }
