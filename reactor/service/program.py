"""Checks the Python code that the service runs as root: only root may be able to change it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from importlib.util import find_spec

from reactor.service.installation import InstallationError
from reactor.trust.rule import DistrustedError, Trust
from reactor.trust.trees import require_trees

_OURS = ("reactor", "reactor.resources", "reactor.watchers")
_PLUGINS = ("reactor.resources", "reactor.health", "reactor.watchers")
_HINT = "install reactor as root where no other user can write, such as a virtual environment in /opt: see docs/service.md"


def require_own_program() -> None:
    """Raise InstallationError if a user other than root could change the code of the service.

    It checks the interpreter, all files in every directory that it imports from, and packages that are installed in
    place, such as a checkout. It also checks every directory on the path from ``/`` to each of these. Hidden names such
    as ``.git`` are left out: Python imports nothing from there.
    """
    roots = (sys.executable, os.path.join(sys.prefix, "pyvenv.cfg"), *_search_path(), *_packages())
    try:
        require_trees(Trust(), roots, hidden=False)
    except DistrustedError as error:
        words = f"other users can change code that the service would run as root: {error}"
        raise InstallationError(words, _HINT) from error
    except OSError as error:
        words = f"can't tell whether other users can change code that the service would run as root: {error}"
        raise InstallationError(words, _HINT) from error


def _search_path() -> list[str]:
    """The import path of the service. With ``-P``, it has neither the directory of the command nor the current one."""
    return [each for each in (sys.path if sys.flags.safe_path else sys.path[1:]) if each]


def _packages() -> Iterator[str]:
    """The directories of our packages and of plugins, which need not be on the import path."""
    plugins = {entry.module.partition(".")[0] for group in _PLUGINS for entry in entry_points(group=group)}
    for name in sorted({*_OURS, *plugins}):
        spec = find_spec(name)
        if spec is not None:
            yield from spec.submodule_search_locations or ()
            if spec.origin:
                yield spec.origin
