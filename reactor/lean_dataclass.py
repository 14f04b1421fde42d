"""Data classes of libraries, made in half the time.

`dataclasses.dataclass` compiles up to six functions for each class. Those that show, compare and hash are the same for
all classes but for the names of the fields, so here all classes share them. They take longer when they are called, which
is seldom.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from reprlib import recursive_repr
from typing import Any

_dataclass: Any = dataclasses.dataclass
_KNOWN = {"frozen", "kw_only", "slots"}


def lean_dataclass(plain: type[Any] | None = None, /, **options: bool) -> Any:
    """Make a data class, as `dataclasses.dataclass` does. Classes with rare options are left to that."""
    if plain is None:
        return partial(lean_dataclass, **options)
    if not options.keys() <= _KNOWN:
        return _dataclass(plain, **options)
    own = vars(plain).copy()
    made = _dataclass(plain, repr=False, eq=False, **options)
    if "__repr__" not in own:
        made.__repr__ = _repr
    if "__eq__" not in own:
        made.__eq__ = _eq
    # Python gives a class that has only __eq__ a __hash__ of None.
    if own.get("__hash__") is None and ("__eq__" in own or "__hash__" not in own):
        made.__hash__ = _hash if options.get("frozen") else None
    return made


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _eq(self: Any, other: object) -> Any:
    return _compared(self) == _compared(other) if other.__class__ is self.__class__ else NotImplemented


def _compared(one: Any) -> tuple[Any, ...]:
    return tuple(getattr(one, each.name) for each in dataclasses.fields(one) if each.compare)


def _hash(self: Any) -> int:
    hashed = (each for each in dataclasses.fields(self) if (each.compare if each.hash is None else each.hash))
    return hash(tuple(getattr(self, each.name) for each in hashed))
