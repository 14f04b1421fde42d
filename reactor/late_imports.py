"""Lets trio and pydantic be imported without modules that we have no use for.

- trio uses OpenSSL and idna only for TLS and to look up names. They take 3 MiB of memory.
- pydantic uses importlib.metadata to find its plugins. That takes 25 ms; `reactor.distributions` finds the same.

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
    from collections.abc import Mapping, Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec

_METADATA = {
    "entry_points": entry_points,
    "__path__": [os.path.join(place, "metadata") for place in importlib.__path__],
}
_LATE: dict[str, dict[str, dict[str, Any]]] = {
    "trio": {"ssl": {}, "idna": {}},
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
        late = {
            name: _LateModule(name, names) for name, names in self._late.items() if name not in sys.modules
        }
        sys.modules.update(late)
        try:
            self._usual.exec_module(module)
        finally:
            for name, each in late.items():
                if sys.modules.get(name) is each:
                    del sys.modules[name]
