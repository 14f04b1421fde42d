"""Makes a resource and its `Declared` record from the values of one declaration; from invalid ones, a placeholder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from reactor.language.errors import ExpressionError
from reactor.manifest.declaration import Declaration
from reactor.manifest.deferred import Condition, DeferredBinding, UndecidedError
from reactor.manifest.evaluation import (
    Expressive,
    MisplacedError,
    bare_expression,
    evaluated,
    report_expression,
)
from reactor.manifest.expression_context import ExpressionContext
from reactor.manifest.loops import FOR_EACH, SUBITEMS, KnownOutputs, LoopValues, uses_outputs
from reactor.manifest.resource_table import ResourceTable
from reactor.manifest.source import Problems
from reactor.manifest.validation import Inspector, report_again
from reactor.manifest.values import ValueReader, Values
from reactor.named_tuple import NamedTuple
from reactor.resource.base import Resource
from reactor.resource.composite import Composite
from reactor.resource.declared import NO_SECRETS, Declared, Form, declare, numbered
from reactor.resource.diagnostic import PropertyProblem
from reactor.resource.redaction import MASK, redacted

if TYPE_CHECKING:
    from reactor.manifest.placeholders import Failed

_NAMES = frozenset(("name", "alias"))
_APPLIED_TWICE = "its manifest is applied twice: apply it once, or make this name from its data"
_SAME_IN_LOOP = "make it differ for each element: put {{ item }} or {{ key }} into it"


class Bound(NamedTuple):
    """A valid resource, with what it was made from."""

    resource: Resource
    values: Values
    deferred: DeferredBinding | None
    warnings: tuple[PropertyProblem, ...]


class ResourceFactory:
    """Makes the resources of one file, and adds them to a `ResourceTable`.

    ``meta`` overrides values in the ``meta`` of every resource. ``included`` is called with each `Composite` after it
    was added, and the offset of its declaration. ``direct`` has the indices of the file's own resources. ``scope`` is
    what names that are only labels, and aliases, begin with: those of a role do not clash with those of others. What is
    only made ``is_for_checking`` is dropped soon, and so takes the time to save memory in vain.
    """

    def __init__(
        self,
        problems: Problems,
        resource_table: ResourceTable,
        form: Form,
        *,
        meta: Mapping[str, Any],
        included: Callable[[Composite, int], None],
        scope: str = "",
        known_outputs: KnownOutputs | None = None,
        is_for_checking: bool = False,
    ) -> None:
        self.direct: list[int] = []
        self._problems = problems
        self._resource_table = resource_table
        self.form = form
        self._meta = meta
        self._included = included
        self._scope = scope
        self._known_outputs = {} if known_outputs is None else known_outputs
        self._is_for_checking = is_for_checking
        self._place = problems.source.lines.place

    def make(
        self,
        model: type[Resource],
        declaration: Declaration,
        values: Values,
        expression_context: ExpressionContext,
    ) -> Bound | Failed | None:
        """Make a resource of ``model`` with these ``values``, whose expressions use ``expression_context``.

        If there are problems, report them and add a placeholder, unless its name can't be used.
        """
        self._keep_secrets_out_of_names(model, declaration, values)
        refs, number = self._claim(model, declaration, values) if "name" not in values.invalid else ((), 1)
        deferred = self._deferred(model, declaration, values, expression_context)
        resource, inspector = None, Inspector(self._problems, model, declaration, model.kind)
        try:
            resource = model.model_validate(values.plain, context=expression_context.context)
        except ValidationError as error:
            inspector.report(error, values)
        if resource is not None and not values.invalid and refs:
            bound = Bound(resource, values, deferred, tuple(resource.warnings()))
            self._add_bound(bound, (refs[0], number), declaration, expression_context)
            return bound
        if deferred is not None:  # also watch the files it reads: they may be the cause of the problem
            self._resource_table.files.update(dict.fromkeys(sorted(deferred.reads)))
        self._resource_table.unread |= issubclass(model, Composite)
        if not refs:
            return None
        from reactor.manifest.placeholders import Failed, placeholder  # noqa: PLC0415 - most manifests are valid

        failed = Failed(placeholder(model, values.plain), values, tuple(inspector.findings))
        self._add_failed(failed, (refs[0], number), declaration)
        return failed

    def make_again(
        self, made: Bound | Failed, declaration: Declaration, expression_context: ExpressionContext
    ) -> None:
        """Add what another load made of a declaration that is written as this one."""
        refs, number = self._claim(type(made.resource), declaration, made.values)
        if not isinstance(made, Bound):
            self._report_failed(made, declaration, expression_context)
        if not refs:
            return
        if isinstance(made, Bound):
            self._add_bound(made, (refs[0], number), declaration, expression_context)
        else:
            self._add_failed(made, (refs[0], number), declaration)

    def _report_failed(
        self, failed: Failed, declaration: Declaration, expression_context: ExpressionContext
    ) -> None:
        """Report the present errors of the expressions of an item, and the others that another load found."""
        functions = expression_context.expression_functions
        for tree in failed.values.deferred.values():
            try:
                evaluated(tree, functions.scope, functions.outcomes)
            except MisplacedError as found:
                self._report_expression(found, failed.values, declaration)
        report_again(failed.findings, self._problems, type(failed.resource), declaration)

    def _report_expression(self, found: MisplacedError, values: Values, declaration: Declaration) -> None:
        at = _offset(found.expressive, values, declaration)
        report_expression(found.error, self._problems, at, found.expressive.text)

    def _add_failed(self, failed: Failed, numbered_ref: tuple[str, int], declaration: Declaration) -> None:
        """Add a placeholder with its `Declared` record."""
        (first, number), found = numbered_ref, failed.resource
        self._scope_alias(found)
        ref = numbered(first if self._scope else f"{found.kind}#{found.name}", number)
        declare(found, Declared(ref, self.form, declaration.at))
        self._resource_table.placeholders.append((found, declaration))

    def _add_bound(
        self,
        bound: Bound,
        numbered_ref: tuple[str, int],
        declaration: Declaration,
        expression_context: ExpressionContext,
    ) -> None:
        """Add a valid resource with its `Declared` record, and what it warns of."""
        (resource, values, deferred, _), (first, number) = bound, numbered_ref
        is_label = bool(self._scope) and first.partition("#")[2] != values.plain["name"]
        ref = numbered(first if is_label else f"{resource.kind}#{resource.name}", number)
        secrets = frozenset(values.secret) if values.secret else NO_SECRETS
        self._scope_alias(resource)
        declare(resource, Declared(ref, self.form, declaration.at, deferred, secrets=secrets))
        if deferred is not None and isinstance(resource, Composite):
            resource.give(deferred.known_parts())
        self._warn(bound, declaration, expression_context)
        self._add(resource, declaration)

    def _warn(self, bound: Bound, declaration: Declaration, expression_context: ExpressionContext) -> None:
        resource, _, deferred, warnings = bound
        model = type(resource)
        network = expression_context.expression_functions.network
        if resource.register_when_stable and not (network is not None and network.registers):
            at = declaration.find(model, ("register_when_stable",)).at
            self._resource_table.warnings.append(
                f"{self._place(at)}: register_when_stable of {resource.ref} is checked, and published nowhere: "
                "--registration names no destination"
            )
        unknown = frozenset[str]() if deferred is None else deferred.unknown
        for warning in warnings:
            if warning.path and warning.path[0] in unknown:
                continue
            at = declaration.find(model, warning.path).at
            hint = f" ({warning.hint})" if warning.hint else ""
            self._resource_table.warnings.append(
                f"{self._place(at)}: {resource.ref}: {warning.message}{hint}"
            )

    @contextmanager
    def deferred_loop(
        self,
        model: type[Resource],
        name: str,
        declaration: Declaration,
        expression_context: ExpressionContext,
    ) -> Iterator[LoopValues | None]:
        """Add the loop of ``declaration``, which makes resources of ``model``, and yield its elements.

        Yields None if they are not known. What is made in the block is what the loop makes.
        """
        from reactor.manifest.deferred_elements import DeferredElements  # noqa: PLC0415 - few loops are over outputs
        from reactor.resource.deferred_loop import DeferredLoop  # noqa: PLC0415

        label = f"{model.kind}#{self._scope}{name}"
        body = declaration.body
        assert body is not None  # noqa: S101 - for mypy: a loop has a body
        reader = ValueReader(self._problems, expression_context.scope)
        deferred_keys = {FOR_EACH, *(key for key in (SUBITEMS,) if uses_outputs(body.get(key)))}
        values = reader.read(body, DeferredLoop, body.keys() - deferred_keys)
        values.plain["name"] = label
        number = self._resource_table.repeat(f"{DeferredLoop.kind}#{label}", declaration.at, self._problems)
        ref = numbered(f"{DeferredLoop.kind}#{label}", number)
        deferred = DeferredElements(ref, declaration, values, expression_context, self._known_outputs)
        elements = deferred.expand(self._report_late)
        known = {} if elements is None else {FOR_EACH: elements.elements, SUBITEMS: elements.nested}
        loop = DeferredLoop.model_validate(values.plain | known)
        declare(loop, Declared(ref, self.form, declaration.at, deferred))
        self._add(loop, declaration)
        first = len(self._resource_table.resources)
        yield elements
        makes = "*" if issubclass(model, Composite) else model.kind
        made = tuple(each.ref for each in self._resource_table.resources[first:])
        loop.expand(makes, None if elements is None else made)

    def _report_late(self, found: MisplacedError) -> None:
        report_expression(found.error, self._problems, found.expressive.at, found.expressive.text)

    def _scope_alias(self, resource: Resource) -> None:
        """Let the alias begin with the name of the role."""
        if self._scope and resource.alias is not None:
            resource.alias = self._scope + resource.alias

    def _keep_secrets_out_of_names(
        self, model: type[Resource], declaration: Declaration, values: Values
    ) -> None:
        """Report a name or an alias that contains a secret: names are shown everywhere."""
        if self._problems.source.is_secret:
            values.secret |= {key for key, value in values.plain.items() if redacted(value) != value}
        for key in values.secret & _NAMES:
            message = f"the {key} of a resource is shown everywhere, and must not hold a secret"
            hint = "choose another name, and pass the secret in a property, such as command of exec"
            self._problems.add("R0402", message, declaration.find(model, (key,)).at, hint)
            self._resource_table.broken.add(f"{model.kind}#{values.plain.get('name')}")
            values.invalid.add("name")

    def _add(self, resource: Resource, declaration: Declaration) -> None:
        index = len(self._resource_table.resources)
        self.direct.append(index)
        self._resource_table.add(resource, declaration)
        if self._meta:
            resource.meta = resource.meta.model_copy(update=self._meta)
        if not self._is_for_checking:
            resource.save_memory()
        if isinstance(resource, Composite):
            self._included(resource, declaration.at)

    def _deferred(
        self,
        model: type[Resource],
        declaration: Declaration,
        values: Values,
        expression_context: ExpressionContext,
    ) -> DeferredBinding | None:
        """Return the expressions to evaluate at each check, or None. Adds the values known already to ``values``."""
        conditions = self._conditions(model, declaration, values)
        follows_audits = values.follows_audits and not issubclass(model, Composite)
        if not (values.deferred or conditions or follows_audits):
            return None
        deferred = DeferredBinding(model, declaration, values, conditions, expression_context)

        def report(found: MisplacedError) -> None:
            self._report_expression(found, values, declaration)
            values.invalid.update(values.deferred)

        values.plain.update(deferred.try_values(report))
        if deferred.unknown:
            fields = model.model_fields
            required = [name for name in deferred.unknown & fields.keys() if fields[name].is_required()]
            values.plain.update(dict.fromkeys(required, MASK))  # never applied: the check waits
        values.secret |= deferred.secret
        try:
            deferred.try_conditions()
        except UndecidedError as undecided:
            condition = undecided.condition
            report_expression(undecided.error, self._problems, condition.at, condition.text)
            values.invalid.add("control")
        return deferred

    def _conditions(
        self, model: type[Resource], declaration: Declaration, values: Values
    ) -> tuple[Condition, ...]:
        control = values.plain.get("control")
        if not isinstance(control, dict):
            return ()
        found = []
        for name in ("if", "unless"):
            if not isinstance(text := control.get(name), str):
                continue
            at = declaration.find(model, ("control", name)).at
            try:
                found.append(Condition(name, bare_expression(text), text, at))
            except ExpressionError as error:
                report_expression(error, self._problems, at, text)
                values.invalid.add("control")
        return tuple(found)

    def _claim(
        self, model: type[Resource], declaration: Declaration, values: Values
    ) -> tuple[tuple[str, ...], int]:
        """Return the refs of a resource, by name and by alias, and its number. There are no refs if one is taken."""
        name, alias = values.plain.get("name"), values.plain.get("alias")
        if not isinstance(name, str):
            return (), 1
        is_composite = issubclass(model, Composite)
        is_label = (is_composite or bool(self._scope)) and model.is_label(
            values.plain.keys() | values.deferred.keys()
        )
        ref = f"{model.kind}#{self._scope if is_label else ''}{name}"
        again = _SAME_IN_LOOP if FOR_EACH in (declaration.body or ()) else _APPLIED_TWICE
        # Two directories may contain manifests with the same name.
        may_repeat = self.form.is_ccm and not self._resource_table.is_of_other_part(ref)
        if may_repeat or (is_composite and not is_label):
            return (ref,), self._resource_table.repeat(ref, declaration.at, self._problems)
        hint = "remove one of them, or rename it"
        if not self._resource_table.claim(ref, declaration.at, self._problems, hint, again):
            return (), 1
        if not isinstance(alias, str) or alias == name:
            return (ref,), 1
        other, at = f"{model.kind}#{self._scope}{alias}", declaration.find(model, ("alias",)).at
        if not self._resource_table.claim(other, at, self._problems, "choose another alias", again):
            self._resource_table.broken.add(ref)
            return (), 1
        return (ref, other), 1


def _offset(expressive: Expressive, values: Values, declaration: Declaration) -> int:
    """Return where an expression of ``values`` is now; an earlier load may have read it at another place."""
    for key, tree in values.deferred.items():
        if tree is expressive:
            nodes = (declaration.body, declaration.defaults, declaration.general)
            return next(node.value_at(key) for node in nodes if node is not None and key in node)
    return expressive.at
