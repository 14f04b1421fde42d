"""What an earlier load made of the items of a manifest: an editor loads it after each key that is typed."""

from __future__ import annotations

from collections.abc import Mapping as AbstractMapping
from typing import TYPE_CHECKING, Any

from reactor.manifest.declaration import Declaration
from reactor.manifest.loops import FOR_EACH
from reactor.manifest.nodes import Mapping, Sequence
from reactor.resource.base import Resource
from reactor.resource.composite import Composite

if TYPE_CHECKING:
    from reactor.manifest.resource_factory import Bound

_RESOURCES = "resources"


class BoundItems:
    """The items of one file that had no problem in its last load, by their kinds and names as written.

    An item is used again only if it is written as before, and everything outside ``resources`` too. Their expressions
    keep their old positions, so the result is for checking only and must not run.
    """

    def __init__(self) -> None:
        self._outside: tuple[Mapping, Any] | None = None
        self._before: dict[tuple[type[Resource], str], tuple[Declaration, Bound]] = {}
        self._now: dict[tuple[type[Resource], str], tuple[Declaration, Bound]] = {}

    def begin(self, root: Mapping, data: AbstractMapping[str, Any]) -> None:
        """Begin a load of the file with this ``root`` and resolved ``data``: they must be as before to use anything."""
        outside = Mapping(root.at)
        outside.merge(root)
        outside[_RESOURCES] = None
        is_same = self._outside is not None and self._outside[0].is_like(outside) and self._outside[1] == data
        self._before, self._now = (self._now if is_same else {}), {}
        self._outside = outside, data

    def find(self, model: type[Resource], name: str, declaration: Declaration) -> Bound | None:
        """Return what was made of the same item in the last load, or None."""
        found = self._before.get((model, name))
        if found is None or not (
            _is_alike(found[0].body, declaration.body) and _is_alike(found[0].defaults, declaration.defaults)
        ):
            return None
        self._now[model, name] = declaration, found[1]
        return found[1]

    def keep(self, model: type[Resource], name: str, declaration: Declaration, bound: Bound) -> None:
        """Keep what was made of an item without a problem, unless it depends on more than its text and the data."""
        reads = bound.deferred is not None and bound.deferred.reads
        is_loop = FOR_EACH in (declaration.body or ())
        if (
            not reads
            and not is_loop
            and not issubclass(model, Composite)
            and not _is_computed(model, name, declaration)
        ):
            self._now[model, name] = declaration, bound


def _is_alike(one: Mapping | None, other: Mapping | None) -> bool:
    return one is other if one is None else one.is_like(other)


def _is_computed(model: type[Resource], name: str, declaration: Declaration) -> bool:
    """Whether the name, or a property that must be known at once, has an expression: it may read a file."""
    return "{" in name or any(
        key not in model.deferred_properties and _has_expression(value)
        for node in (declaration.body, declaration.defaults, declaration.general)
        for key, value in (node or {}).items()
    )


def _has_expression(value: Any) -> bool:
    if isinstance(value, str):
        return "{" in value
    inside = (*value, *value.values()) if isinstance(value, Mapping) else value
    return isinstance(value, Mapping | Sequence) and any(map(_has_expression, inside))
