"""Mounts that may stop answering, because another host or a process serves them.

lstat(2) below one that has stopped returns when it answers again, and until then nothing else would be done in this
process. So the mounts on the way to a path are asked before it is touched, by a process that may hang in place of this one:
not by a thread, for one that waits in the kernel can keep even a process that was killed from ending.
"""

from __future__ import annotations

import math
import os
import select
import shlex
import shutil
import signal
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

import trio

from reactor.mountinfo import MOUNTINFO, MountInfo, is_fragile, read_mounts
from reactor.resource.plan import ResourceError


async def follow_mounts(look: Callable[[], None]) -> None:
    """Call ``look`` now and after every change of a mount, for ever. Raises OSError when there is no /proc.

    What ``look`` raises ends it. The kernel tells of changes as urgent data, for which trio can't wait, but epoll can.
    It tells of each once, and to begin a wait is to ask, which answers what came before: so that is when to look.
    """

    async def soon() -> None:  # is when the wait has begun
        look()

    with _changes() as changes:
        async with trio.open_nursery() as nursery:
            while True:
                nursery.start_soon(soon)
                await trio.lowlevel.wait_readable(changes.fileno())
                changes.poll(0)


@contextmanager
def _changes() -> Iterator[select.epoll]:
    with open(MOUNTINFO, "rb") as table, select.epoll() as changes:
        changes.register(table, select.EPOLLPRI)
        yield changes


PATIENCE = 5.0
"""Seconds in which a mount has to answer."""
BELIEVED = 1.0
"""Seconds for which an answer is believed, and that a directory leads through no such mount: 10,000 files on one
mount don't ask it 10,000 times, and those of one directory elsewhere don't look at all that is above it."""

_MAX_LINKS = 40
_UNKNOWN = MountInfo("", "/", "/", (), "file system", "", ())
_TO_NOWHERE = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(3)]


class FragileMount:
    """One such mount. It is asked one question at a time, whose answer is for all who wait."""

    def __init__(self, info: MountInfo) -> None:
        self.info = info
        self._answered = -math.inf
        self._asked = -math.inf
        self._answer: trio.Event | None = None

    @property
    def is_believed(self) -> bool:
        """Whether it has answered just now."""
        return trio.current_time() < self._answered + BELIEVED

    @property
    def complaint(self) -> str:
        """What to say while it does not answer."""
        return f"{self.info.fstype} at {self.info.point} does not answer"

    async def ask(self, within: float) -> None:
        """Return if it answers. Raises ResourceError when it has not, ``within`` seconds after it was asked."""
        if self.is_believed:
            return
        if self._answer is None:
            self._answer = trio.Event()
            self._asked = trio.current_time()
            trio.lowlevel.spawn_system_task(self._question, self._answer)
        with trio.move_on_at(self._asked + min(within, PATIENCE)):
            await self._answer.wait()
            return
        raise self.failure()

    def failure(self) -> ResourceError:
        """What to raise while it does not answer."""
        way_out = f"umount --lazy {shlex.quote(self.info.point)}"
        return ResourceError(self.complaint, f"see to what serves it, {self.info.source}, or {way_out}")

    async def _question(self, answer: trio.Event) -> None:
        """It lasts until there is an answer. A mount that can't be asked, for want of a process, is believed."""
        with suppress(OSError), _asking_process(self.info.point) as pidfd:
            await trio.lowlevel.wait_readable(pidfd)
        self._answered = trio.current_time()
        self._answer = None
        answer.set()


class HungMount(FragileMount):
    """One of a disk of this host that hangs. It need not be asked: a change that waits for it tells when that is over."""

    is_believed = False

    def failure(self) -> ResourceError:
        """What to raise while it does not answer."""
        hint = f"see dmesg, or thaw it if it is frozen: fsfreeze --unfreeze {shlex.quote(self.info.point)}"
        return ResourceError(self.complaint, hint)

    async def ask(self, within: float) -> None:  # noqa: ARG002 - the answer is known
        """Raise ResourceError."""
        raise self.failure()


