"""From the entries of a manifest to resources: both entry forms, defaults, identity."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pydantic import TypeAdapter, ValidationError

from reactor.expression.errors import ExpressionError
from reactor.manifest.collection import Collection, Origin
from reactor.manifest.declaration import Declaration
from reactor.manifest.evaluation import MisplacedError, bare_expression, offset_in_source
from reactor.manifest.kinds import Kinds, UnusableKind, look_up
from reactor.manifest.late import Condition, LateBinding, UndecidedError
from reactor.manifest.nodes import BROKEN, Mapping, Sequence
from reactor.manifest.source import Problems
from reactor.manifest.validation import Inspector
from reactor.manifest.values import ValueReader, Values
from reactor.manifest.wording import listed, shown
from reactor.manifest.world import World
from reactor.resource.base import Meta, Resource
from reactor.resource.composite import Composite
from reactor.resource.properties import References
from reactor.resource.subscription import Subscriptions

_DEFAULTS = "defaults"
_REFERENCES: dict[str, TypeAdapter[Any]] = {
    "require": TypeAdapter(References),
    "subscribe": TypeAdapter(Subscriptions),
    "after": TypeAdapter(References),
}
_ALONE = Meta(automatic_edges=False)


class Binder:
    """Binds the entries of one file, one after the other, and adds what they come to to a `Collection`.

    ``world`` is what expressions of the file can reach. In a file that ``repeats``, names need not be unique, and
    to subscribe is not to require. One ``in_order`` wants no edges but those it says.
    ``meta`` is asked of every resource. ``included`` is called with every one that stands for another manifest, once it is added. ``direct`` are the
    indices of the file's own resources.
    """

    def __init__(
        self,
        problems: Problems,
        collection: Collection,
        kinds: Kinds,
        world: World,
        *,
        repeats: bool,
        in_order: bool,
        meta: dict[str, bool],
        included: Callable[[Composite, int], None],
    ) -> None:
        self.direct: list[int] = []
        self._problems = problems
        self._collection = collection
        self._kinds = kinds
        self._world = world
        self._repeats = repeats
        self._in_order = in_order
        self._meta = meta
        self._included = included
        self._context = world.context
        self._place = problems.source.lines.place
        self._reader = ValueReader(problems, world.scope)
        self._found: dict[str, type[Resource] | UnusableKind] = {}

    def bind(self, entries: Sequence) -> None:
        """Bind every entry of the list under ``resources``."""
        for index, entry in enumerate(entries):
            if isinstance(entry, Mapping) and entry:
                self._bind_entry(entry)
            elif entry is not BROKEN:
                message = (
                    f"an entry of resources maps a kind to its resources; this is {shown(entry or None)}"
                )
                self._problems.add(
                    message, entries.value_at(index), "write '- file:' and what belongs to it below"
                )

    def _bind_entry(self, entry: Mapping) -> None:
        first, *others = entry
        if others:
            hint = f"indent what belongs to {first} below it"
            if isinstance(self._find(others[0]), type):
                hint = f"start a new entry: '- {others[0]}:'"
            message = f"an entry declares one kind; this one has {listed((first, *others), 'and')}"
            self._problems.add(message, entry.key_at(others[0]), hint)
        for kind in entry:
            model = self._find(kind)
            if isinstance(model, type):
                self._bind_kind(model, entry, kind)
            elif kind == first:
                self._report_kind(entry, kind, model)

    def _bind_kind(self, model: type[Resource], entry: Mapping, kind: str) -> None:
        node = entry[kind]
        if isinstance(node, Sequence):
            self._bind_list(model, node)
        elif isinstance(node, Mapping):
            values = self._reader.read(node, model)
            self._bind_resource(model, Declaration(_name_at(node, entry.key_at(kind)), node), values)
        elif node is not BROKEN and len(entry) == 1:
            hint = "list them below it, each as '- NAME:'"
            self._problems.add(
                f"{kind} wants a list of resources, not {shown(node)}", entry.key_at(kind), hint
            )

    def _bind_list(self, model: type[Resource], items: Sequence) -> None:
        defaults = self._defaults(model, items)
        common = self._reader.read(defaults, model) if defaults else Values()
        for index, item in enumerate(items):
            if not isinstance(item, Mapping) or len(item) != 1:
                self._report_item(model, item, items.value_at(index))
                continue
            [(name, body)] = item.items()
            if name == _DEFAULTS:
                continue
            if body is None or isinstance(body, Mapping):
                self._bind_item(model, name, Declaration(item.key_at(name), body, defaults), common)
                continue
            self._collection.broken.add(f"{model.kind}#{name}")
            if body is not BROKEN:
                message = f"the properties of {shown(name)} are a map, not {shown(body)}"
                self._problems.add(message, item.value_at(name), "write each as 'property: value'")

    def _bind_item(self, model: type[Resource], key: str, declaration: Declaration, common: Values) -> None:
        """Bind one ``NAME: properties`` of a list."""
        body = declaration.body
        values = (Values() if body is None else self._reader.read(body, model)).over(common)
        if body is not None and "name" in body:
            at = body.key_at("name")
            self._problems.add("the name is given twice", at, f"the key {shown(key)} is the name already")
        name = self._reader.name(key, declaration.at)
        values.plain["name"] = key if name is None else name
        if name is None:
            values.spoilt.add("name")
        self._bind_resource(model, declaration, values)

    def _bind_resource(self, model: type[Resource], declaration: Declaration, values: Values) -> None:
        refs, number = self._claim(model, declaration, values) if "name" not in values.spoilt else ((), 1)
        late = self._late(model, declaration, values)
        resource = None
        try:
            resource = model.model_validate(values.plain, context=self._context)
        except ValidationError as error:
            Inspector(self._problems, model, declaration, model.kind).report(error, values)
        origin = Origin(self._problems.source, declaration)
        if resource is None or values.spoilt or not refs:
            if refs:
                self._collection.wrecks.append((_wreck(model, values), origin))
            return
        resource._place = self._place(declaration.at)  # noqa: SLF001 - the manifest package alone sets it
        if number > 1:
            resource.repeat(number)
        if late is not None:
            resource.settle_with(late)
        if values.secret:
            resource.keep_secret(values.secret)
        self._add(resource, origin)

    def _add(self, resource: Resource, origin: Origin) -> None:
        index = len(self._collection.resources)
        self.direct.append(index)
        self._collection.add(resource, origin)
        if self._meta:
            resource.meta = resource.meta.model_copy(update=self._meta)
        if self._repeats:
            resource.keep_to_ccm(in_order=self._in_order)
        if isinstance(resource, Composite):
            self._included(resource, origin.declaration.at)

    def _late(self, model: type[Resource], declaration: Declaration, values: Values) -> LateBinding | None:
        """What waits until the resource is checked, if anything does; what is known of it already goes to ``values``."""
        conditions = self._conditions(model, declaration, values)
        if not (values.late or conditions):
            return None
        late = LateBinding(model, {**values.plain}, values.late, conditions, self._world)
        try:
            values.plain.update(late.try_values())
            values.secret |= late.secret
        except MisplacedError as found:
            self._report(found.error, found.expressive.at, found.expressive.text)
            values.spoilt.update(values.late)
        try:
            late.try_conditions()
        except UndecidedError as undecided:
            self._report(undecided.error, undecided.condition.at, undecided.condition.text)
            values.spoilt.add("control")
        return late

    def _report(self, error: ExpressionError, at: int, text: str) -> None:
        where = offset_in_source(self._problems.source, at, text, error.start, error.end)
        self._problems.add(error.message, where, error.hint)

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
                self._report(error, at, text)
                values.spoilt.add("control")
        return tuple(found)

    def _claim(
        self, model: type[Resource], declaration: Declaration, values: Values
    ) -> tuple[tuple[str, ...], int]:
        """The refs that lead to a resource, by name and by alias, none when one of them is taken; and its number."""
        name, alias = values.plain.get("name"), values.plain.get("alias")
        if not isinstance(name, str):
            return (), 1
        ref = f"{model.kind}#{name}"
        if self._repeats or issubclass(model, Composite):  # two directories may hold manifests of one name
            return (ref,), self._collection.repeat(ref, declaration.at, self._problems)
        if not self._collection.claim(
            ref, declaration.at, self._problems, "remove one of them, or rename it"
        ):
            return (), 1
        if not isinstance(alias, str) or alias == name:
            return (ref,), 1
        other, at = f"{model.kind}#{alias}", declaration.find(model, ("alias",)).at
        if not self._collection.claim(other, at, self._problems, "choose another alias"):
            self._collection.broken.add(ref)
            return (), 1
        return (ref, other), 1

    def _defaults(self, model: type[Resource], items: Sequence) -> Mapping | None:
        """The properties under ``defaults`` of a list, which may stand anywhere in it."""
        found = [item for item in items if isinstance(item, Mapping) and [*item] == [_DEFAULTS]]
        for another in found[1:]:
            notes = [("first given here", found[0].at)]
            message = f"the list of {model.kind} resources has defaults already"
            self._problems.add(message, another.at, "keep one of the two, or start a new list", notes)
        defaults = found[0][_DEFAULTS] if found else None
        if not isinstance(defaults, Mapping):
            if defaults is not None and defaults is not BROKEN:
                self._problems.add(f"defaults are a map, not {shown(defaults)}", found[0].value_at(_DEFAULTS))
            return None
        if "name" in defaults:
            self._problems.add("defaults can't give a name", defaults.key_at("name"), "remove it")
        return defaults

    def _report_item(self, model: type[Resource], item: Any, at: int) -> None:
        if item is BROKEN:
            return
        names = [item] if isinstance(item, str) else _names_below([item])
        self._collection.broken.update(f"{model.kind}#{name}" for name in names)
        if isinstance(item, Mapping) and item:
            first, second, *_ = item
            hint = f"indent the properties below {first}:"
            message = f"an item of the list is one name with its properties; this one has {len(item)} keys"
            self._problems.add(message, item.key_at(second), hint)
        else:
            hint = f"write '- {item}:'" if isinstance(item, str) and item.isprintable() else "write '- NAME:'"
            self._problems.add(
                f"an item of the list is a name with its properties, not {shown(item or None)}", at, hint
            )

    def _find(self, kind: str) -> type[Resource] | UnusableKind:
        if kind not in self._found:
            self._found[kind] = look_up(self._kinds, kind)
        return self._found[kind]

    def _report_kind(self, entry: Mapping, kind: str, reason: UnusableKind) -> None:
        self._problems.add(reason.message, entry.key_at(kind), reason.hint)
        for name in _names_below(entry[kind]):
            self._collection.broken.update(f"{each}#{name}" for each in (kind, reason.meant) if each)


def _wreck(model: type[Resource], values: Values) -> Resource:
    """A resource with nothing but its name and what it refers to: that much can be checked of any of them."""
    sound = {"name": values.plain["name"], "meta": _ALONE}
    if isinstance(values.plain.get("alias"), str):
        sound["alias"] = values.plain["alias"]
    for name, type_of in _REFERENCES.items():
        with suppress(ValidationError):
            sound[name] = type_of.validate_python(values.plain.get(name, ()))
    return model.model_construct(**sound)


def _name_at(body: Mapping, otherwise: int) -> int:
    return body.value_at("name") if "name" in body else otherwise


def _names_below(node: Any) -> list[str]:
    """The names of the resources declared below a kind, whatever is wrong with them."""
    if isinstance(node, Mapping):
        return [name] if isinstance(name := node.get("name"), str) else []
    items = node if isinstance(node, list) else []
    return [name for item in items if isinstance(item, Mapping) for name in item]
