"""Cells of the kind package with dnf and rpm: a system of its own for them, on a repository made here."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from cell import Cell, differs, first, fixed_manifest
from dnf_root import DnfRoot
from package_cells import WANTED_OF_BOTH
from rpm_packages import Rpm, write_repository

from reactor.resources.package import providers

RPMS = (
    *(Rpm("app", version) for version in ("1.0", "2.0", "2.1")),
    Rpm("dependent", requires="app >= 2.0"),
    Rpm("needy", requires="no-such-package"),
    Rpm("picky", requires="app >= 9"),
    Rpm("bad", before="error('it is bad')"),
)
STATES: dict[str, Sequence[str]] = {
    "nothing": (),
    "1.0": ("install", "app-1.0"),
    "2.1": ("install", "app-2.1"),
    "2.1, and what depends on it": ("install", "dependent"),
}
WANTED: dict[str, tuple[str, str]] = {
    **WANTED_OF_BOTH,
}
DRIFTS: dict[str, Sequence[str]] = {
    "removed": ("remove", "app"),
    "another version": ("install", "app-2.0"),
    "an older version": ("downgrade", "app-1.0"),
}
DRIFTED = {
    "present": ("removed", "another version"),
    "latest": ("removed", "an older version"),
    "1.0": ("removed", "another version"),
    "2.0": ("removed", "an older version"),
    "absent": ("another version",),
}


class World(NamedTuple):
    """A system of its own, and what it looks like after each state, to be copied back."""

    root: DnfRoot
    kept: Path


@cache
def _world() -> World:
    """As long as this process lives."""
    directory = Path(tempfile.mkdtemp(prefix="matrix-dnf-"))
    write_repository(directory / "repository", RPMS)
    root = DnfRoot(directory / "system", directory / "repository")
    root.dnf("makecache")
    shutil.copytree(root.root, directory / "kept" / "nothing", symlinks=True)
    return World(root, directory / "kept")


def cells() -> Iterator[Cell]:
    """Every state by everything wanted, and drifts from what was reached."""
    for wanted in WANTED:
        for state in STATES:
            yield _cell(state, wanted)
        for drift in DRIFTED.get(wanted, ()):
            yield _cell("nothing", wanted, drift)


def _cell(state: str, wanted: str, drift: str | None = None) -> Cell:
    name, ensure = WANTED[wanted]
    resources = partial(fixed_manifest, [{"package": [{name: {"ensure": ensure, "provider": "dnf"}}]}])
    acts = None if drift is None else partial(_dnf, DRIFTS[drift])
    title = " / ".join(filter(None, ("dnf", state, wanted, drift)))
    reason = "its scripts fail when they are run" if wanted == "what can't be installed" else ""
    make, judge = partial(_make, state), partial(_wrong, name, ensure)
    return Cell("package", title, resources, judge, make, acts, _fails(state, wanted), reason, _look)


def _fails(state: str, wanted: str) -> bool:
    if (state, wanted) == ("2.1, and what depends on it", "1.0"):
        return True
    is_not_offered = wanted.startswith(("no such", "a dependency"))
    return is_not_offered or wanted == "what can't be installed"


def _make(state: str, place: Path) -> None:
    root, kept = _world()
    if not (kept / state).exists():
        _load(kept / "nothing")
        _dnf(STATES[state], place)
        shutil.copytree(root.root, kept / state, symlinks=True)
    _load(kept / state)
    providers.made["dnf"] = root.provider()


def _load(kept: Path) -> None:
    root = _world().root.root
    shutil.rmtree(root)
    shutil.copytree(kept, root, symlinks=True)


def _dnf(command: Sequence[str], place: Path) -> None:
    _world().root.dnf(*command)


def _look(place: Path) -> object:
    return _world().root.packages


def _wrong(name: str, ensure: str, place: Path) -> str | None:
    found = _world().root.packages.get(name)
    if found is not None:
        found = found.removeprefix("0:")
    if ensure == "absent":
        return differs("what is installed", found, None)
    wanted = {"present": found, "latest": "2.1-1"}.get(ensure, ensure)
    return first(
        differs("that it is installed", found is not None, True), differs("its version", found, wanted)
    )
