"""What an earlier load made of the items of a manifest: an editor loads it after each key that is typed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from collections.abc import Mapping as AbstractMapping
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from reactor.data.resolve import Resolved
from reactor.manifest.declaration import Declaration
from reactor.manifest.evaluation import Expressive
from reactor.manifest.loops import FOR_EACH, Iteration
from reactor.manifest.nodes import Mapping, Sequence
from reactor.manifest.placeholders import Failed
from reactor.manifest.reparsing import Reparser
from reactor.manifest.resource_factory import Bound
from reactor.manifest.scalar_types import field_names
from reactor.manifest.values import ValueReader, Values
from reactor.resource.base import Resource
from reactor.resource.composite import Composite

if TYPE_CHECKING:
    from reactor.language.expression.analysis import Path

_OWN = ("resources", "data", "defaults")
"""The sections that are compared item by item."""
_INDEPENDENT = ("facts", "environ", "secrets", "kib", "mib", "gib", "tib")
"""The roots that have the same values in every load."""
_MISSING = object()
_CONTROL = "control"
"""The property with conditions, which are not evaluated again."""


class _Outside(NamedTuple):
    """What any item may depend on: the sections without `_OWN`, what is secret of the data, and whether they are whole."""

    sections: Mapping
    secrets: frozenset[Any]
    is_whole: bool

    def is_like(self, other: _Outside) -> bool:
        return self[1:] == other[1:] and self.sections.is_like(other.sections)


class _Item(NamedTuple):
    """One item of the manifest: the ``values`` of its own properties, and what was made of it.

    ``values`` is None if they have expressions in lists or maps: the offsets of these are not found again. ``bound`` is
    what the last load made, if it had no problem. ``made`` are the last different results, by their causes.
    """

    declaration: Declaration
    values: Values | None
    bound: Bound | None = None
    made: AbstractMapping[_Cause, Bound | Failed] = MappingProxyType({})


_Cause = tuple[Any, ...]
"""Why an item became what it is: the number of its defaults, and the types and values of its expressions."""
_MOST = 4
"""How many valid results of an item are kept, and how many with problems: one types back and forth."""


class _Defaults(NamedTuple):
    """The defaults of the items of a list: of the list and of the manifest as written, and the values of both."""

    of_list: Mapping | None
    general: Mapping | None
    values: Values

    def is_like(self, other: _Defaults, model: type[Resource]) -> bool:
        """Whether an item of ``model`` gets the same from both. What is no property is ignored: it was reported."""
        names = field_names(model)
        ours, theirs = self.values, other.values
        return (
            _is_alike(self.of_list, other.of_list)
            and _is_alike(_only(self.general, names), _only(other.general, names))
            and _is_same(ours.plain, theirs.plain)
            and bool(ours.invalid) is bool(theirs.invalid)
            and ours.invalid & names.keys() == theirs.invalid & names.keys()
            and ours.secret == theirs.secret
        )


class BoundItems:
    """The items of one file in its last load, by their kinds and names as written.

    What was made of an item is used again only if the item is written as before, all sections but `_OWN` are, and its
    defaults and what it reads of the data are as before, or its defaults and expressions have values of an earlier load.
    Its expressions keep their old offsets and data, so the result is for checking only and must not run.
    """

    def __init__(self) -> None:
        self.reparser = Reparser()
        """Parses the file."""
        self._outside: _Outside | None = None
        self._data: Any = {}
        self._data_before: Any = None
        self._unchanged: dict[Path, bool] = {}
        self._computed: dict[type[Resource], bool] = {}
        self._before: dict[tuple[type[Resource], str], _Item] = {}
        self._now: dict[tuple[type[Resource], str], _Item] = {}
        self._defaults: dict[type[Resource], dict[int, _Defaults]] = {}
        self._numbers: dict[int, tuple[Values, int | None]] = {}
        self._count = count()

    def begin(self, root: Mapping, data: Resolved) -> None:
        """Begin a load of the file with this ``root`` and ``data``."""
        sections = Mapping(root.at)
        sections.merge(root)
        sections.update(dict.fromkeys(sections.keys() & _OWN))
        outside = _Outside(sections, data.secrets, data.is_whole)
        is_same = self._outside is not None and self._outside.is_like(outside)
        self._before, self._now, self._numbers = (self._now if is_same else {}), {}, {}
        self._data_before = None if _is_same(self._data, data.values) else self._data
        self._outside, self._data, self._unchanged, self._computed = outside, data.values, {}, {}

    def end(self) -> None:
        """Drop what the load that has ended did not use again: to free it takes some milliseconds."""
        self._before, self._data_before = {}, None

    def find(
        self,
        model: type[Resource],
        name: str,
        declaration: Declaration,
        defaults: Callable[[ValueReader], Values],
        outside: Iteration,
    ) -> Bound | Failed | None:
        """Return what was made of the same item in an earlier load, or None. Its values are kept for `own_values` in any case.

        ``defaults`` reads those of its list. ``outside`` has the context of what is in no loop.
        """
        found = self._before.get((model, name))
        if found is None or not _is_alike(found.declaration.body, declaration.body):
            return None
        bound = found.bound if _has_same_defaults(found.declaration, declaration) else None
        made: Bound | Failed | None = bound
        if bound is None or self._data_before is not None:
            cause = self._cause(model, declaration, found.values, defaults, outside)
            if cause is not None:
                made = found.made.get(cause)
            elif bound is not None and not self._reads_same_data(model, bound, declaration):
                made = None
        bound = made if isinstance(made, Bound) else None
        self._now[model, name] = _Item(declaration, found.values, bound, found.made)
        return made

    def _cause(
        self,
        model: type[Resource],
        declaration: Declaration,
        values: Values | None,
        defaults: Callable[[ValueReader], Values],
        outside: Iteration,
    ) -> _Cause | None:
        """Return what the result of an item depends on, besides its text; None if that is not known (yet)."""
        outcomes = outside.expression_context.expression_functions.outcomes
        if values is None or outcomes is None or _CONTROL in values.plain:
            return None
        known = [outcomes.known(tree) for tree in values.deferred.values()]
        if None in known or (number := self._number(model, declaration, defaults(outside.reader))) is None:
            return None
        return number, *known

    def _number(self, model: type[Resource], declaration: Declaration, values: Values) -> int | None:
        """Return the number of the defaults of a list, by which those of an earlier load are known again.

        None if they have expressions that are evaluated later.
        """
        if id(values) in self._numbers:
            return self._numbers[id(values)][1]
        number = None
        if not values.deferred and _CONTROL not in values.plain:
            known = self._defaults.setdefault(model, {})
            now = _Defaults(declaration.defaults, declaration.general, values)
            number = next((each for each, before in known.items() if before.is_like(now, model)), None)
            number = next(self._count) if number is None else number
            known.pop(number, None)
            known[number] = now
            if len(known) > 2 * _MOST:
                known.pop(next(iter(known)))
        self._numbers[id(values)] = values, number
        return number

    def own_values(self, model: type[Resource], name: str, declaration: Declaration) -> Values | None:
        """Return the values of the body of an item for which `find` returned None, if it is as before; else None.

        Their expressions have the offsets of an earlier load.
        """
        found = self._now.get((model, name))
        return None if found is None or found.declaration is not declaration else found.values

    def _reads_same_data(self, model: type[Resource], bound: Bound, declaration: Declaration) -> bool:
        """Whether all that the expressions of an item read has the same values as in the last load."""
        if model not in self._computed:
            self._computed[model] = _has_expression(declaration.general)
        if self._computed[model]:
            return False
        return bound.deferred is None or all(map(self._is_unchanged, bound.deferred.paths))

    def _is_unchanged(self, path: Path) -> bool:
        if path not in self._unchanged:
            self._unchanged[path] = self._is_same_at(*path)
        return self._unchanged[path]

    def _is_same_at(self, root: str | None, *keys: str | None) -> bool:
        if root != "data":
            return root in _INDEPENDENT
        before, now = self._data_before, self._data
        for key in keys:
            if key is None or not (isinstance(before, dict) and isinstance(now, dict)):
                break
            before, now = before.get(key, _MISSING), now.get(key, _MISSING)
        return _is_same(before, now)

    def keep_values(self, model: type[Resource], name: str, declaration: Declaration, values: Values) -> None:
        """Keep the values that were read of the body of an item without a problem, unless they depend on more than its text."""
        is_loop = FOR_EACH in (declaration.body or ())
        if not is_loop and not issubclass(model, Composite) and not _is_computed(model, name, declaration):
            is_simple = all(tree.__class__ is Expressive for tree in values.deferred.values())
            self._now[model, name] = _Item(declaration, values if is_simple else None)

    def keep(
        self,
        model: type[Resource],
        name: str,
        declaration: Declaration,
        made: Bound | Failed,
        defaults: Callable[[ValueReader], Values],
        outside: Iteration,
    ) -> None:
        """Keep what was made of an item, if its values are kept, and unless it has read a file."""
        found = self._now.get((model, name))
        if found is None:
            return
        is_bound = isinstance(made, Bound) and not (made.deferred is not None and made.deferred.reads)
        results = {**found.made}
        if (cause := self._cause(model, declaration, found.values, defaults, outside)) is not None:
            results[cause] = made
            alike = [each for each, result in results.items() if result.__class__ is made.__class__]
            if len(alike) > _MOST:
                del results[alike[0]]
        self._now[model, name] = _Item(declaration, found.values, made if is_bound else None, results)


def _has_same_defaults(one: Declaration, other: Declaration) -> bool:
    return _is_alike(one.defaults, other.defaults) and _is_alike(one.general, other.general)


def _only(node: Mapping | None, names: Collection[str]) -> Mapping | None:
    """Return a map with the entries of ``node`` that have one of these ``names``."""
    if node is None:
        return None
    found = Mapping(node.at)
    for key, key_at in node.key_offsets():
        if key in names:
            found.put(key, node[key], key_at, node.value_at(key), node.raw(key))
    return found


def _is_alike(one: Mapping | None, other: Mapping | None) -> bool:
    return one is other or (one is not None and one.is_like(other))


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal and of the same types: 1, 1.0 and true are equal, and not the same."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return [*one] == [*other] and all(map(_is_same, one.values(), other.values()))
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return bool(one == other)


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
