"""The expressions of one resource that are evaluated at each check: its deferred properties, and its conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from reactor.language.errors import BriefLimitError, ExpressionError
from reactor.language.secrets import holds_secret
from reactor.manifest.declaration import Declaration
from reactor.manifest.evaluation import MisplacedError, NotYetError, evaluated, expressives, unevaluated
from reactor.manifest.expression_context import ExpressionContext
from reactor.manifest.phrasing import shown
from reactor.manifest.source import Problems
from reactor.manifest.validation import Inspector
from reactor.manifest.values import Values
from reactor.resource.base import Resource
from reactor.resource.declared import Deferred, Outputs, TooLongError, declare
from reactor.resource.diagnostic import PropertyPath
from reactor.resource.output import emit_output
from reactor.resource.plan import ResourceError

if TYPE_CHECKING:
    from reactor.language.expression.expression import Expression
    from reactor.language.expression.scope import Scope

_OUTPUT = "output"

_READ = "what an expression reads"
"""The ``missing`` of an expression that fails: a dry run can't tell before earlier resources are applied."""


_LONGEST_TEXT = 100


def _brief(text: str) -> str:
    """The text of a property in one line that is not too long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_TEXT else f"{line[:_LONGEST_TEXT]}..."


class Condition(NamedTuple):
    """One of ``control``: ``name`` is ``if`` or ``unless``, ``at`` the offset of its text in the file."""

    name: str
    expression: Expression
    text: str
    at: int

    def decide(self, scope: Scope) -> bool:
        """Whether it is true; nothing counts as false. Raises UndecidedError, and NotYetError."""
        try:
            value = self.expression.evaluate(scope)
        except ExpressionError as error:
            raise UndecidedError(error, self) from error
        finally:
            scope.warnings.locate(self.at, self.text)
        if isinstance(value, bool | None):
            return bool(value)
        hint = "compare it with something: x == 'y', x != nil"
        wrong = ExpressionError(f"expected bool, but got {shown(value)}", 0, len(self.text), hint)
        raise UndecidedError(wrong, self)


class UndecidedError(Exception):
    """A condition is neither true nor false, and why."""

    def __init__(self, error: ExpressionError, condition: Condition) -> None:
        super().__init__(error.message)
        self.error = error
        self.condition = condition


class DeferredBinding(Deferred):
    """Binds ``values``, plain and deferred ones, to a resource of ``model``."""

    def __init__(
        self,
        model: type[Resource],
        declaration: Declaration,
        values: Values,
        conditions: tuple[Condition, ...],
        expression_context: ExpressionContext,
    ) -> None:
        self._model = model
        self._declaration = declaration
        self._plain = {**values.plain}
        self._trees = values.late
        self._conditions = conditions
        self._expression_context = expression_context
        self._values: dict[str, Any] | None = None
        self._read_by_values: frozenset[str] = frozenset()
        self._read_by_conditions: frozenset[str] = frozenset()
        self.secret: frozenset[str] = frozenset()
        """The deferred properties whose first values hold a secret."""
        self.takes = self._taken()

    @property
    def reads(self) -> frozenset[str]:
        """The files that values and conditions read at their last evaluation."""
        return self._read_by_values | self._read_by_conditions

    def try_values(self, report: Callable[[MisplacedError], None]) -> dict[str, Any]:
        """The values that are known while the manifest is loaded. ``report`` is called for each that can never be known."""
        known: dict[str, Any] = {}
        with self._expression_context.expression_functions.reading() as reads:
            for key, tree in self._trees.items():
                try:
                    known[key] = evaluated(tree, self._expression_context.scope)
                except MisplacedError as found:
                    report(found)
                except NotYetError:
                    pass  # the check will tell
        self._read_by_values = frozenset(reads)
        self.secret = _secret_keys(known)
        if known.keys() == self._trees.keys():
            self._values = known
        return known

    def settle(self, resource: Resource, outputs: Outputs, *, briefly: bool = False) -> Resource:
        """``resource`` with the values of now, validated like those of any manifest."""
        expression_context = self._expression_context if briefly else self._expression_context.apart()
        reads: set[str] = set()
        try:
            with expression_context.expression_functions.reading(outputs, briefly=briefly) as reads:
                values = {key: evaluated(tree, expression_context.scope) for key, tree in self._trees.items()}
        except BriefLimitError as error:
            raise TooLongError from error
        except MisplacedError as found:
            spot = found.expressive
            place = expression_context.place(spot.at, spot.text, found.error)
            raise ResourceError(f"{place}: {found.error.message}", found.error.hint, missing=_READ) from found
        finally:
            self._read_by_values = frozenset(reads)
        _tell_slips(expression_context)
        if values == self._values:
            self.moving = ()
            return resource
        self.moving = self._moved(values)
        settled = self._remade(resource, values)
        self._values = values
        return settled

    def declined(self, outputs: Outputs, *, briefly: bool = False) -> str | None:
        """The condition that declines the resource, in words."""
        try:
            return self._decide(outputs, briefly=briefly)
        except BriefLimitError as found:
            raise TooLongError from found
        except UndecidedError as found:
            error = found.error
            place = self._expression_context.place(found.condition.at, found.condition.text, error)
            raise ResourceError(f"{place}: {error.message}", error.hint, missing=_READ) from found

    def texts(self) -> dict[str, Any]:
        """The deferred properties as they are written."""
        return {key: unevaluated(tree) for key, tree in self._trees.items()}

    def try_conditions(self) -> None:
        """Decide while the manifest is loaded, if possible. Raises UndecidedError when it can never be decided."""
        with suppress(NotYetError):
            self.is_declined = self._decide(None, briefly=False) is not None
            self.is_decided = True

    def _decide(self, outputs: Outputs | None, *, briefly: bool) -> str | None:
        expression_context = (
            self._expression_context if briefly or outputs is None else self._expression_context.apart()
        )
        with expression_context.expression_functions.reading(outputs, briefly=briefly) as reads:
            try:
                for condition in self._conditions:
                    if condition.decide(expression_context.scope) is (condition.name == "unless"):
                        return f"control: {condition.name} {condition.text}"
            finally:
                self._read_by_conditions = frozenset(reads)
                if outputs is not None:
                    _tell_slips(expression_context)
        return None

    def _moved(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        before = self._values or values
        trees = {key: tree for key, tree in self._trees.items() if before.get(key) != values[key]}
        found = expressives(trees)
        return tuple(f"{'.'.join(map(str, path))}: {_brief(each.text)}" for path, each in found)

    def _remade(self, resource: Resource, values: Mapping[str, Any]) -> Resource:
        secret = _secret_keys(values)
        known = {**self._plain, **values}
        try:
            settled = self._model.model_validate(known, context=self._expression_context.context)
        except ValidationError as error:
            raise self._refused(error, known) from error
        declared = resource.declared
        declare(settled, declared._replace(secrets=declared.secrets | secret))
        return settled

    def _refused(self, error: ValidationError, known: dict[str, Any]) -> ResourceError:
        """The error of invalid values, with the same words as for values in the manifest."""
        problems = Problems(self._expression_context.source)
        Inspector(problems, self._model, self._declaration, self._model.kind).report(error, Values(known))
        found = problems.sorted()
        hints = dict.fromkeys(each.hint for each in found if each.hint)
        return ResourceError(
            "\n".join(f"{each.place}: {each.message}" for each in found),
            "; ".join(hints) or "the value comes from an expression",
            missing=_READ,
        )

    def _taken(self) -> dict[str, PropertyPath]:
        calls = [(path, each.template.calls(_OUTPUT)) for path, each in expressives(self._trees)]
        calls += [(("control", each.name), each.expression.calls(_OUTPUT)) for each in self._conditions]
        found: dict[str, PropertyPath] = {}
        for path, sites in calls:
            for ref, _, _ in sites:
                if ref is not None:
                    found.setdefault(ref, path)
        return found


def _secret_keys(values: Mapping[str, Any]) -> frozenset[str]:
    """The keys of values with a secret in them."""
    return frozenset(key for key, value in values.items() if holds_secret(value))


def _tell_slips(expression_context: ExpressionContext) -> None:
    """Report missing keys, which are no error in the `ccm:` form."""
    for slip in expression_context.slips():
        emit_output(f"warning: {slip}")
