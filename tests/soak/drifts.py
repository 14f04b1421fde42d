"""Everything that goes wrong on a host, to something that is chosen at random; each says how it is known to be right again."""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from soak_world import Kept, World, systemctl

Check = Callable[[], bool]


@dataclass(frozen=True)
class Drift:
    """Something was spoilt: ``key`` is what, and it is mended as soon as ``is_mended``."""

    kind: str
    key: str
    is_mended: Check
    is_cheap: bool = True
    """Whether to ask is a matter of microseconds."""


class Drifts:
    """Makes them. What it holds open is closed after a while, or at the end."""

    MOST_HELD = 50

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self._random = random.Random(seed)
        self._held: list[int] = []
        self._count = 0
        self.kinds: dict[str, Callable[[], Iterator[Drift]]] = {
            "write": lambda: self._of_file(lambda path: path.write_text("wrong")),
            "append": lambda: self._of_file(self._append),
            "truncate by path": lambda: self._of_file(lambda path: os.truncate(path, 3)),
            "truncate to nothing": lambda: self._of_file(lambda path: os.truncate(path, 0)),
            "write, held open": lambda: self._of_file(self._write_held),
            "same size, held open": lambda: self._of_file(self._overwrite_held),
            "rename over": lambda: self._of_file(self._rename_over),
            "delete": lambda: self._of_file(os.unlink),
            "move away": lambda: self._of_file(lambda path: path.rename(self._spare())),
            "chmod": lambda: self._of_file(lambda path: path.chmod(0o600)),
            "setuid": lambda: self._of_file(lambda path: path.chmod(0o4755)),
            "symlink in its place": lambda: self._of_file(self._symlink),
            "hard link written": lambda: self._of_file(self._write_hard_link),
            "hard link truncated": lambda: self._of_file(self._truncate_hard_link),
            "directory moved away": self._directory_away,
            "directory removed": self._directory_removed,
            "symlink to a directory swapped": self._swap,
            "source written": self._source,
            "source truncated": self._source_truncated,
            "template written": self._template,
            "marker of a command deleted": self._marker,
        }
        if os.geteuid() == 0:
            self.kinds["chown"] = lambda: self._of_file(lambda path: os.chown(path, 1, 1))
        if world.units:
            self.kinds["unit stopped"] = lambda: self._unit("stop")
            self.kinds["unit killed"] = lambda: self._unit("kill", "--signal=KILL")
            self.kinds["unit disabled"] = lambda: self._unit("disable")

    def close(self) -> None:
        """Close what is held open."""
        while self._held:
            os.close(self._held.pop())

    def make(self, kind: str, busy: set[str]) -> list[Drift]:
        """Make one of ``kind``; nothing when what was chosen is ``busy``."""
        self._count += 1
        self._busy = busy
        return list(self.kinds[kind]())

    # ---- files ----

    def _of_file(self, spoil: Callable[[Path], object]) -> Iterator[Drift]:
        kept = self._random.choice(
            self._random.choice([self.world.files] * 8 + [self.world.copies, self.world.made])
        )
        if str(kept.path) in self._busy or str(kept.path.parent) in self._busy or not kept.is_right():
            return
        spoil(kept.path)
        yield Drift("", str(kept.path), kept.is_right)

    def _spare(self) -> Path:
        return self.world.spare / f"s{self._count % 500}"

    @staticmethod
    def _append(path: Path) -> None:
        with path.open("a") as file:
            file.write("wrong")

    def _hold(self, descriptor: int) -> None:
        self._held.append(descriptor)
        if len(self._held) > self.MOST_HELD:
            os.close(self._held.pop(0))

    def _write_held(self, path: Path) -> None:
        self._hold(os.open(path, os.O_WRONLY))
        os.write(self._held[-1], b"held and wrong")

    def _overwrite_held(self, path: Path) -> None:
        self._hold(os.open(path, os.O_WRONLY))
        os.write(self._held[-1], b"F")

    def _rename_over(self, path: Path) -> None:
        self._spare().write_text("another file")
        os.replace(self._spare(), path)

    def _symlink(self, path: Path) -> None:
        link = self._spare()
        link.unlink(missing_ok=True)
        link.symlink_to("/etc/hostname")
        os.replace(link, path)

    def _link_elsewhere(self, path: Path) -> Path:
        """Another hard link in a directory that nobody watches; it took the place of a file, and is right so far."""
        other, new = self._spare(), path.with_name("soak-link")
        other.unlink(missing_ok=True)
        shutil.copy2(path, other)
        new.unlink(missing_ok=True)
        new.hardlink_to(other)
        os.replace(new, path)
        time.sleep(self._random.choice((0, 0.001, 0.01, 0.05)))  # what is heard first is to vary
        return other

    def _write_hard_link(self, path: Path) -> None:
        self._link_elsewhere(path).write_text("through the other")

    def _truncate_hard_link(self, path: Path) -> None:
        os.truncate(self._link_elsewhere(path), 2)

    # ---- directories, sources, templates ----

    def _directory(self) -> Path | None:
        directory = self._random.choice(self.world.files).path.parent
        inside = [kept for kept in self.world.files if kept.path.parent == directory]
        if str(directory) in self._busy or any(str(kept.path) in self._busy for kept in inside):
            return None
        return directory

    def _whole(self, directory: Path) -> Drift:
        inside = [kept for kept in self.world.files if kept.path.parent == directory]
        return Drift("", str(directory), lambda: all(kept.is_right() for kept in inside))

    def _directory_away(self) -> Iterator[Drift]:
        """Moved away and made anew, empty: everything in it is another thing."""
        if directory := self._directory():
            away = self.world.spare / "directory"
            shutil.rmtree(away, ignore_errors=True)
            directory.rename(away)
            directory.mkdir()
            yield self._whole(directory)

    def _directory_removed(self) -> Iterator[Drift]:
        """Removed, and put back by somebody else with a file of his own."""
        if directory := self._directory():
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir(exist_ok=True)
            (directory / "foreign").write_text("x")
            yield self._whole(directory)

    def _swap(self) -> Iterator[Drift]:
        """The symlink on the way leads to another directory, as in a deployment; what is in there is wrong."""
        current = self.world.root / "current"
        if str(current) in self._busy or not all(kept.is_right() for kept in self.world.linked):
            return
        release, link = self.world.root / f"release{self._count}", self.world.root / "next"
        release.mkdir()
        (release / self.world.linked[0].path.name).write_text("wrong")
        before = current.resolve()
        link.symlink_to(release.name)
        os.replace(link, current)
        shutil.rmtree(before)
        yield Drift("", str(current), lambda: all(kept.is_right() for kept in self.world.linked))

    def _source(self) -> Iterator[Drift]:
        """Somebody gives the source another content."""
        if (at := self._free_copy()) is not None:
            text = f"source of turn {self._count}\n"
            self.world.source_of(self.world.copies[at]).write_text(text)
            yield self._copied(at, text)

    def _source_truncated(self) -> Iterator[Drift]:
        """Somebody takes the last byte from a source, by its path."""
        if (at := self._free_copy()) is not None and (text := self.world.copies[at].text[:-1]):
            os.truncate(self.world.source_of(self.world.copies[at]), len(text))
            yield self._copied(at, text)

    def _free_copy(self) -> int | None:
        at = self._random.randrange(len(self.world.copies))
        copy = self.world.copies[at]
        return None if str(copy.path) in self._busy or not copy.is_right() else at

    def _copied(self, at: int, text: str) -> Drift:
        copy = self.world.copies[at] = Kept(self.world.copies[at].path, text)
        return Drift("", str(copy.path), copy.is_right)

    def _template(self) -> Iterator[Drift]:
        at = self._random.randrange(len(self.world.made))
        made = self.world.made[at]
        if str(made.path) in self._busy or not made.is_right():
            return
        self.world.made[at] = Kept(made.path, f"made in turn {self._count}\n")
        self.world.template_of(made).write_text(self.world.made[at].text)
        yield Drift("", str(made.path), self.world.made[at].is_right)

    # ---- commands and services ----

    def _marker(self) -> Iterator[Drift]:
        """The command runs again, and whoever subscribes to it is refreshed."""
        marker = self._random.choice(self.world.markers)
        if str(marker) in self._busy or not marker.exists():
            return
        log = self.world.log_of(marker)
        before = log.stat().st_size if log.exists() else 0
        marker.unlink()
        yield Drift("", str(marker), lambda: marker.exists() and log.exists() and log.stat().st_size > before)

    def _unit(self, *verb: str) -> Iterator[Drift]:
        unit = self._random.choice(self.world.units)
        if unit in self._busy:
            return
        systemctl(*verb, unit)
        yield Drift("", unit, lambda: self.unit_is_right(unit), is_cheap=False)

    @staticmethod
    def unit_is_right(unit: str) -> bool:
        """Whether it runs, and is to run at the next start of the host."""
        return systemctl("is-active", unit) == "active" and systemctl("is-enabled", unit) == "enabled"
