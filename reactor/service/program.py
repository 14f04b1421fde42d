"""The Python code that the service runs as root: nobody else may be able to change it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.metadata import entry_points
from importlib.util import find_spec

from reactor.service.installation import InstallationError
from reactor.trust.rule import DistrustedError, Trust

_OURS = ("reactor", "reactor.resources", "reactor.watchers")
_PLUGINS = ("reactor.resources", "reactor.health", "reactor.watchers")
_HINT = "install reactor as root where nobody else can write, such as a virtual environment in /opt: see docs/service.md"


def require_own_program() -> None:
    """Raises InstallationError when anybody but root could change what the service runs.

    Looked at are the interpreter, every directory that it imports from with all that is in it, and the packages that were
    installed in place, such as a checkout: each of them on the way from ``/``.
    """
    trust = Trust()
    roots = (sys.executable, os.path.join(sys.prefix, "pyvenv.cfg"), *_search_path(), *_packages())
    try:
        for path in _with_all_within(roots):
            _require(trust, path)
    except DistrustedError as error:
        words = f"the service would run code as root that others can change: {error}"
        raise InstallationError(words, _HINT) from error


def _require(trust: Trust, path: str) -> None:
    """Raises DistrustedError. Not all that Python asks for is there, and a symlink may lead to nothing."""
    with suppress(FileNotFoundError, NotADirectoryError):
        trust.require_file(path)


def _search_path() -> list[str]:
    """Where the service looks for modules: it is started with ``-P``, so not where the command was found or called."""
    return [each for each in (sys.path if sys.flags.safe_path else sys.path[1:]) if each]


def _packages() -> Iterator[str]:
    """The directories of our packages, and of those that plugins are in: they need not be on the search path."""
    plugins = {entry.module.partition(".")[0] for group in _PLUGINS for entry in entry_points(group=group)}
    for name in sorted({*_OURS, *plugins}):
        spec = find_spec(name)
        if spec is not None:
            yield from spec.submodule_search_locations or ()
            if spec.origin:
                yield spec.origin


def _with_all_within(roots: Iterable[str]) -> Iterator[str]:
    """These paths, and where one is a directory all that is below, through symlinks too.

    But for hidden names, as ``.git``: nothing can be imported from there.
    """
    pending, seen = list(roots), set()
    while pending:
        path = pending.pop()
        yield path
        if os.path.isdir(path) and (real := os.path.realpath(path)) not in seen:
            seen.add(real)
            with os.scandir(path) as entries:
                pending += (entry.path for entry in entries if not entry.name.startswith("."))
