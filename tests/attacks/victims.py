"""What root does in a race with an attacker, again and again: real resources, checked and applied as the engine does it."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from reactor.resource.backup_store import backup_store, state_directory_for
from reactor.resource.output import output_sink
from reactor.resource.plan import ResourceError

STRANGER = 12345
"""The user id of the attacker: nobody else has it."""
SECRET = "only root may read this"
FORGED = "forged"


class World:
    """A directory of root's, which nobody may look into, and beside it one that belongs to the attacker."""

    def __init__(self, top: Path) -> None:
        self.top, self.root, self.home = top, top / "root", top / "home"
        top.chmod(0o755)
        for path in (self.root, self.root / "site", self.root / "opt", self.root / "point"):
            path.mkdir(mode=0o700)
        for name in ("app.conf", "site/app.conf", "site/other"):
            (self.root / name).write_text(f"{SECRET}\n")
            (self.root / name).chmod(0o600)
        for path in (self.home, self.home / "conf"):
            path.mkdir()
            os.chown(path, STRANGER, STRANGER)
        (self.home / "evil").symlink_to("../root")
        os.lchown(self.home / "evil", STRANGER, STRANGER)
        self.conf = os.open(self.home / "conf", os.O_RDONLY | os.O_DIRECTORY)
        self.outcomes: Counter[str] = Counter()
        self.attempts = 0
        self.leaks: list[str] = []
        self._before = self.fingerprint()

    @property
    def swapped(self) -> tuple[Path, Path]:
        """What is exchanged in most attacks: a directory of the attacker with a symlink to that of root."""
        return self.home / "conf", self.home / "evil"

    def give(self, name: str, text: str | None, mode: int = 0o644) -> None:
        """Put a file of the attacker into their real directory, wherever that is now; None for a directory with a file."""
        if text is None:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=self.conf)
            os.chown(name, STRANGER, STRANGER, dir_fd=self.conf, follow_symlinks=False)
            name, text = f"{name}/app.conf", "theirs"
        self.take(name)
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode, dir_fd=self.conf)
        with open(fd, "w") as file:
            file.write(text)
            os.fchown(fd, STRANGER, STRANGER)

    def take(self, name: str) -> None:
        """Remove a name from the attacker's real directory."""
        try:
            os.unlink(name, dir_fd=self.conf)
        except FileNotFoundError:
            pass
        except IsADirectoryError:
            shutil.rmtree(name, dir_fd=self.conf)

    def fingerprint(self) -> dict[str, tuple[object, ...]]:
        """All that is to stay as it is."""
        found: dict[str, tuple[object, ...]] = {}
        for path in (self.root, *sorted(self.root.rglob("*"))):
            status = path.lstat()
            held = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
            found[str(path)] = (status.st_mode, status.st_uid, status.st_gid, status.st_ino, held)
        return found

    def seen(self, text: object) -> None:
        """Take what is shown to anybody, or is kept."""
        if SECRET in str(text):
            self.leaks.append(f"shown: {str(text)[:200]!r}")

    def look(self) -> None:
        """See whether root's directory is as it was."""
        now = self.fingerprint()
        if now != self._before:
            for path in self._before.keys() | now.keys():
                if self._before.get(path) != now.get(path):
                    self.leaks.append(f"{path}: {self._before.get(path)} before, {now.get(path)} now")
            self._before = now

    def holds_secret(self, *paths: Path) -> None:
        """See whether a file of root's has come to a path."""
        for path in paths:
            files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
            for each in files:
                if SECRET.encode() in each.read_bytes():
                    self.leaks.append(f"{each} holds what only root may read")

    def holds_forged(self, path: Path) -> None:
        """See whether something of the attacker has come to a path that is root's."""
        with suppress(FileNotFoundError):
            if FORGED.encode() in path.read_bytes():
                self.leaks.append(f"{path} was forged")

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Hear all that is said, and see all that is kept, for a block."""
        tokens = output_sink.set(self.seen), backup_store.set(Kept(self))
        try:
            with state_directory_for(str(self.top / "state")):
                yield
        finally:
            output_sink.reset(tokens[0])
            backup_store.reset(tokens[1])

    async def attempt(self, work: Callable[[], Awaitable[str]]) -> None:
        """One attempt, counted by how it ended."""
        self.attempts += 1
        try:
            self.outcomes[await work()] += 1
        except (ResourceError, OSError) as error:
            self.seen(f"{error} {getattr(error, 'hint', '')}")
            self.outcomes["refused" if "refusing" in str(error) else "failed"] += 1
        self.look()


class Kept:
    """A store that looks at what it is given."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def keep(self, path: str, ref: str, fd: int) -> None:
        self._world.seen(f"kept of {path}: {_all_of(fd)}")

    async def keep_for_undo(self, ref: str, fd: int) -> str:
        data = _all_of(fd)
        self._world.seen(f"held for {ref}: {data}")
        name = hashlib.sha256(data.encode()).hexdigest()
        path = self._world.top / f"held-{name}"
        path.write_text(data)
        return str(path)


def _all_of(fd: int) -> str:
    return os.pread(fd, 1 << 20, 0).decode(errors="replace")


async def check(world: World, resource, *, act: bool = True) -> str:
    """One check as the engine makes it: look, plan, show the diff, and act, or else do a dry run."""
    state = await resource.observe()
    world.seen(state)
    plan = resource.plan(state, refresh=False)
    if plan and not act:
        await resource.preflight(state)
    for action in plan:
        world.seen(action.would + action.did)
        if action.diff is not None:
            world.seen(await (await action.diff())())
        if act:
            await action.run()
    if act:
        world.seen(await resource.outputs())
    return "as desired" if not plan else "written" if act else "shown"
