"""Lets trio, pydantic, click and yaml be imported without what we have no use for.

- trio uses OpenSSL, hmac and idna only for TLS and to look up names. They take 3 MiB of memory.
- trio uses subprocess only to start processes, and a run of files starts none.
- trio uses ctypes.util to find the library of threads, for which that imports five modules and starts ldconfig.
- pydantic uses importlib.metadata to find its plugins. That takes 15 ms; `reactor.distributions` finds the same.
- pydantic uses secrets, which imports OpenSSL, only to compare the values of its secret types.
- attrs and uuid use platform, with its nine regular expressions, for what sys and os say, too.
- trio uses logging and traceback only to report what goes wrong in it.
- click looks for translations of its texts, of which there are none.

Each is imported when one of its names is first used. Some modules make at their import what a run hardly looks at:

- pydantic and pydantic_core describe their schemas and options, which are dictionaries, for type checkers. Python
  compiles the text of each of the thousand types in these descriptions.
- pydantic and annotated_types compile up to six functions for each of 50 data classes; `reactor.lean_dataclass` makes
  them with two.
- yaml compiles the regular expressions, one of them the largest of all, of a reader and of types in Python. Ours is
  the reader in C, with types of its own. Two modules of the standard library, which pydantic and trio import, do so, too.
- attrs compiles up to five functions for each class of trio; `reactor.late_functions` compiles those that are called.
"""

from __future__ import annotations

import builtins
import importlib
import os
import re
import sys
from importlib.machinery import PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from reactor.distributions import entry_points

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec


def _find_library(name: str) -> str | None:
    """As ctypes.util. The C library of GNU has this name; with another, trio finds nothing and names no threads."""
    if name == "pthread":
        return "libpthread.so.0"
    from ctypes import util  # noqa: PLC0415 - the real one

    return util.find_library(name)


def _python_implementation() -> str:
    """As platform."""
    if sys.implementation.name == "cpython":
        return "CPython"
    import platform  # noqa: PLC0415 - the real one

    return platform.python_implementation()


def _untranslated(text: str) -> str:
    """As gettext, where there is no translation."""
    return text


def _untranslated_number(one: str, many: str, number: int) -> str:
    """As ngettext, where there is no translation."""
    return one if number == 1 else many


