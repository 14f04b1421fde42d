"""From the entries of a manifest to resources: both entry forms, defaults, identity."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from pydantic import TypeAdapter, ValidationError

from reactor.manifest.declaration import Declaration
from reactor.manifest.identity import Identities
from reactor.manifest.kinds import Kinds, UnusableKind, look_up
from reactor.manifest.nodes import BROKEN, Mapping, Sequence
from reactor.manifest.source import Problems
from reactor.manifest.validation import Inspector
from reactor.manifest.values import ValueReader, Values
from reactor.manifest.wording import listed, shown
from reactor.resource.base import Meta, Resource
from reactor.resource.properties import References

_DEFAULTS = "defaults"
_REFERENCES = ("require", "subscribe", "after")
_REFERENCES_TYPE: TypeAdapter[tuple[str, ...]] = TypeAdapter(References)
_ALONE = Meta(automatic_edges=False)


class Binder:
    """Binds entries one after the other. ``base`` is the directory that relative paths start from.

    ``resources`` and ``declarations`` belong together by index. ``wrecks`` are what is left of resources that
    could not be built, each with its declaration. ``broken`` holds the refs of what is declared and left not even
    that, so that a reference to it is no further problem.
    """

    def __init__(self, problems: Problems, kinds: Kinds, base: str) -> None:
        self.resources: list[Resource] = []
        self.declarations: list[Declaration] = []
        self.wrecks: list[tuple[Resource, Declaration]] = []
        self.broken: set[str] = set()
        self._problems = problems
        self._kinds = kinds
        self._context = {"base": base}
        self._place = problems.source.lines.place
        self._reader = ValueReader(problems)
        self._found: dict[str, type[Resource] | UnusableKind] = {}
        self._identities = Identities(problems)

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
            name = values.plain.get("name")
            self._bind_resource(model, name, Declaration(_name_at(node, entry.key_at(kind)), node), values)
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
            self.broken.add(f"{model.kind}#{name}")
            if body is not BROKEN:
                message = f"the properties of {shown(name)} are a map, not {shown(body)}"
                self._problems.add(message, item.value_at(name), "write each as 'property: value'")

    def _bind_item(self, model: type[Resource], name: str, declaration: Declaration, common: Values) -> None:
        """Bind one ``NAME: properties`` of a list; a property in the body replaces the default as a whole."""
        body = declaration.body
        own = Values() if body is None else self._reader.read(body, model)
        values = Values({**common.plain, **own.plain}, (common.spoilt - own.plain.keys()) | own.spoilt)
        if body is not None and "name" in body:
            at = body.key_at("name")
            self._problems.add("the name is given twice", at, f"the key {shown(name)} is the name already")
        values.plain["name"] = name
        if not self._reader.accepts_text(name, declaration.at):
            values.spoilt.add("name")
        self._bind_resource(model, name, declaration, values)

    def _bind_resource(
        self, model: type[Resource], name: Any, declaration: Declaration, values: Values
    ) -> None:
        refs = self._claim(model, name, declaration, values) if "name" not in values.spoilt else ()
        resource = None
        try:
            resource = model.model_validate(values.plain, context=self._context)
        except ValidationError as error:
            Inspector(self._problems, model, declaration, model.kind).report(error, values)
        if resource is None or values.spoilt or not refs:
            if refs:
                self.wrecks.append((_wreck(model, values), declaration))
            return
        resource._place = self._place(declaration.at)  # noqa: SLF001 - the manifest package alone sets it
        self.resources.append(resource)
        self.declarations.append(declaration)

    def _claim(
        self, model: type[Resource], name: Any, declaration: Declaration, values: Values
    ) -> tuple[str, ...]:
        """The refs that lead to a resource, by name and by alias; none when one of them is taken already."""
        if not isinstance(name, str):
            return ()
        ref = f"{model.kind}#{name}"
        if not self._identities.claim(ref, declaration.at, "remove one of them, or rename it"):
            return ()
        alias = values.plain.get("alias")
        if not isinstance(alias, str) or alias == name:
            return (ref,)
        other, at = f"{model.kind}#{alias}", declaration.find(model, ("alias",)).at
        if not self._identities.claim(other, at, "choose another alias"):
            self.broken.add(ref)
            return ()
        return (ref, other)

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
        self.broken.update(f"{model.kind}#{name}" for name in names)
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
            self.broken.update(f"{each}#{name}" for each in (kind, reason.meant) if each)


def _wreck(model: type[Resource], values: Values) -> Resource:
    """A resource with nothing but its name and what it refers to: that much can be checked of any of them."""
    sound = {"name": values.plain["name"], "meta": _ALONE}
    if isinstance(values.plain.get("alias"), str):
        sound["alias"] = values.plain["alias"]
    for name in _REFERENCES:
        with suppress(ValidationError):
            sound[name] = _REFERENCES_TYPE.validate_python(values.plain.get(name, ()))
    return model.model_construct(**sound)


def _name_at(body: Mapping, otherwise: int) -> int:
    return body.value_at("name") if "name" in body else otherwise


def _names_below(node: Any) -> list[str]:
    """The names of the resources declared below a kind, whatever is wrong with them."""
    if isinstance(node, Mapping):
        return [name] if isinstance(name := node.get("name"), str) else []
    items = node if isinstance(node, list) else []
    return [name for item in items if isinstance(item, Mapping) for name in item]
