"""``defaults``: properties that every resource of a kind has in a manifest, and in the manifests that it applies."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as AbstractMapping

from pydantic import ValidationError

from reactor.manifest.declaration import Declaration
from reactor.manifest.expression_context import ExpressionContext
from reactor.manifest.kind_lookup import Kinds, UnusableKind, look_up
from reactor.manifest.nodes import INVALID, Mapping
from reactor.manifest.phrasing import shown
from reactor.manifest.scalar_types import field_names
from reactor.manifest.source import Problems
from reactor.manifest.validation import Inspector
from reactor.manifest.values import (
    DEFAULTS,
    NO_DEFAULT,
    KindDefault,
    KindDefaults,
    ValueReader,
    Values,
    checked_map,
)
from reactor.resource.base import Resource
from reactor.resource.composite import Composite

_NEVER = ("name", "alias")


class _UnreadableDefaults(AbstractMapping[str, KindDefault]):
    """The defaults of a section that can't be read: it may give each property of each kind."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds

    def __getitem__(self, kind: str) -> KindDefault:
        model = look_up(self._kinds, kind)
        if isinstance(model, UnusableKind):
            raise KeyError(kind)
        return KindDefault(_unknown(model))

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def inherited(defaults: KindDefaults) -> KindDefaults:
    """Return the defaults for the manifests that this one applies: these have no places in the files of those."""
    if isinstance(defaults, _UnreadableDefaults):
        return defaults
    return {kind: KindDefault(each.values) for kind, each in defaults.items()}


def read_defaults(
    root: Mapping,
    problems: Problems,
    kinds: Kinds,
    expression_context: ExpressionContext,
    above: KindDefaults,
) -> KindDefaults:
    """Return the defaults of the manifest ``root`` over those ``above``, of the manifest that applies it.

    Reports each invalid one at its place. The resources that would have it are not reported to lack it.
    """
    section = checked_map(DEFAULTS, root, problems, "write 'file: {owner: root}' below it")
    if section is None:
        return above if root.get(DEFAULTS) is None else _UnreadableDefaults(kinds)
    found = dict(above)
    reader = ValueReader(problems, expression_context.scope)
    for kind, node in section.items():
        model = look_up(kinds, kind)
        if isinstance(model, UnusableKind):
            problems.add(model.code, model.message, section.key_at(kind), model.hint)
        elif isinstance(node, Mapping):
            values = _valid(model, node, reader, problems).over(found.get(kind, NO_DEFAULT).values)
            found[kind] = KindDefault(values, node)
        elif node is not None:
            found[kind] = KindDefault(_unknown(model))
            if node is not INVALID:
                message = f"defaults of {kind} must be a map of properties, not {shown(node)}"
                problems.add("R0109", message, section.value_at(kind), "write 'property: value' below it")
    return found


def _unknown(model: type[Resource]) -> Values:
    """Return the values of defaults that can't be read: each property may be among them.

    What a composite applies needs none of them to be read.
    """
    return Values() if issubclass(model, Composite) else Values(invalid=field_names(model).keys() - _NEVER)


def _valid(model: type[Resource], node: Mapping, reader: ValueReader, problems: Problems) -> Values:
    """Return the valid properties in ``node``. Reports the others."""
    for key in _NEVER:
        if key in node:
            problems.add("R0105", f"defaults can't give {key}: it differs", node.key_at(key), "remove it")
    values = reader.read(node, model, _NEVER, eager=True)
    try:
        model.model_validate(values.plain, context={"base": "/"})
    except ValidationError as error:
        inspector = Inspector(problems, model, Declaration(node.at, node), f"defaults of {model.kind}")
        wrong = inspector.report_present(error, values)
        values.invalid |= wrong
        for name in wrong:
            values.plain.pop(name, None)
    return Values(values.plain, values.invalid, secret=values.secret & values.plain.keys())
