"""Runs of the engine, each in a process of its own that is forked from this one, and ways to kill them."""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import importlib
import io
import itertools
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from pathlib import Path

from worlds import World

import reactor.cli.commands.run
import reactor.cli.running.engine_run
from reactor.cli.group import reactor as command
from reactor.engine.events import Checked, Result

PR_SET_CHILD_SUBREAPER = 36
LONGEST = 60
"""Seconds that a run may take: one that hangs shows its stacks, and has failed."""
CALLS = ("open", "os.", "fcntl.", "sqlite3.", "subprocess.", "shutil.", "socket.")
"""The calls before which a run is killed, as ``sys.audit`` names them."""


class Lives:
    """``started`` is how many there were. What they leave running becomes a child of this process."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.started = 0
        self.length = 0.0
        """Seconds that the last whole run took."""
        self._calls = multiprocessing.RawValue("q", 0)
        """How many calls the last whole run has made, shared with it."""
        self._modules = world.root / "modules"
        self.kept: set[int] = set()
        """Children of this process that are no runs."""
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def whole(self) -> int:
        """A run that nobody kills. Returns its wait status."""
        began = time.monotonic()
        pid = self._start(lambda: _on_each_call(self._count_call), self._note_modules)
        status = os.waitpid(pid, 0)[1]
        self.length = time.monotonic() - began
        return status

    def warm_up(self) -> None:
        """Import what the whole run has imported and read the manifest once, for those that are forked from now on."""
        for name in self._modules.read_text().split("\n"):
            if name not in sys.modules:
                importlib.import_module(name)
        with redirect_stdout(io.StringIO()):
            command(["validate", str(self.world.manifest)], standalone_mode=False)
        gc.freeze()  # or its first collection copies all of that into every run

    def killed_after(self, part: float) -> bool:
        """A run that is killed after so much of the time that a whole one takes; whether it had not ended by then."""
        pid = self._start(lambda: None)
        time.sleep(part * self.length)
        os.kill(pid, signal.SIGKILL)
        return _was_killed(pid)

    def killed_before_call(self, part: float) -> bool:
        """The same, for so much of its calls."""
        last = int(part * self._calls.value)
        return _was_killed(self._start(lambda: _on_each_call(lambda number: number == last and _die())))

    def killed_after_changes(self, changes: int) -> bool:
        """The same, right after so many resources have changed: what subscribes to the last was not refreshed yet."""
        return _was_killed(self._start(lambda: _after_changes(changes)))

    def orphans(self) -> list[str]:
        """What a run that has ended left running; what killed ones left has a while to end."""
        deadline = time.monotonic() + LONGEST
        while left := self._children():
            if time.monotonic() > deadline:
                return [f"still runs: {_command_line(pid)}" for pid in left]
            for pid in left:
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            time.sleep(0.002)
        return []

    def _start(self, prepare: Callable[[], None], finish: Callable[[], None] = lambda: None) -> int:
        self.started += 1
        if pid := os.fork():
            return pid
        status = 1
        try:
            faulthandler.dump_traceback_later(LONGEST, exit=True)
            prepare()
            self._run()
            finish()
            status = 0
        except BaseException as error:
            status = getattr(error, "exit_code", 1)
        finally:
            os._exit(status)

    def _run(self) -> None:
        self.world.prepare_life()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        arguments = ["--converge-once", "--state-dir", str(self.world.state), str(self.world.manifest)]
        command(["run", *arguments], standalone_mode=False)

    def _count_call(self, number: int) -> None:
        self._calls.value = number

    def _note_modules(self) -> None:
        if not self._modules.exists():
            self._modules.write_text("\n".join(sys.modules))

    def _children(self) -> list[int]:
        """What this process has to wait for, but those that were there at the start."""
        listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
        return [pid for pid in map(int, listed.split()) if pid not in self.kept]


def _was_killed(pid: int) -> bool:
    return os.waitpid(pid, 0)[1] == signal.SIGKILL


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _on_each_call(act: Callable[[int], None]) -> None:
    """Have ``act`` told before each of `CALLS` of this process which one it is, beginning with 0."""
    numbers = itertools.count()

    def hear(name: str, _: object) -> None:
        if name.startswith(CALLS):
            act(next(numbers))

    sys.addaudithook(hear)


def _after_changes(changes: int) -> None:
    heard = reactor.cli.running.engine_run._Sinks.__call__
    left = iter(range(changes - 1, -1, -1))

    def hear(sinks, event):
        heard(sinks, event)
        if isinstance(event, Checked) and event.result is Result.CHANGED and next(left, None) == 0:
            _die()

    reactor.cli.running.engine_run._Sinks.__call__ = hear


def _command_line(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
