"""`typing.NamedTuple`, whose classes are made in a fifth of the time. The modules that most runs import use it.

The one of the standard library compiles the text of each annotation, and that of the function that makes the tuples. A run
of one file makes ninety such classes. Classes with equally many fields differ in names only: what the standard library
makes for one of them serves all.
"""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import NamedTuple

__all__ = ["NamedTuple"]


class _Maker(type):
    """Makes a named tuple of the body of a class statement."""

    def __new__(cls, name: str, _bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        """Return a class that has the methods of ``body``, and whose fields are those that it annotates."""
        fields = tuple(body["__annotations__"])
        defaults = {field: body[field] for field in fields if field in body}
        if tuple(defaults) != fields[len(fields) - len(defaults) :]:
            raise TypeError(f"{name}: a field without a default follows one with a default")
        usual, getters = _usual(len(fields))
        own = {
            "__doc__": f"{name}({', '.join(fields)})",
            "__match_args__": fields,
            "__new__": _new(usual["__new__"].__func__, body, tuple(defaults.values())),
            "_field_defaults": defaults,
            "_fields": fields,
        }
        return type(name, (tuple,), usual | own | body | dict(zip(fields, getters, strict=True)))


@cache
def _usual(count: int) -> tuple[dict[str, Any], list[Any]]:
    """The methods of a named tuple with so many fields, and what gets these."""
    return _parts(namedtuple("_", [""] * count, rename=True))  # noqa: PYI024 - its names are numbers


def _parts(made: Any) -> tuple[dict[str, Any], list[Any]]:
    """The methods of a class, and what gets its fields.

    The class is referred to all the while: else garbage collection may clear it while it is copied.
    """
    usual = dict(vars(made))
    getters = [usual.pop(field) for field in made._fields]
    changed = {"__repr__": _repr, "_replace": _replace, "__replace__": _replace}
    return usual | {name: changed[name] for name in usual.keys() & changed}, getters


def _new(usual: FunctionType, body: dict[str, Any], defaults: tuple[Any, ...]) -> FunctionType:
    """The function ``usual`` with the fields of ``body`` as parameters."""
    types = body["__annotations__"]
    code = usual.__code__.replace(co_varnames=("_cls", *types))
    new = FunctionType(code, usual.__globals__, "__new__", defaults)
    new.__annotations__ = types
    new.__qualname__ = f"{body['__qualname__']}.__new__"
    return new


def _repr(self: Any) -> str:
    shown = (f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"{type(self).__name__}({', '.join(shown)})"


def _replace(self: Any, /, **changes: Any) -> Any:
    replaced = self._make(map(changes.pop, self._fields, self))
    if changes:
        raise TypeError(f"Got unexpected field names: {list(changes)!r}")
    return replaced


if not TYPE_CHECKING:
    NamedTuple = type.__new__(_Maker, "NamedTuple", (), {})
