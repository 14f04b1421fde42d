"""The expressions of one resource that are evaluated at each check: deferred properties and `control` conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from reactor.language.errors import BriefLimitError, ExpressionError
from reactor.language.secrets import holds_secret
from reactor.manifest.declaration import Declaration
from reactor.manifest.evaluation import (
    MisplacedError,
    NotYetError,
    evaluated,
    expressives,
    known_part,
    unevaluated,
)
from reactor.manifest.expression_context import ExpressionContext, is_local
from reactor.manifest.phrasing import shown
from reactor.manifest.source import Problems
from reactor.manifest.validation import Inspector
from reactor.manifest.values import Values
from reactor.named_tuple import NamedTuple
from reactor.resource.base import Resource
from reactor.resource.declared import Deferred, Outputs, TooLongError, declare
from reactor.resource.diagnostic import PropertyPath
from reactor.resource.output import emit_output
from reactor.resource.plan import ResourceError
from reactor.resource.redaction import masked_start

if TYPE_CHECKING:
    from reactor.language.expression.analysis import Path
    from reactor.language.expression.expression import Expression
    from reactor.language.expression.scope import Scope

OUTPUT = "output"

_READ = "what an expression reads"
"""The ``missing`` of the error when an expression fails: in a dry run, another resource may not be applied yet."""


_LONGEST_TEXT = 100


def _brief(text: str) -> str:
    """Return the text of a property on one line, shortened when it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_TEXT else f"{masked_start(line, _LONGEST_TEXT)}..."


class Condition(NamedTuple):
    """A condition of ``control``. ``name`` is ``if`` or ``unless``; ``at`` is the offset of its text in the file."""

    name: str
    expression: Expression
    text: str
    at: int

    def decide(self, scope: Scope) -> bool:
        """Whether the condition is true; nil is false.

        Raises UndecidedError if it fails or is no bool, and NotYetError.
        """
        try:
            value = self.expression.evaluate(scope)
        except ExpressionError as error:
            # A condition that is only a value, or its opposite, has a default of its type.
            flag = self.text.removeprefix("not ").strip()
            if error.hint is not None and error.hint.endswith(f": {flag} ?? 'default'"):
                error.hint = error.hint.removesuffix("'default'") + "false"
            raise UndecidedError(error, self) from error
        finally:
            scope.warnings.locate(self.at, self.text)
        if isinstance(value, bool | None):
            return bool(value)
        hint = "compare it with something: x == 'y', x != nil"
        wrong = ExpressionError(f"expected bool, but got {shown(value)}", 0, len(self.text), hint)
        raise UndecidedError(wrong, self)


class UndecidedError(Exception):
    """The value of a condition is neither true nor false: ``error`` is the reason."""

    def __init__(self, error: ExpressionError, condition: Condition) -> None:
        super().__init__(error.message)
        self.error = error
        self.condition = condition