class FragileMounts:
    """All such mounts, as they come and go. ``by_point`` is empty on most hosts: then there is nothing to ask."""

    def __init__(self) -> None:
        self.by_point: dict[str, FragileMount] = {}
        self.on_answer: Callable[[], None] | None = None
        """Called when a disk that hung answers again."""
        self._hung: dict[str, FragileMount] = {}
        self._plain: dict[str, tuple[str, float]] = {}
        """What directories that lead through none of them stand for, and until when that is believed."""
        self.read()

    def read(self) -> None:
        """Read the mount table again. Known mounts keep their answers."""
        with suppress(OSError):  # there is no /proc, or no descriptor left
            known, hung = self.by_point, self._hung
            self.by_point = {
                info.point: _mount(info, known.get(info.point), is_hung=info.device in hung)
                for info in read_mounts()
                if is_fragile(info) or info.device in hung
            }
            self._plain.clear()

    def hangs(self, mount: FragileMount) -> None:
        """Allow no access to the file system of ``mount`` until it answers."""
        self._hung[mount.info.device] = mount
        self.read()

    def answers(self, mount: FragileMount) -> None:
        """The file system of ``mount`` hangs no more."""
        self._hung.pop(mount.info.device, None)
        self.read()
        if self.on_answer is not None:
            self.on_answer()

    async def ask(self, path: str | bytes, within: float = math.inf) -> None:
        """Return if ``path``, which is absolute, may be touched now: all mounts on the way to it answer.

        Raises ResourceError when one does not: after `PATIENCE` seconds, or ``within`` fewer. One that was asked before
        is given no more than is left of them: while it hangs, all fail at once.
        """
        if self.by_point:
            for mount in self._on_the_way_to(path):
                await mount.ask(within)

    async def ask_all(self, paths: Iterable[str]) -> None:
        """The same of several, one after the other. Raises ResourceError as `ask`."""
        for path in paths:
            await self.ask(path)

    def unresponsive_reason(self, path: str | bytes) -> str | None:
        """Why ``path`` must not be touched now: a mount on the way to it has not just answered. It isn't asked here."""
        if not self.by_point:
            return None
        unheard = (mount for mount in self._on_the_way_to(path) if not mount.is_believed)
        return mount.complaint if (mount := next(unheard, None)) else None

    def _on_the_way_to(self, path: str | bytes) -> Iterator[FragileMount]:
        """The mounts that ``path`` leads through, symlinks included. What is behind one is touched after its turn."""
        directory, _, last = os.fsdecode(path).rpartition("/")
        here, until = self._plain.get(directory, ("", -math.inf))
        links, is_new = 0, until <= trio.current_time()
        if is_new:
            here, names = "", [last, *directory.split("/")[::-1]]
        else:
            names = [last]
        while names and links < _MAX_LINKS:
            if is_new and len(names) == 1:
                self._plain[directory], is_new = (here, trio.current_time() + BELIEVED), False
            name = names.pop()
            if name == "..":
                here = here.rpartition("/")[0]
            elif name not in ("", "."):
                here = f"{here}/{name}"
                if (mount := self.by_point.get(here)) is not None:
                    is_new = False
                    yield mount
                if (target := _target_of(here)) is not None:
                    names += target.split("/")[::-1]
                    here = "" if target.startswith("/") else here.rpartition("/")[0]
                    links += 1

    async def follow(self) -> None:
        """Learn of every change, for ever."""
        with suppress(OSError):  # there is no /proc
            await follow_mounts(self.read)


_of_this_run: trio.lowlevel.RunVar[FragileMounts] = trio.lowlevel.RunVar("fragile mounts")


def fragile_mounts() -> FragileMounts:
    """Those of this host, followed from now on until trio's run ends."""
    try:
        return _of_this_run.get()
    except LookupError:
        _of_this_run.set(found := FragileMounts())
        trio.lowlevel.spawn_system_task(found.follow)
        return found


def mount_of(path: str) -> HungMount:
    """The mount that holds ``path``, as far as the path tells: that of the longest mount point above it. Touches nothing."""
    held = [info for info in _all_mounts() if f"{path}/".startswith(f"{info.point.rstrip('/')}/")]
    return HungMount(max(reversed(held), key=lambda info: len(info.point), default=_UNKNOWN))


def _all_mounts() -> tuple[MountInfo, ...]:
    with suppress(OSError):  # there is no /proc
        return read_mounts()
    return ()


def _mount(info: MountInfo, known: FragileMount | None, *, is_hung: bool) -> FragileMount:
    kind = HungMount if is_hung else FragileMount
    return known if known is not None and known.info == info and type(known) is kind else kind(info)


def _target_of(path: str) -> str | None:
    """What a symlink says; None for anything else. To try readlink(2) costs five times as much where there is none."""
    with suppress(OSError):
        return os.readlink(path) if stat.S_ISLNK(os.lstat(path).st_mode) else None
    return None


@contextmanager
def _asking_process(point: str) -> Iterator[int]:
    """A process that ends when the mount has answered: its pidfd. Raises OSError when there can be none.

    It asks how full the file system is: only the server knows that. One that hangs is left behind, to end as soon
    as it can.
    """
    program = shutil.which("stat", path=os.defpath) or "/usr/bin/stat"
    words = ("stat", "-f", "-c", "%t", point)
    with open(os.devnull):  # without a descriptor left, it is not started
        pid = os.posix_spawn(program, words, {}, file_actions=_TO_NOWHERE, setpgroup=0)
    pidfd = os.pidfd_open(pid)
    try:
        yield pidfd
    finally:
        with suppress(OSError):  # it may be reaped already, where SIGCHLD is ignored
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            os.waitpid(pid, os.WNOHANG)
        os.close(pidfd)
