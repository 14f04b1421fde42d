"""Keeps the memory of a continuous run from growing, and makes it faster to read."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from reactor.resource.threads import in_thread

_M_ARENA_MAX = -8
"""From malloc.h of glibc."""
_MADV_COLLAPSE = 25
"""From linux/mman.h; since Linux 6.1."""
_SETTINGS = Path("/sys/kernel/mm/transparent_hugepage")
_MOSTLY = 0.95
"""The part of a huge page that must be in memory."""


def share_heap() -> None:
    """Let all threads share one heap. Call it before the first thread starts.

    By default, glibc gives each thread an arena, up to eight for each processor, and one arena does not use what another
    has freed: in 100 minutes a run grew by 4 MiB. Python's threads seldom allocate at the same time, so one is enough.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):  # musl has neither the function nor arenas
        libc.mallopt(_M_ARENA_MAX, 1)


async def use_huge_pages() -> None:
    """Return what loading has freed, and move the rest of the heap into huge pages, without delaying the event loop.

    A drift is repaired after the processor has done something else, or has slept. Every page that the repair touches
    then costs a walk through the page tables, twice as long in a virtual machine. With huge pages, a repair of one of
    10,000 files takes a tenth less time. The kernel would do this by itself only where the administrator allows it for
    all programs, and within hours. Uses no huge pages before Linux 6.1 or where they are switched off. Does nothing if
    no thread can start.
    """
    with suppress(OSError):
        await in_thread(_trim)
        if "[never]" not in (_SETTINGS / "enabled").read_text():
            await in_thread(_collapse, int((_SETTINGS / "hpage_pmd_size").read_text()))


def _trim() -> None:
    """Return the free pages of the heap of C to the kernel."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):  # musl has no such function
        libc.malloc_trim(0)


def _collapse(size: int) -> None:
    """Collapse the heap into pages of ``size`` bytes, one after the other: each blocks page faults for 0.5 ms."""
    libc = ctypes.CDLL(None)
    libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    libc.mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    pages = size // mmap.PAGESIZE
    resident = (ctypes.c_ubyte * pages)()
    for start, end in _heap_ranges():
        for at in range(-(-start // size) * size, end - size + 1, size):
            # What is missing of a huge page would be allocated. Stacks of threads are mostly missing.
            if libc.mincore(at, size, resident) == 0 and sum(resident) >= pages * _MOSTLY:
                libc.madvise(at, size, _MADV_COLLAPSE)  # an error concerns this page: memory is short


def _heap_ranges() -> Iterator[tuple[int, int]]:
    """The address ranges of anonymous memory that may be written: Python's objects, those of C, and stacks."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            addresses, permissions, _, _, _, *name = line.split()
            if permissions == "rw-p" and name in ([], ["[heap]"]):
                start, end = addresses.split("-")
                yield int(start, 16), int(end, 16)
