"""The elements of a loop that uses outputs of other resources. They are evaluated in a run, before each check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reactor.manifest.declaration import Declaration
from reactor.manifest.deferred import DeferredBinding
from reactor.manifest.evaluation import MisplacedError, evaluated, expressives
from reactor.manifest.expression_context import ExpressionContext
from reactor.manifest.inputs import KnownOutputs
from reactor.manifest.loops import FOR_EACH, NOT_KNOWN
from reactor.manifest.phrasing import shown
from reactor.manifest.values import Values
from reactor.resource.base import Resource
from reactor.resource.declared import Outputs
from reactor.resource.deferred_loop import DeferredLoop
from reactor.resource.plan import ResourceError


class DeferredElements(DeferredBinding):
    """Evaluates the elements of the loop ``ref``.

    ``known`` has the outputs with which each loop was evaluated last. It is kept while the manifest is loaded again,
    so that the loop can be expanded then.
    """

    def __init__(
        self,
        ref: str,
        declaration: Declaration,
        values: Values,
        expression_context: ExpressionContext,
        known: KnownOutputs,
    ) -> None:
        super().__init__(DeferredLoop, declaration, values, (), expression_context)
        self._ref = ref
        self._known = known
        self._written = tuple(self.takes)
        self._elements: Any = NOT_KNOWN

    def expand(self, report: Callable[[MisplacedError], None]) -> Any:
        """Return the elements with the outputs known from before this load, or NOT_KNOWN.

        Calls ``report`` if they can't be evaluated with these outputs; None then.
        """
        if (outputs := self._known.get(self._ref)) is None or outputs.keys() != set(self._written):
            return NOT_KNOWN
        context = self._expression_context
        try:
            with context.expression_functions.reading(outputs.get) as reads:
                self._elements = evaluated(self._trees[FOR_EACH], context.scope)
        except MisplacedError as found:
            report(found)
            return None
        self._read_by_values = frozenset(reads)
        self._values = {FOR_EACH: self._elements}
        return self._elements

    def settle(self, resource: Resource, outputs: Outputs, *, briefly: bool = False) -> Resource:
        """Return ``resource`` if its elements are those that it was expanded for.

        Raises ResourceError if not, with `must_reload` set, and also if they are not known or no list or map.
        """
        self.must_reload = False
        named = self._outputs_by_own_names(outputs)
        now = {name: named(name) for name in self._written}
        if None in now.values():
            assert isinstance(resource, DeferredLoop)  # noqa: S101 - for mypy
            raise ResourceError(resource.unknown, _NO_OUTPUTS, missing="outputs of other resources")
        values = super().settle(resource, outputs, briefly=briefly)
        elements = values.for_each  # type: ignore[attr-defined]
        if not isinstance(elements, dict | list):
            at = next(each for _, each in expressives(self._trees))
            place = self._expression_context.source.lines.place(at.at)
            raise ResourceError(f"{place}: for_each must be a list or a map, not {shown(elements)}")
        if elements == self._elements:
            return values
        self._known[self._ref] = {name: value for name, value in now.items() if value is not None}
        self.must_reload = True
        raise ResourceError("the loop has other elements than the manifest was loaded with", _FIX)


_NO_OUTPUTS = "an exec has outputs only if its command has run in this process"
_FIX = "correct the loop, or the resources that it makes"
