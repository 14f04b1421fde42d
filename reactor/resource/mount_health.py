"""Finds out whether mounts answer that may hang because another host or a process serves them.

lstat(2) below a hung mount returns only when the mount answers again, and until then this process could do nothing
else. So before a path is accessed, the mounts on the way to it are tested by a separate process, which may hang
instead of this one. A thread would not do: one that waits in the kernel can keep even a killed process from ending.
"""

from __future__ import annotations

import errno
import math
import os
import select
import shlex
import signal
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

import trio

from reactor.mountinfo import MOUNTINFO, MountInfo, is_fragile, read_mounts
from reactor.resource.plan import ResourceError


async def follow_mounts(on_change: Callable[[], None]) -> None:
    """Call ``on_change`` now and after every change of a mount, in a loop. Raises OSError when there is no /proc.

    An exception from ``on_change`` ends it. The kernel reports changes as urgent data, for which epoll can wait, but trio
    can't. It reports each change once, and beginning to wait also reports earlier changes: so ``on_change`` is called once
    the wait has begun.
    """

    async def soon() -> None:  # runs when the wait has begun
        on_change()

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


TIMEOUT = 5.0
"""How many seconds a mount has to answer."""
ANSWER_VALID_FOR = 1.0
"""For how many seconds an answer is valid, and the fact that a directory has no such mount on its way.

So 10,000 files on one mount do not test it 10,000 times, and files of one directory elsewhere do not examine its
parents again.
"""

_MAX_LINKS = 40
_UNKNOWN = MountInfo("", "/", "/", (), "file system", "", ())
_TO_NOWHERE = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(3)]


class FragileMount:
    """A mount that may hang. It is tested by one process at a time, whose result is for all waiting checks."""

    def __init__(self, info: MountInfo) -> None:
        self.info = info
        self._answered = -math.inf
        self._asked = -math.inf
        self._answer: trio.Event | None = None

    @property
    def has_answered_recently(self) -> bool:
        """Whether it answered less than `ANSWER_VALID_FOR` seconds ago."""
        return trio.current_time() < self._answered + ANSWER_VALID_FOR

    @property
    def complaint(self) -> str:
        """The message while it does not answer."""
        return f"{self.info.fstype} at {self.info.point} does not answer"

    async def ask(self, within: float) -> None:
        """Return if it answers.

        Raises ResourceError if it has not done so `TIMEOUT` seconds (or ``within``, if less) after the test began.
        """
        if self.has_answered_recently:
            return
        if self._answer is None:
            self._answer = trio.Event()
            self._asked = trio.current_time()
            trio.lowlevel.spawn_system_task(self._question, self._answer)
        with trio.move_on_at(self._asked + min(within, TIMEOUT)):
            await self._answer.wait()
            return
        raise self.failure()

    def failure(self) -> ResourceError:
        """The error to raise while it does not answer."""
        way_out = f"umount --lazy {shlex.quote(self.info.point)}"
        return ResourceError(
            self.complaint, f"restore {self.info.source}, which serves it, or unmount it: {way_out}"
        )

    async def _question(self, answer: trio.Event) -> None:
        """Test the mount until it answers. If no process can be started to test it, it counts as answering."""
        with suppress(OSError), _asking_process(self.info.point) as handle:
            await trio.lowlevel.wait_readable(handle)
        self._answered = trio.current_time()
        self._answer = None
        answer.set()


class HungMount(FragileMount):
    """A mount of a local disk that hangs.

    It is not tested: the change that waits for the disk reports when that is over.
    """

    has_answered_recently = False

    def failure(self) -> ResourceError:
        """The error to raise while it does not answer."""
        hint = f"see dmesg, or thaw it if it is frozen: fsfreeze --unfreeze {shlex.quote(self.info.point)}"
        return ResourceError(self.complaint, hint)

    async def ask(self, within: float) -> None:  # noqa: ARG002 - the result is known
        """Raise ResourceError."""
        raise self.failure()


