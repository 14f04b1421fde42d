"""Where the connections of ``reactor push`` have their sockets, so that the next push finds them."""

from __future__ import annotations

import os
from pathlib import Path

from reactor.fleet.push.ssh import LONGEST_DIRECTORY
from reactor.trust.inputs import make_own_directory
from reactor.trust.rule import DistrustedError


def directory_of_sockets() -> str | None:
    """Make the directory if it is missing; None where no directory is ours alone, or its path is too long for a socket."""
    above = os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = os.path.abspath(os.path.join(above, "reactor", "ssh"))
    if len(os.fsencode(path)) > LONGEST_DIRECTORY or "%" in path:
        return None
    try:
        make_own_directory(path)
    except (OSError, DistrustedError):
        return None
    return path
