"""What earlier loads made of the items of a manifest: an editor loads it after each key that is typed."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as AbstractMapping
from functools import cached_property
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from reactor.data.resolve import Resolved
from reactor.manifest.declaration import Declaration
from reactor.manifest.evaluation import Expressive
from reactor.manifest.likeness import has_expression, is_alike, is_same, only
from reactor.manifest.loops import FOR_EACH, Iteration
from reactor.manifest.nodes import Mapping
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
"""The property with conditions. Their outcomes are not remembered."""
_MOST = 4
"""How many valid results of an item are kept, and how many with problems: one types back and forth."""

_Cause = tuple[Any, ...]
"""Why an item became what it is: the number of its defaults, and the types and values of its expressions."""


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
            is_alike(self.of_list, other.of_list)
            and is_alike(only(self.general, names), only(other.general, names))
            and is_same(ours.plain, theirs.plain)
            and bool(ours.invalid) is bool(theirs.invalid)  # which ones are invalid follows from the others
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
        self.before: dict[tuple[type[Resource], str], _Item] = {}
        self.now: dict[tuple[type[Resource], str], _Item] = {}
        self.has_same_data = True
        """Whether all data are as in the last load."""
        self._outside: _Outside | None = None
        self._data: Any = {}
        self._data_before: Any = {}
        self._unchanged: dict[Path, bool] = {}
        self._defaults: dict[type[Resource], dict[int, _Defaults]] = {}
        self._numbers = count()

    def begin(self, root: Mapping, data: Resolved) -> None:
        """Begin a load of the file with this ``root`` and ``data``."""
        sections = Mapping(root.at)
        sections.merge(root)
        sections.update(dict.fromkeys(sections.keys() & _OWN))
        outside = _Outside(sections, data.secrets, data.is_whole)
        is_like = self._outside is not None and self._outside.is_like(outside)
        self.before, self.now = (self.now if is_like else {}), {}
        self._data_before, self._data, self._unchanged = self._data, data.values, {}
        self.has_same_data = is_same(self._data_before, self._data)
        self._outside = outside

    def end(self) -> None:
        """Drop what the load that has ended did not use again: to free it takes some milliseconds."""
        self.before, self._data_before = {}, {}

    def is_unchanged(self, path: Path) -> bool:
        """Whether the value at a path is as in the last load."""
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
        return is_same(before, now)

    def number(self, model: type[Resource], defaults: _Defaults) -> int:
        """Return the number of these defaults, which is that of like ones of an earlier load."""
        known = self._defaults.setdefault(model, {})
        found = next((each for each, before in known.items() if before.is_like(defaults, model)), None)
        number = next(self._numbers) if found is None else found
        known.pop(number, None)
        known[number] = defaults
        if len(known) > 2 * _MOST:
            del known[next(iter(known))]
        return number


class BoundList:
    """The items of one list of ``model`` among those of ``bound``. ``common`` reads their defaults.

    These are written in ``of_list`` and ``general``. What is in no loop is read ``outside``.
    """

    def __init__(
        self,
        bound: BoundItems,
        model: type[Resource],
        written: tuple[Mapping | None, Mapping | None],
        common: Callable[[ValueReader], Values],
        outside: Iteration,
    ) -> None:
        self._bound = bound
        self._model = model
        self._written = written
        self._common = common
        self._outside = outside
        self._scope = outside.expression_context.scope
        self._outcomes = outside.expression_context.expression_functions.outcomes

    @cached_property
    def _number(self) -> int | None:
        """The number of the defaults; None if they have expressions that are evaluated later."""
        values = self._common(self._outside.reader)
        if values.deferred or _CONTROL in values.plain:
            return None
        return self._bound.number(self._model, _Defaults(*self._written, values))

    @cached_property
    def _is_general_computed(self) -> bool:
        return has_expression(self._written[1])

    def find(self, name: str, declaration: Declaration) -> Bound | Failed | None:
        """Return what was made of the same item in an earlier load, or None.

        Its values are kept for `own_values` in any case.
        """
        found = self._bound.before.get((self._model, name))
        if found is None or not is_alike(found.declaration.body, declaration.body):
            return None
        bound = found.bound if _has_same_defaults(found.declaration, declaration) else None
        made: Bound | Failed | None = bound
        if bound is None or not self._bound.has_same_data:
            cause = self._cause(found.values)
            if cause is not None:
                made = found.made.get(cause)
            elif bound is not None and not self._reads_same_data(bound):
                made = None
        bound = made if isinstance(made, Bound) else None
        self._bound.now[self._model, name] = _Item(declaration, found.values, bound, found.made)
        return made

    def _cause(self, values: Values | None) -> _Cause | None:
        """Return what the result of an item depends on, besides its text; None if that is not known."""
        if values is None or self._outcomes is None or _CONTROL in values.plain:
            return None
        known = [self._outcomes.known(tree, self._scope) for tree in values.deferred.values()]
        return None if None in known or self._number is None else (self._number, *known)

    def _reads_same_data(self, bound: Bound) -> bool:
        """Whether all that the expressions of an item read has the same values as in the last load."""
        if self._is_general_computed:
            return False
        return bound.deferred is None or all(map(self._bound.is_unchanged, bound.deferred.paths))

    def own_values(self, name: str, declaration: Declaration) -> Values | None:
        """Return the values of the body of an item for which `find` returned None, if it is as before; else None.

        Their expressions have the offsets of an earlier load.
        """
        found = self._bound.now.get((self._model, name))
        return None if found is None or found.declaration is not declaration else found.values

    def keep_values(self, name: str, declaration: Declaration, values: Values) -> None:
        """Keep the values that were read of the body of an item without a problem, unless they depend on more than its text."""
        is_loop = FOR_EACH in (declaration.body or ())
        if not (
            is_loop or issubclass(self._model, Composite) or _is_computed(self._model, name, declaration)
        ):
            is_simple = all(tree.__class__ is Expressive for tree in values.deferred.values())
            self._bound.now[self._model, name] = _Item(declaration, values if is_simple else None)

    def keep(self, name: str, declaration: Declaration, made: Bound | Failed) -> None:
        """Keep what was made of an item, if its values are kept, and unless it has read a file."""
        found = self._bound.now.get((self._model, name))
        if found is None:
            return
        bound = made if isinstance(made, Bound) else None
        if bound is not None and bound.deferred is not None and bound.deferred.reads:
            bound = None
        results = {**found.made}
        if (cause := self._cause(found.values)) is not None:
            results[cause] = made
            alike = [each for each, result in results.items() if result.__class__ is made.__class__]
            if len(alike) > _MOST:
                del results[alike[0]]
        self._bound.now[self._model, name] = _Item(declaration, found.values, bound, results)


def _has_same_defaults(one: Declaration, other: Declaration) -> bool:
    return is_alike(one.defaults, other.defaults) and is_alike(one.general, other.general)


def _is_computed(model: type[Resource], name: str, declaration: Declaration) -> bool:
    """Whether the name, or a property that must be known at once, has an expression: it may read a file."""
    return "{" in name or any(
        key not in model.deferred_properties and has_expression(value)
        for node in (declaration.body, declaration.defaults, declaration.general)
        for key, value in (node or {}).items()
    )
