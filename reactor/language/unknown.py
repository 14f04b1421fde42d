"""Values that are not known yet, such as a secret whose source does not answer, beside others that are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reactor.language.secrets import paths_holding


class Unknown:
    """Stands for a value that is not known yet. ``error`` is what reading it raises."""

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        self.error = error


class PartlyKnown(dict[str, Any]):
    """A map with values that are not ``known`` yet: reading one raises its error, and so does reading all values.

    `dict.items` has the others: what only looks at those, such as a digest, calls it.
    """

    def __init__(self, known: Mapping[str, Any], unknown: Mapping[str, Exception]) -> None:
        super().__init__(known)
        self._unknown = unknown

    def __getitem__(self, name: str) -> Any:
        self._require(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value. Raises its error if it is not known."""
        self._require(name)
        return super().get(name, default)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._unknown

    def __iter__(self) -> Iterator[str]:
        self._require_all()
        return super().__iter__()

    def keys(self) -> Any:
        """Raise the error of a value: as a whole, the map is not known."""
        self._require_all()
        return super().keys()

    def values(self) -> Any:
        """Raise the error of a value: as a whole, the map is not known."""
        self._require_all()
        return super().values()

    def items(self) -> Any:
        """Raise the error of a value: as a whole, the map is not known."""
        self._require_all()
        return super().items()

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and self._unknown.keys() == getattr(other, "_unknown", {}).keys()

    def __ne__(self, other: object) -> bool:  # that of dict would compare only what is known
        return not self == other

    __hash__ = None

    def filled(self, value: Any) -> dict[str, Any]:
        """Return a map with ``value`` in place of what is not known."""
        known = {key: with_others(item, value) for key, item in super().items()}
        return {**known, **dict.fromkeys(self._unknown, value)}

    def _require(self, name: str) -> None:
        if name in self._unknown:
            raise self._unknown[name].with_traceback(None)  # each time, it would grow

    def _require_all(self) -> None:
        for name in self._unknown:
            self._require(name)


def holds_unknown(value: Any) -> bool:
    """Whether ``value`` is `Unknown`, or contains one."""
    if isinstance(value, (dict, list)):
        return any(map(holds_unknown, dict.values(value) if isinstance(value, dict) else value))
    return isinstance(value, Unknown)


def opened(value: Any) -> Any:
    """Return ``value`` with a `PartlyKnown` for each map that has an `Unknown`. A list that has one is itself unknown."""
    if isinstance(value, PartlyKnown):
        return value
    if isinstance(value, dict):
        inner = {key: opened(item) for key, item in value.items()}
        unknown = {key: item.error for key, item in inner.items() if isinstance(item, Unknown)}
        known = {key: item for key, item in inner.items() if key not in unknown}
        return PartlyKnown(known, unknown) if unknown else known
    if isinstance(value, list):
        items = [opened(item) for item in value]
        return next((item for item in items if isinstance(item, Unknown)), items)
    return value


def with_others(value: Any, other: Any) -> Any:
    """Return what `opened` returned with ``other`` in place of each value that is not known."""
    if isinstance(value, PartlyKnown):
        return value.filled(other)
    if isinstance(value, dict):
        return {key: with_others(item, other) for key, item in value.items()}
    if isinstance(value, list):
        return [with_others(item, other) for item in value]
    return other if isinstance(value, Unknown) else value


def paths_of_unknown(values: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """The paths of what is not known in ``values``. A list that contains it is unknown as a whole."""
    return paths_holding(values, holds_unknown)