class DeferredBinding(Deferred):
    """Makes the resource of ``model`` at each check: from plain values and current values of expressions."""

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
        self._trees = values.deferred
        self._conditions = conditions
        self._expression_context = expression_context
        self._values: dict[str, Any] | None = None
        self._renamed: dict[str, str] = {}
        self._clock_advanced = False
        self._read_by_values: frozenset[str] = frozenset()
        self._read_by_conditions: frozenset[str] = frozenset()
        self.secret: frozenset[str] = frozenset()
        """The names of the deferred properties whose first values contain a secret."""
        self.unknown = frozenset(self._trees)
        """The names of the deferred properties that have had no value yet."""
        self.takes = self._taken()

    @property
    def reads(self) -> frozenset[str]:
        """The files that the values and conditions read when they were last evaluated."""
        return self._read_by_values | self._read_by_conditions

    @cached_property
    def paths(self) -> frozenset[Path]:
        """The paths that the expressions may read: of data, facts and the other roots."""
        read = [each.template.reads for _, each in expressives(self._trees)]
        if len(read) == 1 and not self._conditions:
            return read[0]  # the usual case: many resources share the set of their template
        return frozenset().union(*read, *(each.expression.reads for each in self._conditions))

    def try_values(self, report: Callable[[MisplacedError], None]) -> dict[str, Any]:
        """Return the values that are known already when the manifest is loaded.

        Calls ``report`` for each expression that can never be evaluated.
        """
        functions = self._expression_context.expression_functions
        outcomes = functions.outcomes
        if outcomes is not None and all(map(outcomes.has, self._trees.values())):
            known = self._tried(report)  # reads no file, and has no secret
        else:
            with functions.reading() as reads:
                known = self._tried(report)
            self._read_by_values = frozenset(reads)
            self.secret = _secret_keys(known)
        if known.keys() == self._trees.keys():
            self._values = known
            self.unknown = frozenset()
        else:
            self.unknown = frozenset(self._trees) - known.keys()
        return known

    def _tried(self, report: Callable[[MisplacedError], None]) -> dict[str, Any]:
        functions, known = self._expression_context.expression_functions, dict[str, Any]()
        for key, tree in self._trees.items():
            try:
                known[key] = evaluated(tree, functions.scope, functions.outcomes)
            except MisplacedError as found:
                report(found)
            except NotYetError:
                pass  # evaluated again at each check
        return known

    def known_parts(self) -> dict[str, Any]:
        """Return the values that are not known yet, with `Unknown` for the parts of which that is true."""
        scope = self._expression_context.scope
        return {key: known_part(self._trees[key], scope) for key in sorted(self.unknown)}

    def rename(self, names: Mapping[str, str]) -> None:
        """Let ``output("NAME")`` mean another resource, for each of these names of resources."""
        self._renamed = {**names, **{old: names.get(new, new) for old, new in self._renamed.items()}}
        self.takes = {self._renamed.get(ref, ref): path for ref, path in self._taken().items()}

    def _outputs_by_own_names(self, outputs: Outputs) -> Outputs:
        """Return ``outputs`` for the names that the expressions use."""
        if not self._renamed:
            return outputs
        return lambda name: outputs(self._renamed.get(name, name))

    def advance_clock(self) -> None:
        """Let the next `settle` see the present time."""
        self._expression_context = self._expression_context.at_present()
        self._clock_advanced = True

    def settle(self, resource: Resource, outputs: Outputs, *, briefly: bool = False) -> Resource:
        """Return ``resource`` with the current values, validated like those of any manifest.

        Returns ``resource`` itself when no value has changed. Raises ResourceError; TooLongError if it would be slow
        and ``briefly`` is set.
        """
        expression_context = self._expression_context if briefly else self._expression_context.apart()
        reads: set[str] = set()
        try:
            named = self._outputs_by_own_names(outputs)
            with expression_context.expression_functions.reading(named, briefly=briefly) as reads:
                values = self._evaluated(expression_context, named, briefly=briefly)
        except BriefLimitError as error:
            raise TooLongError from error
        except MisplacedError as found:
            spot = found.expressive
            place = expression_context.place(spot.at, spot.text, found.error)
            raise ResourceError(f"{place}: {found.error.message}", found.error.hint, missing=_READ) from found
        finally:
            self._read_by_values = frozenset(reads)
        _emit_warnings(expression_context)
        if values == self._values and not self._has_new_inputs(resource):
            self.moving = ()
            return resource
        self.moving = self._moved(values)
        settled = self._remade(resource, values)
        self._values = values
        self._clock_advanced = False
        return settled

    def _evaluated(
        self,
        expression_context: ExpressionContext,
        _outputs: Outputs,
        *,
        briefly: bool,  # noqa: ARG002 - a subclass needs it
    ) -> dict[str, Any]:
        """Return the current values of the expressions."""
        return {key: evaluated(tree, expression_context.scope) for key, tree in self._trees.items()}

    def _has_new_inputs(self, resource: Resource) -> bool:
        """Whether the clock has advanced since the resource was made, and its kind has templates, which may show it."""
        return self._clock_advanced and type(resource).has_same_inputs is not Resource.has_same_inputs

    def declined(self, outputs: Outputs, *, briefly: bool = False) -> str | None:
        """Return the text of the condition that excludes the resource; None if none does."""
        try:
            return self._decide(outputs, briefly=briefly)
        except BriefLimitError as found:
            raise TooLongError from found
        except UndecidedError as found:
            error = found.error
            place = self._expression_context.place(found.condition.at, found.condition.text, error)
            raise ResourceError(f"{place}: {error.message}", error.hint, missing=_READ) from found

    def texts(self) -> dict[str, Any]:
        """Return the deferred properties as written. Those of a loop or role mean the same outside of it."""
        scope = self._expression_context.scope
        if not is_local(scope):
            return {key: unevaluated(tree) for key, tree in self._trees.items()}
        from reactor.manifest.outside import condition_outside, written_outside  # noqa: PLC0415 - only in loops and roles

        with self._expression_context.expression_functions.reading():
            found = {key: written_outside(tree, scope) for key, tree in self._trees.items()}
        if self._conditions:
            texts = {
                each.name: condition_outside(each.text, each.expression.names(), scope)
                for each in self._conditions
            }
            found["control"] = {**self._plain["control"], **texts}
        return found

    def try_conditions(self) -> None:
        """Decide the conditions at load time, if possible. Raises UndecidedError when that can never succeed."""
        if not self._conditions:
            self.is_decided = True
            return
        with suppress(NotYetError):
            self.is_declined = self._decide(None, briefly=False) is not None
            self.is_decided = True

    def _decide(self, outputs: Outputs | None, *, briefly: bool) -> str | None:
        expression_context = (
            self._expression_context if briefly or outputs is None else self._expression_context.apart()
        )
        named = None if outputs is None else self._outputs_by_own_names(outputs)
        with expression_context.expression_functions.reading(named, briefly=briefly) as reads:
            try:
                for condition in self._conditions:
                    if condition.decide(expression_context.scope) is (condition.name == "unless"):
                        return f"control: {condition.name} {condition.text}"
            finally:
                self._read_by_conditions = frozenset(reads)
                if outputs is not None:
                    _emit_warnings(expression_context)
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
        """Return the error for invalid values, worded as for values in the manifest."""
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
        calling = [(path, each.template) for path, each in expressives(self._trees) if OUTPUT in each.text]
        if not (calling or self._conditions):
            return {}
        calls = [(path, each.calls(OUTPUT)) for path, each in calling]
        calls += [(("control", each.name), each.expression.calls(OUTPUT)) for each in self._conditions]
        found: dict[str, PropertyPath] = {}
        for path, sites in calls:
            for ref, _, _ in sites:
                if ref is not None:
                    found.setdefault(ref, path)
        return found


def _secret_keys(values: Mapping[str, Any]) -> frozenset[str]:
    """Return the keys whose value contains a secret."""
    return frozenset([key for key, value in values.items() if holds_secret(value)])


def _emit_warnings(expression_context: ExpressionContext) -> None:
    """Emit warnings about missing keys, which are no errors in the `ccm:` form."""
    for warning in expression_context.new_warnings():
        emit_output(f"warning: {warning}")
