"""Makes a resource and its `Declared` record from the values of one declaration; from invalid ones, a placeholder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from reactor.language.errors import ExpressionError
from reactor.manifest.declaration import Declaration
from reactor.manifest.deferred import Condition, DeferredBinding, UndecidedError
from reactor.manifest.evaluation import MisplacedError, bare_expression, report_expression
from reactor.manifest.expression_context import ExpressionContext
from reactor.manifest.resource_table import Origin, ResourceTable
from reactor.manifest.source import Problems
from reactor.manifest.validation import Inspector
from reactor.manifest.values import Values
from reactor.resource.base import Resource
from reactor.resource.common_properties import Meta, Subscriptions
from reactor.resource.composite import Composite
from reactor.resource.declared import Declared, Form, declare, numbered
from reactor.resource.properties import References
from reactor.resource.redaction import redacted

_REFERENCES: dict[str, TypeAdapter[Any]] = {
    name: TypeAdapter(taken, config=ConfigDict(defer_build=True))
    for name, taken in (("require", References), ("subscribe", Subscriptions), ("after", References))
}
_NAMES = frozenset(("name", "alias"))


class ResourceFactory:
    """Makes the resources of one file, and adds them to a `ResourceTable`.

    ``expression_context`` has the roots and functions of the file's expressions. ``meta`` overrides values in the
    ``meta`` of every resource. ``included`` is called with each `Composite` after it was added, and the offset of its
    declaration. ``direct`` has the indices of the file's own resources.
    """

    def __init__(
        self,
        problems: Problems,
        resource_table: ResourceTable,
        expression_context: ExpressionContext,
        form: Form,
        *,
        meta: Mapping[str, Any],
        included: Callable[[Composite, int], None],
    ) -> None:
        self.direct: list[int] = []
        self._problems = problems
        self._resource_table = resource_table
        self._expression_context = expression_context
        self._form = form
        self._meta = meta
        self._included = included
        self._context = expression_context.context
        self._place = problems.source.lines.place

    def make(self, model: type[Resource], declaration: Declaration, values: Values) -> None:
        """Make a resource of ``model`` with these ``values``.

        If there are problems, report them and add a placeholder.
        """
        self._keep_secrets_out_of_names(model, declaration, values)
        refs, number = self._claim(model, declaration, values) if "name" not in values.invalid else ((), 1)
        late = self._late(model, declaration, values)
        resource = None
        try:
            resource = model.model_validate(values.plain, context=self._context)
        except ValidationError as error:
            Inspector(self._problems, model, declaration, model.kind).report(error, values)
        origin = Origin(self._problems.source, declaration)
        if resource is None or values.invalid or not refs:
            if late is not None:  # also watch the files it reads: they may be the cause of the problem
                self._resource_table.files.update(dict.fromkeys(sorted(late.reads)))
            self._resource_table.unread |= issubclass(model, Composite)
            if refs:
                placeholder = _placeholder(model, values)
                ref = numbered(placeholder.ref, number)
                declare(placeholder, Declared(ref, self._form, declaration.at))
                self._resource_table.placeholders.append((placeholder, origin))
            return
        ref, secrets = numbered(resource.ref, number), frozenset(values.secret)
        declare(resource, Declared(ref, self._form, declaration.at, late, secrets=secrets))
        if resource.register_when_stable:
            at = declaration.find(model, ("register_when_stable",)).at
            self._resource_table.warnings.append(
                f"{self._place(at)}: register_when_stable of {resource.ref} is checked, and published nowhere: "
                "no network is configured"
            )
        unknown = frozenset[str]() if late is None else late.unknown
        for doubt in resource.warnings():
            if doubt.path and doubt.path[0] in unknown:
                continue
            at = declaration.find(model, doubt.path).at
            hint = f" ({doubt.hint})" if doubt.hint else ""
            self._resource_table.warnings.append(f"{self._place(at)}: {resource.ref}: {doubt.message}{hint}")
        self._add(resource, origin)

    def _keep_secrets_out_of_names(
        self, model: type[Resource], declaration: Declaration, values: Values
    ) -> None:
        """Report a name or an alias that contains a secret: names are shown everywhere."""
        if self._problems.source.is_secret:
            values.secret |= {key for key, value in values.plain.items() if redacted(value) != value}
        for key in values.secret & _NAMES:
            message = f"the {key} of a resource is shown everywhere, and must not hold a secret"
            hint = "name it otherwise, and give the secret as a property: exec, for one, has command"
            self._problems.add("R0402", message, declaration.find(model, (key,)).at, hint)
            self._resource_table.broken.add(f"{model.kind}#{values.plain.get('name')}")
            values.invalid.add("name")

    def _add(self, resource: Resource, origin: Origin) -> None:
        index = len(self._resource_table.resources)
        self.direct.append(index)
        self._resource_table.add(resource, origin)
        if self._meta:
            resource.meta = resource.meta.model_copy(update=self._meta)
        if isinstance(resource, Composite):
            self._included(resource, origin.declaration.at)

    def _late(
        self, model: type[Resource], declaration: Declaration, values: Values
    ) -> DeferredBinding | None:
        """Return the expressions to evaluate at each check, or None. Adds the values known already to ``values``."""
        conditions = self._conditions(model, declaration, values)
        if not (values.late or conditions or _follows_audits(model, values)):
            return None
        late = DeferredBinding(model, declaration, values, conditions, self._expression_context)

        def report(found: MisplacedError) -> None:
            report_expression(found.error, self._problems, found.expressive.at, found.expressive.text)
            values.invalid.update(values.late)

        values.plain.update(late.try_values(report))
        values.secret |= late.secret
        try:
            late.try_conditions()
        except UndecidedError as undecided:
            condition = undecided.condition
            report_expression(undecided.error, self._problems, condition.at, condition.text)
            values.invalid.add("control")
        return late

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
        ref = f"{model.kind}#{name}"
        # Two directories may contain manifests with the same name.
        may_repeat = self._form.is_ccm and not self._resource_table.is_of_other_part(ref)
        if may_repeat or issubclass(model, Composite):
            return (ref,), self._resource_table.repeat(ref, declaration.at, self._problems)
        if not self._resource_table.claim(
            ref, declaration.at, self._problems, "remove one of them, or rename it"
        ):
            return (), 1
        if not isinstance(alias, str) or alias == name:
            return (ref,), 1
        other, at = f"{model.kind}#{alias}", declaration.find(model, ("alias",)).at
        if not self._resource_table.claim(other, at, self._problems, "choose another alias"):
            self._resource_table.broken.add(ref)
            return (), 1
        return (ref, other), 1


def _follows_audits(model: type[Resource], values: Values) -> bool:
    """Whether the clock of the resource moves at each audit."""
    meta = values.plain.get("meta")
    return isinstance(meta, dict) and meta.get("now") == "audit" and not issubclass(model, Composite)


def _placeholder(model: type[Resource], values: Values) -> Resource:
    """Return a resource with only its name and references: these are checked even if other properties are invalid."""
    sound = {"name": values.plain["name"], "meta": Meta(automatic_edges=False)}
    if isinstance(values.plain.get("alias"), str):
        sound["alias"] = values.plain["alias"]
    for name, type_of in _REFERENCES.items():
        with suppress(ValidationError):
            sound[name] = type_of.validate_python(values.plain.get(name, ()))
    return model.model_construct(**sound)
