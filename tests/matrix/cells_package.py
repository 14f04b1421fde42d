"""Cells of the kinds package and repository: a system of its own for apt and dpkg, on repositories made here."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from apt_root import AptRoot
from cell import Cell, differs, first, fixed_manifest
from deb_packages import Deb, write_repository
from package_cells import WANTED_OF_BOTH

from reactor.resources.package import providers

DEBS = (
    *(Deb("app", version, conffiles={"/etc/app.conf": f"from {version}\n"}) for version in ("1.0-1", "2.0-1", "2.1-1")),
    Deb("dependent", depends="app (>= 2.0)"),
    Deb("needy", depends="no-such-package"),
    Deb("picky", depends="app (>= 9)"),
    Deb("rival", conflicts="app"),
    Deb("bad", scripts={"postinst": "exit 1"}),
    Deb("clings", scripts={"prerm": "exit 1"}),
    Deb("vital", essential=True),
)  # fmt: skip
STATES: dict[str, list[tuple[str, ...]]] = {
    "nothing": [],
    "1.0": [("install", "app=1.0-1")],
    "2.1": [("install", "app=2.1-1")],
    "1.0, held": [("install", "app=1.0-1"), ("apt-mark", "hold", "app")],
    "2.1, held": [("install", "app=2.1-1"), ("apt-mark", "hold", "app")],
    "removed, with its configuration left": [("install", "app=1.0-1"), ("remove", "app")],
    "2.1, and what depends on it": [("install", "dependent")],
    "2.1, and what must stay": [("install", "app", "vital")],
    "a rival": [("install", "rival")],
    "what can't be removed": [("install", "clings")],
}
WANTED: dict[str, tuple[str, str]] = {
    **WANTED_OF_BOTH,
    "a rival": ("rival", "present"),
    "what must stay, absent": ("vital", "absent"),
    "what can't be removed, absent": ("clings", "absent"),
}
DRIFTS: dict[str, tuple[str, ...]] = {
    "removed": ("remove", "app"),
    "purged": ("purge", "app"),
    "another version": ("install", "--allow-downgrades", "app=2.0-1"),
    "installed": ("install", "app=2.1-1"),
}
REPOSITORIES: dict[str, dict[str, object]] = {
    "there": {"url": "copy:{place}/more", "trusted": True},
    "at a place where nothing is": {"url": "copy:/nowhere/at/all", "trusted": True},
    "absent": {"ensure": "absent"},
}
REPOSITORY_STATES = ("nothing", "an empty file", "another one")


class World(NamedTuple):
    """A system of its own, and what it looks like after each state, to be copied back."""

    root: AptRoot
    kept: Path


@cache
def _world() -> World:
    """As long as this process lives."""
    directory = Path(tempfile.mkdtemp(prefix="matrix-apt-"))
    root = AptRoot(directory / "system", *DEBS)
    root.update()
    _save(root.root, directory / "kept" / "nothing")
    return World(root, directory / "kept")


def _save(root: Path, kept: Path) -> None:
    for part in ("var", "etc", "usr"):
        if (root / part).exists():
            shutil.copytree(root / part, kept / part, symlinks=True)


def _load(root: Path, kept: Path) -> None:
    for part in ("var", "etc", "usr"):
        shutil.rmtree(root / part, ignore_errors=True)
        if (kept / part).exists():
            shutil.copytree(kept / part, root / part, symlinks=True)


def cells() -> Iterator[Cell]:
    """Every state by everything wanted, and every drift from what was reached."""
    for wanted in WANTED:
        for state in STATES:
            yield _cell(state, wanted)
        if wanted in ("present", "latest", "1.0", "2.0", "absent"):
            for drift in DRIFTS:
                yield _cell("nothing", wanted, drift)
    yield from _repositories()
    for brought in (False, True):
        yield _of_a_repository(brought=brought)


def _cell(state: str, wanted: str, drift: str | None = None) -> Cell:
    name, ensure = WANTED[wanted]
    fails, reason = (False, "") if drift else _end(state, wanted)
    resources = partial(fixed_manifest, [{"package": [{name: {"ensure": ensure, "provider": "apt"}}]}])
    acts = None if drift is None else partial(_apt, [DRIFTS[drift]])
    title = " / ".join(filter(None, (state, wanted, drift)))
    make, judge = partial(_make, state), partial(_wrong, name, ensure)
    return Cell("package", title, resources, judge, make, acts, fails, reason, _look)


def _end(state: str, wanted: str) -> tuple[bool, str]:
    """Whether it fails, and why nobody knows that before."""
    if wanted in ("no such version", "no such package") or wanted.startswith("a dependency"):
        return True, ""
    if wanted == "what can't be installed":
        return True, "its scripts fail when they are run"
    if wanted == "what can't be removed, absent":
        return state == "what can't be removed", "its scripts fail when they are run"
    if wanted == "what must stay, absent":
        return state == "2.1, and what must stay", ""
    if state == "a rival" and wanted == "what depends on it":
        return True, ""
    if state == "1.0, held":
        return wanted in ("2.0", "absent", "what depends on it", "a rival"), ""
    if state == "2.1, held":
        return wanted in ("1.0", "2.0", "absent", "a rival"), ""
    return False, ""


def _of_a_repository(*, brought: bool) -> Cell:
    """A package that only a repository of the same manifest offers: it can't be told, which is no failure."""

    def resources(place: Path) -> list[dict[str, object]]:
        repository = {"url": f"copy:{place}/more", "trusted": True, "provider": "apt"}
        package = {"package": [{"extra": {"ensure": "present", "provider": "apt"}}]}
        return [{"repository": [{"more": repository}]}, package] if brought else [package]

    def make(place: Path) -> None:
        _make("nothing", place)
        write_repository(place / "more", Deb("extra"))

    judge = partial(_wrong, "extra", "present")
    name = f"of a repository{' of the manifest' if brought else ' that nobody knows'}"
    return Cell("package", name, resources, judge, make, fails=not brought, look=_look)