class _LateLogger:
    """A logger that is made when it is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        import logging  # noqa: PLC0415 - the real one

        return getattr(logging.getLogger(self._name), name)


def _lean_dataclasses() -> dict[str, Any]:
    from reactor.lean_dataclass import lean_dataclass  # noqa: PLC0415 - imports inspect

    return {"dataclass": lean_dataclass}


def _late_functions() -> dict[str, Any]:
    from reactor.late_functions import define_functions, keep_script  # noqa: PLC0415 - as the one above

    return {"compile": keep_script, "eval": define_functions}


class _Description(dict[str, Any]):
    """In the place of a TypedDict: makes dictionaries, too, and leaves the types of the keys as text."""

    def __init_subclass__(cls, **_: Any) -> None:
        """Accept what a TypedDict does, such as ``total``."""

    def __new__(cls, *args: Any, **items: Any) -> Any:
        return dict(*args, **items)


class _LatePattern:
    """A regular expression that is compiled when it is first used."""

    def __init__(self, *arguments: Any) -> None:
        self._arguments = arguments

    def __getattr__(self, name: str) -> Any:
        return getattr(re.compile(*self._arguments), name)


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
        "logging": {"getLogger": _LateLogger},
        "traceback": {},
    },
    "pydantic.types": {"secrets": {}},
    "pydantic.plugin._loader": {"importlib.metadata": _METADATA},
    "attr._compat": {"platform": {"python_implementation": _python_implementation}},
    "uuid": {"platform": {"system": lambda: os.uname().sysname}},
    **{
        f"click.{name}": {"gettext": {"gettext": _untranslated, "ngettext": _untranslated_number}}
        for name in ("core", "decorators", "exceptions", "formatting", "parser", "termui", "types")
    },
}
"""Which modules are late for whom, each with the names that need no import."""
_DATA_CLASSES = (
    "annotated_types",
    "pydantic._internal._decorators",
    "pydantic.functional_serializers",
    "pydantic.functional_validators",
    "pydantic.json_schema",
    "pydantic.types",
)
_CHANGED: dict[str, dict[str, Callable[[], dict[str, Any]]]] = {
    "pydantic_core.core_schema": {
        "typing" if sys.version_info >= (3, 12) else "typing_extensions": lambda: {"TypedDict": _Description}
    },
    **{
        name: {"re": lambda: {"compile": _LatePattern}}
        for name in ("fractions", "textwrap", "yaml.constructor", "yaml.reader", "yaml.resolver")
    },
    **{
        f"pydantic.{name}": {"typing_extensions": lambda: {"TypedDict": _Description}}
        for name in ("config", "fields")
    },
    **{name: {"dataclasses": _lean_dataclasses} for name in _DATA_CLASSES},
    "attr._make": {"builtins": _late_functions},
}
"""Which modules have other names for whom. The names are made before the module is executed."""


def import_late() -> None:
    """Let each module in `_LATE` and `_CHANGED` be imported that way, unless it is imported already."""
    names = {name for name in (*_LATE, *_CHANGED) if name not in sys.modules}
    if names:
        sys.meta_path.insert(0, _Finder(names))


class _LateModule(ModuleType):
    """Stands for the module of this name, which is imported when one of its names is used, but for those given."""

    def __init__(self, name: str, names: Mapping[str, Any]) -> None:
        super().__init__(name)
        vars(self).update(names)

    def __getattr__(self, name: str) -> Any:
        if name == "__path__":  # an import of a name from the module asks whether it is a package
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:  # a name is used while its user is being imported
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


class _Finder:
    """Finds each of these modules, once, and lets it be executed by a `_Loader`."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of one of the modules; None for any other module."""
        if name not in self._names:
            return None
        self._names.remove(name)
        if not self._names:
            sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Loader", _Loader(spec.loader))
        return spec


class _Loader:
    """Executes a module with others in the place of its late modules that are not imported yet, and of changed ones."""

    def __init__(self, usual: Loader) -> None:
        self._usual = usual

    def __getattr__(self, name: str) -> Any:
        return getattr(self._usual, name)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module. Only what it imports sees the others: all others import the real ones, as always."""
        # Python does it as it executes a module. Code in C looks it up there later, as `typing.Generic` since Python 3.12.
        vars(module)["__builtins__"] = vars(builtins)
        late = _LATE.get(module.__name__, {})
        changed = _CHANGED.get(module.__name__, {})
        others: list[ModuleType] = [
            _LateModule(name, names) for name, names in late.items() if name not in sys.modules
        ]
        others += [_changed(name, names()) for name, names in changed.items()]
        places = [
            (each, place, name, place.get(name)) for each in others for place, name in _places(each, module)
        ]
        for each, place, name, _ in places:
            place[name] = each
        try:
            self._usual.exec_module(module)
        finally:
            for each, place, name, before in places:
                if place.get(name) is each:
                    del place[name]
                if before is not None:
                    place[name] = before


def _changed(name: str, names: Mapping[str, Any]) -> ModuleType:
    """Return a copy of the module with other values of these names."""
    other = ModuleType(name)
    vars(other).update(vars(importlib.import_module(name)), **names)
    return other


def _places(late: ModuleType, user: ModuleType) -> Iterator[tuple[dict[str, Any], str]]:
    """Where an import looks for the module: the table of modules, and the package that it belongs to."""
    if late.__name__ == "builtins":  # not imported: every module names its own
        yield vars(user), "__builtins__"
        return
    yield sys.modules, late.__name__
    package, _, name = late.__name__.rpartition(".")
    if package:
        yield vars(importlib.import_module(package)), name
