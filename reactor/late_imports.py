"""Lets trio and pydantic be imported without modules that we have no use for.

- trio uses OpenSSL, hmac and idna only for TLS and to look up names. They take 3 MiB of memory.
- trio uses subprocess only to start processes, and a run of files starts none.
- trio uses ctypes.util to find the library of threads, for which that imports five modules and starts ldconfig.
- pydantic uses importlib.metadata to find its plugins. That takes 15 ms; `reactor.distributions` finds the same.
- pydantic uses secrets, which imports OpenSSL, only to compare the values of its secret types.

Each is imported when one of its names is first used.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib.machinery import PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from reactor.distributions import entry_points

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec


def _find_library(name: str) -> str | None:
    """As ctypes.util. The C library of GNU has this name; with another, trio finds nothing and names no threads."""
    if name == "pthread":
        return "libpthread.so.0"
    from ctypes import util  # noqa: PLC0415 - the real one

    return util.find_library(name)


_METADATA = {
    "entry_points": entry_points,
    "__path__": [os.path.join(place, "metadata") for place in importlib.__path__],
}
_LATE: dict[str, dict[str, dict[str, Any]]] = {
    "trio": {
        "ssl": {},
        "hmac": {},
        "idna": {},
        "subprocess": {},
        "ctypes.util": {"find_library": _find_library},
    },
    "pydantic.types": {"secrets": {}},
    "pydantic.plugin._loader": {"importlib.metadata": _METADATA},
}
"""Which modules are late for whom, each with the names that need no import."""


def import_late() -> None:
    """Let each module in `_LATE` be imported without its late modules, unless it is imported already."""
    for name, late in _LATE.items():
        if name not in sys.modules:
            sys.meta_path.insert(0, _Finder(name, late))


class _LateModule(ModuleType):
    """Stands for the module of this name, which is imported when one of its names is used, but for those given."""

    def __init__(self, name: str, names: Mapping[str, Any]) -> None:
        super().__init__(name)
        vars(self).update(names)

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:  # a name is used while its user is being imported
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


class _Finder:
    """Finds one module, once, and lets it be executed by a `_Loader`."""

    def __init__(self, module: str, late: Mapping[str, Mapping[str, Any]]) -> None:
        self._module = module
        self._late = late

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of the module; None for any other module."""
        if name != self._module:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Loader", _Loader(spec.loader, self._late))
        return spec


class _Loader:
    """Executes a module with a `_LateModule` in the place of each of its late modules that is not imported yet."""

    def __init__(self, usual: Loader, late: Mapping[str, Mapping[str, Any]]) -> None:
        self._usual = usual
        self._late = late

    def __getattr__(self, name: str) -> Any:
        return getattr(self._usual, name)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module. Only what it imports sees the late modules: all others import the real ones, as always."""
        late = [_LateModule(name, names) for name, names in self._late.items() if name not in sys.modules]
        places = [(each, place, name) for each in late for place, name in _places(each)]
        for each, place, name in places:
            place[name] = each
        try:
            self._usual.exec_module(module)
        finally:
            for each, place, name in places:
                if place.get(name) is each:
                    del place[name]


def _places(late: ModuleType) -> Iterator[tuple[dict[str, Any], str]]:
    """Where an import looks for the module: the table of modules, and the package that it belongs to."""
    yield sys.modules, late.__name__
    package, _, name = late.__name__.rpartition(".")
    if package:
        yield vars(importlib.import_module(package)), name
