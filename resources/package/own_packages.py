"""What this process itself runs on: no package that has one of these files is removed by it."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from functools import cache

from reactor import ResourceError


@cache
def own_files() -> tuple[str, ...]:
    """The interpreter, what is mapped into this process, and the modules it has loaded; by all names of a merged ``/usr``."""
    files = {os.path.realpath(sys.executable), *_mapped(), *_modules()}
    files |= {
        path.removeprefix("/usr") for path in files if path.startswith(("/usr/lib", "/usr/bin", "/usr/sbin"))
    }
    return tuple(sorted(files))


def refusal_of_own(name: str, asked: Collection[str]) -> ResourceError:
    """Why a transaction that was ``asked`` for is not made: it would remove the package ``name``."""
    others = "" if name in asked else f" (it would go with {', '.join(asked)})"
    return ResourceError(
        f"refusing to remove {name}, which reactor itself runs on{others}",
        "if that is meant, do it by hand, or have reactor run on another interpreter",
    )


def _mapped() -> set[str]:
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        paths = (line.rstrip("\n").partition("/")[2] for line in maps)
        return {f"/{path}" for path in paths if path and not path.endswith(" (deleted)") and ".so" in path}


def _modules() -> set[str]:
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return {os.path.realpath(file) for file in files if isinstance(file, str)}
