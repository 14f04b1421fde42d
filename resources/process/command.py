"""Runs one command in a session and process group of its own, and leaves none of its processes behind.

The start blocks the loop for about 0.7 ms (a vfork, until the program is loaded), which costs less than a thread or
`trio.run_process`. A descriptor, where possible a pidfd, reports the end of the command.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from io import FileIO
from typing import Final, NamedTuple

import trio

from reactor import ResourceError, child_handle, protect_process
from reactor.resources.process.identity import Identity
from reactor.resources.process.output import TAIL_BYTES, Output, follow, memory_file, output_tail
from reactor.resources.process.process_tree import end_group
from reactor.resources.process.program import (
    explain_directory,
    explain_start,
    find_program,
    opened_directory,
    refuse_unstartable,
)
from reactor.resources.process.reaper import ensure_reaper, killed_with_us

ENVIRONMENT: Final = {
    "PATH": "/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin:/usr/local/sbin",
    "LANG": "C",
    "LC_ALL": "C",
}
"""The environment of every command, besides its own variables. Independent of how reactor was started."""
UMASK: Final = 0o022
"""The umask of commands, regardless of the umask of reactor."""
_DRAIN_GRACE = 0.25  # seconds: the output of a daemon that keeps the pipe open is not the command's output


@dataclass(frozen=True, slots=True)
class Command:
    """A command to start: its arguments, with the program first, and its settings. ``timeout`` is in seconds.

    ``input`` is its standard input, which other users can't see, unlike the arguments. ``inherited`` are descriptors
    of ours that it inherits under the same numbers. A protected command, such as a package manager, must not be
    interrupted, so it continues if this process is killed. It writes to files in memory, because a pipe would break.
    """

    arguments: Sequence[str]
    cwd: str
    environment: Mapping[str, str]
    timeout: float = math.inf
    input: bytes = field(default=b"", repr=False)
    inherited: tuple[int, ...] = ()
    is_protected: bool = False
    identity: Identity | None = None
    """The user that it runs as; by default the user of this process."""
    umask: int = UMASK


class Completed(NamedTuple):
    """A command that has exited. ``stdout`` and ``stderr`` are the last `TAIL_BYTES` of each stream.

    ``duration`` is in seconds. ``is_cut`` tells that ``stdout`` lacks its beginning.
    """

    exit_code: int
    stdout: str
    stderr: str
    duration: float
    is_cut: bool = False


class _Child(NamedTuple):
    process: subprocess.Popen[bytes]
    handle: int
    stdout: FileIO
    stderr: FileIO


async def run(command: Command, on_line: Callable[[str], None] | None = None) -> Completed:
    """Run ``command`` to its end. ``on_line`` gets each line of its output as it is written.

    Without an input, the command reads from /dev/null. The run ends when the started process ends; its background
    processes are not awaited. At a timeout or a cancellation, the whole process group is killed.

    Raises ResourceError when the command can't be started, runs too long, or is killed by a signal.
    """
    began = trio.current_time()
    stdout, stderr = Output(on_line), Output(on_line)
    with _start(command, await _program_of(command)) as child:
        async with trio.open_nursery() as nursery:
            read, grace = (follow, 0.0) if command.is_protected else (_pump, _DRAIN_GRACE)
            nursery.start_soon(read, child.stdout, stdout)
            nursery.start_soon(read, child.stderr, stderr)
            in_time = await _wait(child, command)
            nursery.cancel_scope.deadline = trio.current_time() + grace
    stdout.end()
    stderr.end()
    code = child.process.returncode
    if not in_time:
        problem = f"timed out after {command.timeout:g}s; its process group was killed"
    elif code < 0:
        problem = f"killed by {_signal_name(-code)}"
    else:
        return Completed(code, stdout.tail, stderr.tail, trio.current_time() - began, stdout.is_cut)
    raise ResourceError(problem + output_tail(stdout.tail, stderr.tail))


@contextmanager
def _start(command: Command, program: str) -> Iterator[_Child]:
    """Start the command; close its descriptors after the block."""
    if not command.is_protected:
        ensure_reaper()
    with ExitStack() as held:
        if command.is_protected:
            ours = [held.enter_context(memory_file()) for _ in range(2)]
            process = _spawn(command, program, ours)
        else:
            with ExitStack() as theirs:
                try:
                    pipes = [_pipe(command.identity, held, theirs) for _ in range(2)]
                except OSError as error:
                    raise explain_start(error, program, command.identity) from error
                ours = [reading for reading, _ in pipes]
                process = _spawn(command, program, [writing for _, writing in pipes])
        try:
            handle = child_handle(process.pid)
        except OSError:  # no descriptor is left: its end could not be awaited
            process.kill()
            process.wait()
            raise
        held.callback(os.close, handle)
        yield _Child(process, handle, *ours)


def _pipe(identity: Identity | None, ours: ExitStack, theirs: ExitStack) -> tuple[FileIO, FileIO]:
    """Both ends of a pipe, which ``ours`` and ``theirs`` close.

    The user of the command owns the pipe, so that the command can open /dev/stderr.
    """
    reading, writing = os.pipe()
    ends = (ours.enter_context(FileIO(reading, "rb")), theirs.enter_context(FileIO(writing, "wb")))
    os.set_blocking(reading, False)
    if identity is not None:
        os.fchown(writing, identity.uid, identity.gid)
    return ends


def _spawn(command: Command, program: str, outputs: Sequence[FileIO]) -> subprocess.Popen[bytes]:
    with opened_directory(command.cwd) as cwd:
        return _spawn_in(cwd, command, program, outputs)


def _spawn_in(cwd: str, command: Command, program: str, outputs: Sequence[FileIO]) -> subprocess.Popen[bytes]:
    stdin = _input(command.input) if command.input else subprocess.DEVNULL
    identity = command.identity
    try:
        return subprocess.Popen(
            command.arguments,
            executable=program,
            cwd=cwd,
            env=command.environment,
            stdin=stdin,
            stdout=outputs[0],
            stderr=outputs[1],
            bufsize=0,
            pass_fds=command.inherited,
            user=None if identity is None else identity.uid,
            group=None if identity is None else identity.gid,
            extra_groups=None if identity is None else identity.groups,
            umask=command.umask,
            start_new_session=True,  # a group of its own, and no terminal to ask for a password on
        )
    except OSError as error:
        if error.filename == cwd != program:
            raise explain_directory(error, command.cwd) from error
        raise explain_start(error, program, identity) from error
    finally:
        if stdin != subprocess.DEVNULL:
            os.close(stdin)


def _input(data: bytes) -> int:
    """A descriptor to read ``data`` from: a file in memory, which never blocks the writer."""
    fd = os.memfd_create("input", os.MFD_CLOEXEC)
    with open(fd, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


async def _pump(pipe: FileIO, output: Output) -> None:
    """Read a pipe until every process that holds it has closed it."""
    while True:
        await trio.lowlevel.wait_readable(pipe)
        chunk = pipe.read(TAIL_BYTES)
        if chunk == b"":
            return
        output.feed(chunk or b"")  # None: a spurious wake-up


async def _wait(child: _Child, command: Command) -> bool:
    """Wait until the leader has ended, or kill its group. Returns whether it ended by itself before the timeout."""
    try:
        program, pid = command.arguments[0], child.process.pid
        with protect_process(pid, program) if command.is_protected else killed_with_us(pid):
            return await _ends(child, command.timeout)
    finally:
        child.process.poll()


async def _ends(child: _Child, limit: float) -> bool:
    ended = False
    try:
        with trio.move_on_after(limit):
            await trio.lowlevel.wait_readable(child.handle)
            ended = True
    finally:
        if not ended:
            with trio.CancelScope(shield=True):
                await end_group(child.process.pid)
    return ended


async def require_startable(command: Command) -> None:
    """Raise the ResourceError that `run` would raise for a missing program, interpreter or working directory.

    For a dry run: nothing is started.
    """
    program = await _program_of(command)
    with opened_directory(command.cwd):
        pass
    refuse_unstartable(program, command.identity)


async def _program_of(command: Command) -> str:
    """The absolute path of the program to start. Raises ResourceError as `find_program` does."""
    return await find_program(command.arguments[0], command.cwd, command.environment.get("PATH", ""))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"


async def perform(*arguments: str, input: bytes = b"") -> None:  # noqa: A002 - as subprocess.run calls it
    """Run a program that must succeed, with ``input`` as its input.

    If it fails, raises ResourceError with the end of its output.
    """
    completed = await run(Command(arguments, "/", ENVIRONMENT, input=input))
    if completed.exit_code != 0:
        words = output_tail(completed.stdout, completed.stderr)
        raise ResourceError(
            f"{arguments[0]} failed with exit code {completed.exit_code}{words}", missing_rights()
        )


def missing_rights() -> str | None:
    """The hint for a failed system program if we are not root; None if we are."""
    return None if os.geteuid() == 0 else "run as root"
