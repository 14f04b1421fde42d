"""The elements of a loop that uses outputs of other resources. They are evaluated in a run, before each check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reactor.manifest.declaration import Declaration
from reactor.manifest.deferred import OUTPUT, DeferredBinding
from reactor.manifest.evaluation import MisplacedError, evaluated, expressives
from reactor.manifest.expression_context import ExpressionContext
from reactor.manifest.loops import FOR_EACH, SUBITEMS, KnownOutputs, LoopValues, elements_of, inside
from reactor.manifest.phrasing import shown
from reactor.manifest.values import Values
from reactor.resource.base import Resource
from reactor.resource.declared import Outputs
from reactor.resource.deferred_loop import DeferredLoop
from reactor.resource.diagnostic import PropertyPath
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
        self._nested = values.deferred.pop(SUBITEMS, None)
        super().__init__(DeferredLoop, declaration, values, (), expression_context)
        self._ref = ref
        self._known = known
        self._written = tuple(self.takes)
        self._expanded: LoopValues | None = None
        self._last_found: LoopValues | None = None
        self._unusable: LoopValues | None = None
        self._former: Mapping[str, Mapping[str, Any]] | None = None
        self.subscriptions = tuple(_fixed_references(declaration.body or {}))

    def expand(self, report: Callable[[MisplacedError], None]) -> LoopValues | None:
        """Return the elements with the outputs known from before this load; None if these are not known.

        Calls ``report`` if they can't be evaluated with these outputs.
        """
        if (outputs := self._known.get(self._ref)) is None or outputs.keys() != set(self._written):
            return None
        context = self._expression_context
        try:
            with context.expression_functions.reading(outputs.get) as reads:
                values = self._evaluated(context, outputs.get, briefly=False)
        except MisplacedError as found:
            report(found)
            return LoopValues(None)
        self._read_by_values = frozenset(reads)
        self._values = values
        self._expanded = self._late_values(values)
        return self._expanded

    def _late_values(self, values: Mapping[str, Any]) -> LoopValues:
        return LoopValues(values.get(FOR_EACH, self._plain.get(FOR_EACH)), values.get(SUBITEMS))

    def _evaluated(
        self, expression_context: ExpressionContext, outputs: Outputs, *, briefly: bool
    ) -> dict[str, Any]:
        values = super()._evaluated(expression_context, outputs, briefly=briefly)
        elements, _ = self._late_values(values)
        if self._nested is None or not isinstance(elements, dict | list):
            return values
        values[SUBITEMS] = nested = []
        for each in elements_of(elements):
            context = inside(expression_context, ("item", "key"), each)
            with context.expression_functions.reading(outputs, briefly=briefly) as reads:
                nested.append(evaluated(self._nested, context.scope))
            expression_context.expression_functions.reads.update(reads)
        return values

    def _taken(self) -> dict[str, PropertyPath]:
        calls = [each.template.calls(OUTPUT) for _, each in expressives(self._nested or {})]
        nested: dict[str, PropertyPath] = {ref: (SUBITEMS,) for sites in calls for ref, _, _ in sites if ref}
        return nested | super()._taken()

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
        settled = super().settle(resource, outputs, briefly=briefly)
        # `settled` is as before if the last try had these values.
        found = self._late_values(self._values or {})
        self._require_elements(FOR_EACH, found.elements)
        for each in found.nested or ():
            self._require_elements(SUBITEMS, each)
        if found == self._expanded:
            return settled
        self.must_reload = True
        if found != self._unusable:
            self._last_found, self._former = found, self._known.get(self._ref)
            self._known[self._ref] = {name: value for name, value in now.items() if value is not None}
        raise ResourceError("the elements of the loop have changed since the manifest was loaded", _FIX)

    @property
    def is_refused(self) -> bool:
        """Whether the manifest could not be used with the elements that the last `settle` has found."""
        return self._last_found is not None and self._last_found == self._unusable

    def refuse(self) -> None:
        """Note that the manifest can't be used with these elements. A later version of it gets the former ones."""
        if self.is_refused:
            return
        self._unusable = self._last_found
        if self._former is None:
            self._known.pop(self._ref, None)
        else:
            self._known[self._ref] = self._former

    def _require_elements(self, name: str, elements: Any) -> None:
        if not isinstance(elements, dict | list):
            at = self._declaration.find(DeferredLoop, (name,)).at
            place = self._expression_context.source.lines.place(at)
            raise ResourceError(f"{place}: {name} must be a list or a map, not {shown(elements)}")


def _fixed_references(body: Mapping[str, Any]) -> Iterator[str]:
    """What the resources subscribe to, without the references that contain expressions."""
    found = body.get("subscribe")
    for each in found if isinstance(found, list) else [found]:
        reference = next(iter(each), None) if isinstance(each, Mapping) else each
        if isinstance(reference, str) and "{" not in reference:
            yield reference


_NO_OUTPUTS = "an exec has outputs only if its command has run in this process"
_FIX = "correct the loop, or the resources that it makes"
