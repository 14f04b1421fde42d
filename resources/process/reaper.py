"""The reaper: a second process that kills our commands if this process is killed.

`ensure_reaper` starts a small shell, which reads the pids of our commands from a pipe. When this process dies, the
kernel closes the pipe, and the shell runs this module as a program, with the pids of the commands that were still
running.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import trio

from reactor.resources.process.process_tree import end_group

_REAPER: Final = """
exec 3<&0
{
    trap '' HUP INT QUIT TERM
    running=' '
    while read -r number; do
        case $number in
        -*) number=${number#-}
            case $running in *" $number "*) running="${running%% $number *} ${running#* $number }" ;; esac ;;
        *)  running="$running$number " ;;
        esac
    done
    [ "$running" = ' ' ] || exec "$@" $running
} <&3 3<&- &
"""
"""A shell script that reads the pid of each started command, and the pid of each ended command with a minus sign.

At the end of the pipe, it kills the commands that still run. A shell takes a tenth of the memory of Python. It runs in
the background, so it is no child that a run would have to kill or await.
"""
_reaper_pipe: int | None = None
"""The pipe that the reaper reads, once it is started. The kernel closes it when this process dies."""


async def end_all(leaders: Iterable[int]) -> None:
    """Kill the process groups of the ``leaders``, all at once."""
    async with trio.open_nursery() as nursery:
        for leader in leaders:
            nursery.start_soon(end_group, leader)


def ensure_reaper() -> None:
    """Start the reaper if it is not running. If it can't be started, commands run without it.

    Call it before a command is started: the start takes longer than some commands run.
    """
    global _reaper_pipe  # noqa: PLW0603 - one reaper for the process
    if _reaper_pipe is None:
        # No process or descriptor is free, or there is no shell.
        with suppress(OSError, subprocess.SubprocessError):
            _reaper_pipe = _start_reaper()


@contextmanager
def killed_with_us(leader: int) -> Iterator[None]:
    """Within the block, the death of this process kills the process group of ``leader`` and its descendants.

    The leader must not be reaped within the block: its pid could belong to another process.
    """
    _notify(leader)
    try:
        yield
    finally:
        _notify(-leader)


def _notify(process: int) -> None:
    global _reaper_pipe  # noqa: PLW0603 - as above
    if _reaper_pipe is not None:
        try:
            os.write(_reaper_pipe, b"%d\n" % process)
        except BrokenPipeError:  # the reaper was killed; the next command starts another one
            os.close(_reaper_pipe)
            _reaper_pipe = None


def _start_reaper() -> int:
    """Start the reaper; return the pipe to it. Takes about 2 ms, and 1 MiB as long as it runs."""
    listening, reaper_pipe = os.pipe()
    try:
        end = (sys.executable, "-P", "-m", "reactor.resources.process.reaper")
        subprocess.run(
            ("/bin/sh", "-c", _REAPER, "reactor-guardian", *end),
            cwd="/",
            env={"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
            stdin=listening,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            check=True,
        )
    except BaseException:
        os.close(reaper_pipe)
        raise
    finally:
        os.close(listening)
    return reaper_pipe


if __name__ == "__main__":
    trio.run(end_all, map(int, sys.argv[1:]))
