"""All cells of all kinds, and the share of them that every run of the tests asks."""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from cell import Cell
from questions import breaches

MODULES = {
    "cells_file": 3,
    "cells_link": 4,
    "cells_recurse": 2,
    "cells_tidy": 4,
    "cells_service": 8,
    "cells_timer": 8,
    "cells_quadlet": 1,
    "cells_accounts": 6,
    "cells_cron": 2,
    "cells_exec": 2,
    "cells_lines": 2,
    "cells_trees": 1,
    "cells_archive": 1,
    "cells_git": 6,
    "cells_dev": 4,
    "cells_pip": 28,
    "cells_reboot": 4,
    "cells_mount": 5,
    "cells_kernel": 2,
    "cells_disks": 6,
    "cells_lvm": 17,
    "cells_parts": 6,
    "cells_network_files": 8,
    "cells_network": 5,
    "cells_firewall": 12,
    "cells_regional": 6,
    "cells_package": 9,
    "cells_dnf": 15,
    "cells_tls": 10,
    "cells_languages": 12,
    "cells_container": 4,
    "cells_role": 2,
}
"""By module, of how many of its cells the tests ask one, always the same: what starts programs takes longest."""


class Found(NamedTuple):
    """The answer of one cell: no breaches is a good one. ``seconds`` is what it took."""

    cell: Cell
    breaches: list[str]
    seconds: float


def cells(module: str, *, whole: bool) -> Sequence[Cell]:
    """The cells of a module, all or those that the tests ask."""
    found = list(import_module(module).cells())
    if whole:
        return found
    chosen = random.Random(module).sample(range(len(found)), len(found) // MODULES[module])
    return [found[number] for number in sorted(chosen)]


def answers(asked: Sequence[Cell]) -> Iterator[Found]:
    """Ask them one after the other."""
    with tempfile.TemporaryDirectory(prefix="matrix-") as scratch:
        os.chmod(scratch, 0o755)
        for number, cell in enumerate(asked):
            start = time.perf_counter()
            found = breaches(cell, Path(scratch, str(number)))
            yield Found(cell, found, time.perf_counter() - start)