def _repositories() -> Iterator[Cell]:
    for wanted in REPOSITORIES:
        for state in REPOSITORY_STATES:
            yield _repository(state, wanted)
        if wanted == "there":
            for drift in REPOSITORY_STATES:
                yield _repository("nothing", wanted, drift)


def _repository(state: str, wanted: str, drift: str | None = None) -> Cell:
    def resources(place: Path) -> list[dict[str, object]]:
        properties = dict(REPOSITORIES[wanted])
        if "url" in properties:
            properties["url"] = str(properties["url"]).replace("{place}", str(place))
        return [{"repository": [{"more": {**properties, "provider": "apt"}}]}]

    def make(place: Path) -> None:
        _make("nothing", place)
        write_repository(place / "more", Deb("extra"))
        _describe(state, place)

    def wrong(place: Path) -> str | None:
        file = _sources()
        if wanted == "absent":
            return differs("that its file is there", file.exists(), False)
        offered = _world().root.run("apt-cache", "show", "extra")
        return first(
            differs("that its file names it", f"copy:{place}/more" in file.read_text(), True),
            differs("that apt knows its packages", "Package: extra" in offered, True),
        )

    is_nowhere = wanted == "at a place where nothing is"
    name = " / ".join(filter(None, (state, wanted, drift)))
    reason = "only fetching its lists tells" if is_nowhere else ""
    acts = None if drift is None else partial(_describe, drift)
    return Cell(
        "repository",
        name,
        resources,
        wrong,
        make,
        acts,
        is_nowhere,
        reason,
        lambda place: _sources().exists(),
    )


def _sources() -> Path:
    return _world().root.root / "etc/apt/sources.list.d/more.sources"


def _describe(state: str, place: Path) -> None:
    file = _sources()
    if state == "nothing":
        file.unlink(missing_ok=True)
    elif state == "an empty file":
        file.write_text("")
    else:
        file.write_text(f"Types: deb\nURIs: copy:{place}/other\nSuites: ./\nTrusted: yes\n")


def _make(state: str, place: Path) -> None:
    world = _world()
    if not (kept := world.kept / state).exists():
        _load(world.root.root, world.kept / "nothing")
        _apt(STATES[state], place)
        _save(world.root.root, kept)
    _load(world.root.root, kept)
    providers.made["apt"] = world.root.provider()


def _apt(commands, place: Path) -> None:
    root = _world().root
    for command in commands:
        if command[0] == "apt-mark":
            root.run(*command)
        elif command[0] in ("remove", "purge") and command[1] not in root.packages:
            continue
        else:
            root.apt_get(*command)


def _look(place: Path) -> object:
    return _world().root.packages, _world().root.transactions


def _wrong(name: str, ensure: str, place: Path) -> str | None:
    there = _world().root.packages
    if ensure == "absent":
        return differs("that it is installed", name in there, False)
    is_held = "app" in _world().root.run("apt-mark", "showhold")
    newest = {"latest": there.get(name) if is_held else "2.1-1"}.get(ensure)
    wanted = None if ensure == "present" else newest or ensure
    return first(
        differs("that it is installed", name in there, True),
        None if wanted is None else differs("its version", there.get(name), wanted),
    )