class FragileMounts:
    """All mounts that may hang, as they come and go. ``by_point`` is empty on most hosts: then nothing is tested."""

    def __init__(self) -> None:
        self.by_point: dict[str, FragileMount] = {}
        self.on_answer: Callable[[], None] | None = None
        """Called when a disk that hung answers again."""
        self._hung: dict[str, FragileMount] = {}
        self._plain: dict[str, tuple[str, float]] = {}
        """The real paths of directories with no such mount on their way, and until when each entry is valid."""
        self.read()

    def read(self) -> None:
        """Read the mount table again. Known mounts keep their results."""
        with suppress(OSError):  # there is no /proc, or no descriptor left
            known, hung = self.by_point, self._hung
            self.by_point = {
                info.point: _mount(info, known.get(info.point), is_hung=info.device in hung)
                for info in read_mounts()
                if is_fragile(info) or info.device in hung
            }
            self._plain.clear()

    def hangs(self, mount: FragileMount) -> None:
        """Block access to the file system of ``mount`` until it answers."""
        self._hung[mount.info.device] = mount
        self.read()

    def answers(self, mount: FragileMount) -> None:
        """The file system of ``mount`` no longer hangs."""
        self._hung.pop(mount.info.device, None)
        self.read()
        if self.on_answer is not None:
            self.on_answer()

    async def ask(self, path: str | bytes, within: float = math.inf) -> None:
        """Return if the absolute ``path`` may be accessed now: all mounts on the way to it answer.

        Raises ResourceError when one does not, after `TIMEOUT` seconds or, if that is less, ``within`` seconds. These
        count from the beginning of a test that is running already, so while a mount hangs, all checks that wait for it
        fail at once.
        """
        if self.by_point:
            for mount in self._on_the_way_to(path):
                await mount.ask(within)

    async def ask_all(self, paths: Iterable[str]) -> None:
        """The same for several paths, one after the other. Raises ResourceError as `ask` does."""
        for path in paths:
            await self.ask(path)

    def unresponsive_reason(self, path: str | bytes) -> str | None:
        """Why ``path`` must not be accessed now, or None: a mount on the way to it has not answered recently.

        Tests nothing.
        """
        if not self.by_point:
            return None
        unheard = (mount for mount in self._on_the_way_to(path) if not mount.has_answered_recently)
        return mount.complaint if (mount := next(unheard, None)) else None

    def _on_the_way_to(self, path: str | bytes) -> Iterator[FragileMount]:
        """The mounts on the way to ``path``, including those behind symlinks.

        Nothing behind a mount is read before it is yielded.
        """
        directory, _, last = os.fsdecode(path).rpartition("/")
        here, until = self._plain.get(directory, ("", -math.inf))
        links, is_new = 0, until <= trio.current_time()
        if is_new:
            here, names = "", [last, *directory.split("/")[::-1]]
        else:
            names = [last]
        while names and links < _MAX_LINKS:
            if is_new and len(names) == 1:
                self._plain[directory], is_new = (here, trio.current_time() + ANSWER_VALID_FOR), False
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
        """Follow all changes of mounts, in a loop."""
        with suppress(OSError):  # there is no /proc
            await follow_mounts(self.read)


_of_this_run: trio.lowlevel.RunVar[FragileMounts] = trio.lowlevel.RunVar("fragile mounts")


def fragile_mounts() -> FragileMounts:
    """The mounts of this host that may hang, followed from now on until trio's run ends."""
    try:
        return _of_this_run.get()
    except LookupError:
        _of_this_run.set(found := FragileMounts())
        trio.lowlevel.spawn_system_task(found.follow)
        return found


def mount_of(path: str) -> HungMount:
    """The mount that contains ``path``, judged by the path alone: the longest mount point above it.

    Accesses nothing.
    """
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
    """The target of a symlink; None for anything else.

    Where there is none, trying readlink(2) would cost five times as much.
    """
    with suppress(OSError):
        return os.readlink(path) if stat.S_ISLNK(os.lstat(path).st_mode) else None
    return None


@contextmanager
def _asking_process(point: str) -> Iterator[int]:
    """The handle of a process that ends when the mount has answered. Raises OSError when none can be started.

    The process queries how full the file system is, which only the server knows. If it hangs, it is left behind to end
    when it can.
    """
    from shutil import which  # noqa: PLC0415 - imports compressors, and few runs need it

    from reactor.resource.child_handle import child_handle  # noqa: PLC0415 - as above

    program = which("stat", path=os.defpath) or "/usr/bin/stat"
    words = ("stat", "-f", "-c", "%t", point)
    with open(os.devnull):  # if no descriptor is left, this fails before the process starts
        pid = os.posix_spawn(program, words, {}, file_actions=_TO_NOWHERE, setpgroup=0)
    handle = child_handle(pid)
    try:
        yield handle
    finally:
        with suppress(OSError):  # it may be reaped already, where SIGCHLD is ignored
            _kill(pid, handle)
            os.waitpid(pid, os.WNOHANG)
        os.close(handle)


def _kill(pid: int, handle: int) -> None:
    try:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except OSError as error:
        if error.errno not in (errno.EBADF, errno.ENOSYS):  # the handle is a pipe
            raise
        os.kill(pid, signal.SIGKILL)
