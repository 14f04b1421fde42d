"""Resolves the data of a manifest on this host: the base data, selected overrides, layers on top, and checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from reactor.data.annotations import Annotation, Path
from reactor.data.expansion import Expander, data_scope
from reactor.data.layers import LeafPath, deep_merge, layered, layered_by, layers, plain
from reactor.data.problem import DataProblem
from reactor.data.validation import check, secret_paths, unknown
from reactor.named_tuple import NamedTuple
from reactor.suggestions import did_you_mean

MERGES = ("first", "deep")


class Hierarchy(NamedTuple):
    """``order`` has keys of overrides, with unevaluated expressions.

    ``deep`` merges all that apply; else the first is used.
    """

    order: tuple[str, ...] = ("default",)
    deep: bool = False


def read_hierarchy(section: Any, problems: list[DataProblem]) -> Hierarchy:
    """Parse the section; None means that it is missing.

    Adds errors to ``problems``, and ignores the invalid values.
    """
    if section is None:
        return Hierarchy()
    if not isinstance(section, dict):
        hint = "write 'hierarchy: {order: [...]}', or leave it out"
        problems.append(DataProblem("R0115", ("hierarchy",), "hierarchy must be a map", hint))
        return Hierarchy(())
    return Hierarchy(_order(section, problems), _merge(section, problems) == "deep")


def _order(section: dict[str, Any], problems: list[DataProblem]) -> tuple[str, ...]:
    order = section.get("order")
    if not isinstance(order, list):
        where = ("hierarchy", "order") if "order" in section else ("hierarchy",)
        hint = "list the keys of overrides to look for, or leave the hierarchy out"
        problems.append(DataProblem("R0115", where, "hierarchy.order must be a list", hint))
        return ()
    odd = [index for index, entry in enumerate(order) if not isinstance(entry, str)]
    for index in odd:
        message = "hierarchy.order must contain only strings"
        problems.append(DataProblem("R0115", ("hierarchy", "order", index), message, "put quotes around it"))
    return () if odd else tuple(order)


def _merge(section: dict[str, Any], problems: list[DataProblem]) -> str:
    merge = section.get("merge")
    mode = str(merge or "first").lower()
    if mode not in MERGES:
        hint = did_you_mean(mode, MERGES) or f"it is {' or '.join(MERGES)}"
        problems.append(
            DataProblem("R0115", ("hierarchy", "merge"), f"unsupported merge mode: {merge}", hint)
        )
    return mode


DATA = "data"


class Layer(NamedTuple):
    """Values from outside the document, the name of their origin for messages, and the secret paths in them.

    ``origins`` has the name of the origin of each leaf, where these differ.
    """

    name: str
    values: Mapping[str, Any]
    secrets: frozenset[Path] = frozenset()
    origins: Mapping[LeafPath, str] | None = None

    def tree(self) -> dict[str, Any]:
        """Return the values with each leaf marked by its origin."""
        values = dict(self.values)
        marked: dict[str, Any] = (
            layered(values, self.name) if self.origins is None else layered_by(values, self.origins)
        )
        return marked


class Resolved(NamedTuple):
    """The resolved data, and their origins.

    ``layers`` has the origin of every leaf: ``data``, ``overrides os:debian``, or one that a `Layer` names. ``secrets``
    has the paths of the keys annotated ``@secret``, and the secret paths of the layers: everything below them is
    secret. If there are ``problems``, the data must not be used. Data that are not ``is_whole`` lack values whose
    errors were reported.
    """

    values: dict[str, Any]
    layers: dict[LeafPath, str]
    secrets: frozenset[Path] = frozenset()
    problems: Sequence[DataProblem] = ()
    warnings: Sequence[DataProblem] = ()
    is_whole: bool = True


def resolve(
    document: Mapping[str, Any],
    facts: Mapping[str, Any],
    *,
    over: Iterable[Layer] = (),
    annotations: Mapping[Path, Sequence[Annotation]] | None = None,
    strict: bool = False,
    moment: datetime | None = None,
) -> Resolved:
    """Resolve the sections ``data``, ``hierarchy`` and ``overrides`` for a host with these facts.

    The layers in ``over`` are merged deeply on top, one after the other. Other sections are ignored; a missing or null
    section is empty. The caller must have checked that data and overrides are maps. ``annotations`` are those of the
    data by key, as `reactor.data.annotations` finds them. When ``strict``, a missing fact is a problem, else a
    warning. ``moment`` is the time that ``now()`` returns; None means the time of each call.
    """
    problems: list[DataProblem] = []
    expander = Expander(data_scope(facts, strict=strict, moment=moment), problems)
    tree = _resolved(document, expander, problems)
    if strict:
        problems += _written_for_hiera(document)
    marked = annotations or {}
    secrets = secret_paths(marked)
    for layer in over:
        tree = deep_merge(tree, layer.tree())
        secrets |= layer.secrets
    values = plain(tree)
    if not problems:  # or a failed value would be reported again, as missing
        problems += check(values, marked, secrets)
    return Resolved(
        values=values,
        layers=dict(layers(tree)),
        secrets=secrets,
        problems=problems,
        warnings=[*expander.warnings, *unknown(marked)],
    )


def _resolved(document: Mapping[str, Any], expander: Expander, problems: list[DataProblem]) -> dict[str, Any]:
    hierarchy = read_hierarchy(document.get("hierarchy"), problems)
    tree: dict[str, Any] = layered(expander.expand(_section(document, DATA), (DATA,)), DATA)
    for key in _applicable(hierarchy.order, _section(document, "overrides"), expander):
        values = expander.expand(document["overrides"][key], ("overrides", key))
        override = layered(values, f"overrides {key}")
        if not hierarchy.deep:
            return {**tree, **override}
        tree = deep_merge(tree, override)
    return tree


def _written_for_hiera(document: Mapping[str, Any]) -> Iterator[DataProblem]:
    """Yield a problem for each entry of the order with ``%{facts.os.family}``, which would never be a key."""
    section = document.get("hierarchy")
    order = section.get("order") if isinstance(section, dict) else None
    for index, entry in enumerate(order if isinstance(order, list) else ()):
        if isinstance(entry, str) and "%{" in entry:
            hint = "write it as '${ Facts.host.info.hostname }': 'reactor facts' shows the facts"
            place = ("hierarchy", "order", index)
            yield DataProblem("R0115", place, "%{...} is an expression of Hiera, and none here", hint)


def _applicable(order: Sequence[str], overrides: dict[str, Any], expander: Expander) -> Iterator[str]:
    """Yield the keys of the overrides that apply to this host, in the order of the hierarchy."""
    for index, entry in enumerate(order):
        key = expander.match(entry, ("hierarchy", "order", index))
        if key is not None and key != DATA and isinstance(overrides.get(key), dict):
            yield key


def _section(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    section = document.get(name)
    return section if isinstance(section, dict) else {}


def masked(values: Mapping[str, Any], paths: Iterable[Path], mask: str) -> dict[str, Any]:
    """Return ``values`` with ``mask`` in place of the value at each of ``paths``."""
    shown = dict(values)
    for path in paths:
        shown = _masked(shown, path, mask)
    return shown


def _masked(value: Any, path: Path, mask: str) -> Any:
    if not path:
        return mask
    first, *rest = path
    if not isinstance(value, dict) or first not in value:
        return value
    return {**value, first: _masked(value[first], tuple(rest), mask)}
