"""A program of its own: it ends the commands of a reactor that has died. Its arguments are their leaders' numbers.

`reaper_pipe` has it started.
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
"""Reads a number with a minus for each command that has ended, and one without for each that has begun.

When nobody is left to write, it has those that run ended. A shell takes a tenth of what Python does for the same. It is
nobody's child: none of the processes that a run has to end, or to wait for.
"""
_reaper_pipe: int | None = None
"""Where the guardian listens, once there is one. When we die the kernel closes it."""


async def end_all(leaders: Iterable[int]) -> None:
    """End their groups, all at once."""
    async with trio.open_nursery() as nursery:
        for leader in leaders:
            nursery.start_soon(end_group, leader)


def ensure_reaper() -> None:
    """Start the guardian, if there is none. Where none can be had, commands go without.

    Call it before a command is started: it takes longer than some commands live.
    """
    global _reaper_pipe  # noqa: PLW0603 - one for the process, as there is one death
    if _reaper_pipe is None:
        with suppress(
            OSError, subprocess.SubprocessError
        ):  # no process or descriptor is left, or there is no shell
            _reaper_pipe = _start_reaper()


@contextmanager
def killed_with_us(leader: int) -> Iterator[None]:
    """As long as this lasts, the death of this process ends the group of ``leader``, and all that descends from it.

    The leader must not be reaped before the end: its number could be a stranger's.
    """
    _tell(leader)
    try:
        yield
    finally:
        _tell(-leader)


def _tell(news: int) -> None:
    global _reaper_pipe  # noqa: PLW0603 - as above
    if _reaper_pipe is not None:
        try:
            os.write(_reaper_pipe, b"%d\n" % news)
        except BrokenPipeError:  # somebody has killed it; the next command has another
            os.close(_reaper_pipe)
            _reaper_pipe = None


def _start_reaper() -> int:
    """Takes some 2 ms, once, and the guardian 1 MiB."""
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
