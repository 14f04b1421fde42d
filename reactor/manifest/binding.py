"""Converts the entries of a manifest to declarations and values: both forms of an entry, and the defaults of lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from reactor.manifest.declaration import Declaration
from reactor.manifest.expression_context import ExpressionContext
from reactor.manifest.kind_lookup import Kinds, UnusableKind, look_up
from reactor.manifest.loops import FOR_EACH, Iteration, Loops
from reactor.manifest.nodes import INVALID, Mapping, Sequence
from reactor.manifest.phrasing import NAMES, shown
from reactor.manifest.resource_factory import Bound, ResourceFactory
from reactor.manifest.resource_table import ResourceTable
from reactor.manifest.scalar_types import field_names
from reactor.manifest.source import Problems
from reactor.manifest.values import (
    DEFAULTS,
    NO_DEFAULT,
    NO_DEFAULTS,
    KindDefaults,
    ValueReader,
    Values,
)
from reactor.named_tuple import NamedTuple
from reactor.resource.base import Resource
from reactor.resource.composite import Composite

if TYPE_CHECKING:
    from reactor.manifest.bound_items import BoundItems, BoundList
    from reactor.manifest.prototypes import Prototypes

_LONG = 50
"""The fewest items of a list that are made alike: for fewer, it does not pay to find out how."""


class _List(NamedTuple):
    """What the items of one list have in common: their kind, their defaults, and what earlier loads made of them."""

    model: type[Resource]
    defaults: Callable[[ValueReader], Values]
    bound: BoundList | None
    prototypes: Prototypes | None


class Binder:
    """Reads the entries of one file in order, and calls ``factory`` to make their resources."""

    def __init__(
        self,
        problems: Problems,
        resource_table: ResourceTable,
        kinds: Kinds,
        expression_context: ExpressionContext,
        factory: ResourceFactory,
        *,
        allows_loops: bool,
        allows_prototypes: bool = False,
        defaults: KindDefaults = NO_DEFAULTS,
        bound: BoundItems | None = None,
    ) -> None:
        self._problems = problems
        self._resource_table = resource_table
        self._kinds = kinds
        self._factory = factory
        self._general = defaults
        self._bound = bound
        self._allows_prototypes = allows_prototypes
        self._loops = Loops(problems, expression_context, allowed=allows_loops)
        self._found: dict[str, type[Resource] | UnusableKind] = {}

    def bind(self, entries: Sequence) -> None:
        """Bind every entry of the list under ``resources``."""
        for index, entry in enumerate(entries):
            if isinstance(entry, Mapping) and entry:
                self._bind_entry(entry)
            elif entry is not INVALID:
                message = (
                    f"an entry of resources maps a kind to its resources; this is {shown(entry or None)}"
                )
                self._problems.add(
                    "R0105", message, entries.value_at(index), "write '- file:' and what belongs to it below"
                )

    def _bind_entry(self, entry: Mapping) -> None:
        first, *others = entry
        if others:
            from reactor.manifest import malformed_entries  # noqa: PLC0415 - only for an error

            if malformed_entries.is_task(entry):
                malformed_entries.report_task(entry, self._kinds.names(), self._problems)
                return
            is_kind = isinstance(self._find(others[0]), type)
            malformed_entries.report_kinds(entry, self._problems, starts_another=is_kind)
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
        elif isinstance(node, Mapping) and _is_list_without_dashes(node, model):
            self._resource_table.broken.update(f"{kind}#{name}" for name in node)
            first = next(iter(node))
            message = f"{kind} must be a list of resources, or the property 'name' of one"
            self._problems.add(
                "R0105", message, node.key_at(first), f"write '- {first}:', and so each of them"
            )
        elif isinstance(node, Mapping):
            general = self._general.get(model.kind, NO_DEFAULT)
            declaration = Declaration(_name_at(node, entry.key_at(kind)), node, None, general.node)
            name = node.get("name")
            for iteration in self._iterations(model, str(name), declaration):
                values = iteration.reader.read(node, model, self._loops.keys(node)).over(general.values)
                if name is None:
                    self._resource_table.broken.update(f"{kind}#{each}" for each in _names_below(node))
                self._factory.make(model, declaration, values, iteration.expression_context)
        elif node is not INVALID and len(entry) == 1:
            hint = "list them below it, each as '- NAME:'"
            self._problems.add(
                "R0105", f"{kind} must be a list of resources, not {shown(node)}", entry.key_at(kind), hint
            )

    def _bind_list(self, model: type[Resource], items: Sequence) -> None:
        defaults = self._defaults(model, items)
        general = self._general.get(model.kind, NO_DEFAULT)

        @cache
        def common(reader: ValueReader) -> Values:
            return reader.read(defaults, model).over(general.values) if defaults else general.values

        if not self._has_loops(items):
            common(self._loops.outside.reader)  # reports its errors also if the list has no other item
        bound = self._bound_list(model, (defaults, general.node), common)
        of_list = _List(model, common, bound, self._prototypes(model, items))
        for index, item in enumerate(items):
            if not isinstance(item, Mapping) or len(item) != 1:
                self._report_item(model, item, items.value_at(index))
                continue
            [(name, body)] = item.items()
            if name == DEFAULTS:
                continue
            if body is None or isinstance(body, Mapping):
                declaration = Declaration(item.key_at(name), body, defaults, general.node)
                if of_list.prototypes is not None and of_list.prototypes.add(name, declaration):
                    continue
                if not self._bind_again(of_list, name, declaration):
                    self._bind_item(of_list, name, declaration)
                continue
            self._resource_table.broken.add(f"{model.kind}#{name}")
            if body is not INVALID:
                from reactor.manifest.malformed_entries import report_body  # noqa: PLC0415 - only for an error

                report_body(model, item, self._problems)

    def _bound_list(
        self,
        model: type[Resource],
        written: tuple[Mapping | None, Mapping | None],
        common: Callable[[ValueReader], Values],
    ) -> BoundList | None:
        if self._bound is None:
            return None
        from reactor.manifest.bound_items import BoundList  # noqa: PLC0415 - only an editor has bound items

        return BoundList(self._bound, model, written, common, self._loops.outside)

    def _has_loops(self, items: Sequence) -> bool:
        looped = (
            body
            for item in items
            if isinstance(item, Mapping)
            for body in item.values()
            if isinstance(body, Mapping) and FOR_EACH in body
        )
        return any(map(self._loops.keys, looped))

    def _prototypes(self, model: type[Resource], items: Sequence) -> Prototypes | None:
        if not self._allows_prototypes or len(items) < _LONG or issubclass(model, Composite):
            return None
        from reactor.manifest.prototypes import Prototypes  # noqa: PLC0415 - few manifests have long lists

        return Prototypes(model, self._problems, self._resource_table, self._factory)

    def _bind_item(self, of_list: _List, key: str, declaration: Declaration) -> None:
        """Bind one item of a list: a name (``key``) and its properties. A loop makes several resources of it."""
        body, problems = declaration.body, self._problems.count
        if body is not None and "name" in body:
            at = body.key_at("name")
            self._problems.add(
                "R0104", "the name is given twice", at, f"the key {shown(key)} is the name already"
            )
        loop = body is not None and self._loops.keys(body)
        for iteration in self._iterations(of_list.model, key, declaration):
            values = self._values(of_list, key, declaration, iteration.reader)
            is_clean = self._problems.count == problems
            made = self._factory.make(of_list.model, declaration, values, iteration.expression_context)
            if of_list.bound is not None and made is not None and is_clean:
                of_list.bound.keep(key, declaration, made)
            if of_list.prototypes is not None and isinstance(made, Bound) and is_clean and not loop:
                of_list.prototypes.learn(body, made)

    def _values(self, of_list: _List, key: str, declaration: Declaration, reader: ValueReader) -> Values:
        values = self._own_values(of_list, key, declaration, reader).over(of_list.defaults(reader))
        reader.read_name(values, key, declaration.at)
        return values

    def _own_values(self, of_list: _List, key: str, declaration: Declaration, reader: ValueReader) -> Values:
        """Return the values of the body of an item, without defaults and name."""
        body, problems, bound = declaration.body, self._problems.count, of_list.bound
        own = None if bound is None else bound.own_values(key, declaration)
        if own is None:
            own = Values() if body is None else reader.read(body, of_list.model, self._loops.keys(body))
            if bound is not None and not own.invalid and self._problems.count == problems:
                bound.keep_values(key, declaration, own)
        return own

    def _bind_again(self, of_list: _List, key: str, declaration: Declaration) -> bool:
        """Add what an earlier load made of the same item, and return whether there is such."""
        found = None if of_list.bound is None else of_list.bound.find(key, declaration)
        if found is not None:
            self._factory.make_again(found, declaration, self._loops.outside.expression_context)
        return found is not None

    def _iterations(self, model: type[Resource], name: str, declaration: Declaration) -> Iterable[Iteration]:
        """Return an iteration for each resource that the declaration makes. ``name`` is their name as written."""
        body = declaration.body
        if body is None or not self._loops.keys(body):
            return (self._loops.outside,)
        return self._looped(model, name, declaration, body)

    def _looped(
        self, model: type[Resource], name: str, declaration: Declaration, body: Mapping
    ) -> Iterator[Iteration]:
        """Yield an iteration for each resource that a loop makes. ``body`` is that of the declaration."""
        if self._loops.is_deferred(body):
            if not self._loops.is_valid(body):
                self._resource_table.unread = True
                return
            context = self._loops.outside.expression_context
            with self._factory.deferred_loop(model, name, declaration, context) as elements:
                if elements is None:
                    self._check_body(model, name, declaration)
                else:
                    yield from self._each(model, name, declaration, self._loops.over(body, elements))
            return
        yield from self._each(model, name, declaration, self._loops.iterations(body))

    def _each(
        self, model: type[Resource], name: str, declaration: Declaration, found: list[Iteration] | None
    ) -> Iterator[Iteration]:
        body = declaration.body
        if found is None or body is None:  # it is not known which resources there are
            self._resource_table.unread = True
        elif not found:
            self._check_body(model, name, declaration)
            # Roles may have resources of any kind.
            self._resource_table.broken.add("*#*" if issubclass(model, Composite) else f"{model.kind}#*")
        else:
            for iteration in found:
                with self._problems.in_iteration(iteration.key, body.key_at(FOR_EACH)):
                    yield iteration

    def _check_body(self, model: type[Resource], name: str, declaration: Declaration) -> None:
        """Report what is wrong with a loop that makes nothing yet, whatever its elements will be."""
        from reactor.manifest.loop_bodies import check_body  # noqa: PLC0415 - few loops have no elements

        check_body(model, name, declaration, self._problems, self._loops.outside.expression_context.scope)

    def _defaults(self, model: type[Resource], items: Sequence) -> Mapping | None:
        """Return the properties under ``defaults`` of a list. The item may be anywhere in the list."""
        found = [
            item for item in items if isinstance(item, Mapping) and DEFAULTS in item and [*item] == [DEFAULTS]
        ]
        for another in found[1:]:
            notes = [("first given here", found[0].at)]
            message = f"the list of {model.kind} resources has defaults already"
            self._problems.add(
                "R0104", message, another.at, "keep one of the two, or start a new list", notes
            )
        defaults = found[0][DEFAULTS] if found else None
        if not isinstance(defaults, Mapping):
            if defaults is not None and defaults is not INVALID:
                message, hint = f"defaults are a map, not {shown(defaults)}", "write defaults: {owner: root}"
                self._problems.add("R0105", message, found[0].value_at(DEFAULTS), hint)
            return None
        if "name" in defaults:
            self._problems.add("R0105", "defaults can't give a name", defaults.key_at("name"), "remove it")
        return defaults

    def _report_item(self, model: type[Resource], item: Any, at: int) -> None:
        if item is INVALID:
            return
        names = [item] if isinstance(item, str) else _names_below([item])
        self._resource_table.broken.update(f"{model.kind}#{name}" for name in names)
        from reactor.manifest.malformed_entries import report_item  # noqa: PLC0415 - only for an error

        report_item(item, at, self._problems)

    def _find(self, kind: str) -> type[Resource] | UnusableKind:
        if kind not in self._found:
            self._found[kind] = look_up(self._kinds, kind)
        return self._found[kind]

    def _report_kind(self, entry: Mapping, kind: str, reason: UnusableKind) -> None:
        self._problems.add(reason.code, reason.message, entry.key_at(kind), reason.hint)
        for name in _names_below(entry[kind]):
            self._resource_table.broken.update(f"{each}#{name}" for each in (kind, reason.meant) if each)


def _name_at(body: Mapping, otherwise: int) -> int:
    return body.value_at("name") if "name" in body else otherwise


def _is_list_without_dashes(node: Mapping, model: type[Resource]) -> bool:
    """Whether ``node`` looks like a list of resources whose dashes were forgotten (``name: {...}``)."""
    return (
        bool(node)
        and not node.keys() & field_names(model)
        and all(body is None or isinstance(body, Mapping) for body in node.values())
    )


def _names_below(node: Any) -> list[str]:
    """Return the names of the resources declared below a kind, also where their declarations are invalid."""
    if isinstance(node, Mapping):
        return [name for key in NAMES if isinstance(name := node.get(key), str)]
    items = [item for item in node if isinstance(item, Mapping)] if isinstance(node, list) else []
    return [name for item in items for name in (*item, *(_names_below(item) if len(item) > 1 else ()))]
