"""Lets trio be imported without modules that only its TLS and its lookup of names use.

With OpenSSL, they take 3 MiB of memory. Each is imported when trio first uses one of its names.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec

_LATE = ("ssl", "idna")


def import_late() -> None:
    """Let trio import the modules in `_LATE` when it uses them. Does nothing if it is imported already."""
    if "trio" not in sys.modules:
        sys.meta_path.insert(0, _TrioFinder())


class _LateModule(ModuleType):
    """Stands for the module of this name, which is imported when one of its names is used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:  # a name is used while trio is being imported
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


class _TrioFinder:
    """Finds trio, once, and lets it be executed by a `_TrioLoader`."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of trio; None for any other module."""
        if name != "trio":
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Loader", _TrioLoader(spec.loader))
        return spec


class _TrioLoader:
    """Executes trio with a `_LateModule` in the place of each module that is not imported yet."""

    def __init__(self, usual: Loader) -> None:
        self._usual = usual

    def __getattr__(self, name: str) -> Any:
        return getattr(self._usual, name)

    def exec_module(self, module: ModuleType) -> None:
        """Execute trio. Only what it imports sees the late modules: all others import the real ones, as always."""
        late = {name: _LateModule(name) for name in _LATE if name not in sys.modules}
        sys.modules.update(late)
        try:
            self._usual.exec_module(module)
        finally:
            for name, each in late.items():
                if sys.modules.get(name) is each:
                    del sys.modules[name]
