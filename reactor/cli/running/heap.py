"""Keeps the memory of a run that lasts from growing, and makes it faster to read."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from reactor.resource.threads import in_thread

_M_ARENA_MAX = -8
"""From malloc.h of glibc."""
_MADV_COLLAPSE = 25
"""From linux/mman.h; since Linux 6.1."""
_SETTINGS = Path("/sys/kernel/mm/transparent_hugepage")
_MOSTLY = 0.75
"""The part of a mapping that must be in memory: what is missing of it is allocated. Stacks of threads have far less."""


def share_heap() -> None:
    """Let all threads share one heap. Call it before the first thread starts.

    By default, glibc gives each thread an arena, up to eight for each processor, and one arena does not use what another
    has freed: in 100 minutes a run grew by 4 MiB. Python's threads seldom allocate at the same time, so one is enough.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):  # musl has neither the function nor arenas
        libc.mallopt(_M_ARENA_MAX, 1)


async def use_huge_pages() -> None:
    """Move the heap as it is now into huge pages, without delaying the event loop.

    A drift is repaired after the processor has done something else, or has slept. Every page that the repair touches
    then costs a walk through the page tables, twice as long in a virtual machine. With huge pages, a repair of one of
    10,000 files takes a tenth less time. The kernel would do this by itself only where the administrator allows it for
    all programs, and within hours. Does nothing before Linux 6.1, where huge pages are switched off, or if no thread can
    start.
    """
    with suppress(OSError):
        if "[never]" not in (_SETTINGS / "enabled").read_text():
            await in_thread(_collapse, int((_SETTINGS / "hpage_pmd_size").read_text()))


def _collapse(size: int) -> None:
    """Collapse the whole heap into pages of ``size`` bytes, one after the other: each blocks page faults for 0.5 ms."""
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for start, end in _heap_ranges():
        for at in range(-(-start // size) * size, end - size + 1, size):
            madvise(
                at, size, _MADV_COLLAPSE
            )  # an error concerns this page: memory is short, or it was freed meanwhile


def _heap_ranges() -> Iterator[tuple[int, int]]:
    """The address ranges of anonymous memory that is mostly in use: Python's objects and those of C."""
    start = end = 0
    with open("/proc/self/smaps", encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            first, *others = line.split()
            if not first.endswith(
                ":"
            ):  # a mapping begins: address range, permissions, offset, device, inode, name
                is_heap = others[0] == "rw-p" and others[4:] in ([], ["[heap]"])
                start, end = (int(address, 16) for address in first.split("-")) if is_heap else (0, 0)
            elif first == "Rss:" and int(others[0]) * 1024 >= (end - start) * _MOSTLY > 0:
                yield start, end
