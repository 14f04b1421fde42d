"""Directories of manifests, such as ``/etc/reactor.d``: finds the manifests in one."""

from __future__ import annotations

import errno
import os

from reactor.errors import MORE_FILES
from reactor.resource.diagnostic import Diagnostic, ManifestError
from reactor.trust.inputs import require_input_directory
from reactor.trust.rule import DistrustedError

_SUFFIXES = (".yaml", ".yml")


def is_directory(name: str) -> bool:
    """Whether ``name`` is a directory. A directory means all manifests in it."""
    return os.path.isdir(name)


def manifests_in(directory: str) -> list[str]:
    """Return the manifests in ``directory``, sorted by name, without those in subdirectories.

    Raises ManifestError when there is none, or when an untrusted user could create one.
    """
    known = (os.path.abspath(directory),)
    try:
        require_input_directory(directory)
        names = manifest_names(directory)
    except DistrustedError as error:
        message = f"the manifests in {directory} can't be trusted: {error}"
        raise ManifestError([Diagnostic("R0401", message, None, error.hint)], known) from error
    except OSError as error:
        message = f"can't read the directory {directory}: {error.strerror}"
        hint = MORE_FILES if error.errno == errno.EMFILE else None
        raise ManifestError([Diagnostic("R0101", message, None, hint)], known) from error
    if not names:
        hint = "the name of a manifest ends with .yaml or .yml, and does not begin with a dot"
        raise ManifestError([Diagnostic("R0101", f"there is no manifest in {directory}", None, hint)], known)
    return [os.path.join(directory, name) for name in names]


def manifest_names(directory: str) -> list[str]:
    """Return the names of the manifests in ``directory``, sorted.

    Leaves out the files of editors and package managers. Raises OSError.
    """
    return sorted(
        name
        for name in os.listdir(directory)
        if name.endswith(_SUFFIXES)
        and not name.startswith(".")
        and not os.path.isdir(os.path.join(directory, name))
    )
