"""Swap: lists the areas in use, and turns them on and off by swapon(2) and swapoff(2)."""

from __future__ import annotations

import ctypes
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from reactor import Action, Plan, ResourceError, in_thread
from reactor.hostfs import ErrorContext, is_only_ours, open_source
from reactor.resources.mount.fstab import unescape
from reactor.resources.mount.mount_table import Mounted, destination
from reactor.resources.mount.state import Desired, MountState

SWAPS: Final = "/proc/swaps"
_SIGNATURES: Final = (b"SWAPSPACE2", b"SWAP-SPACE")
_BLOCK: Final = 512
"""The unit of st_blocks, in bytes."""
_PREFER: Final = 0x8000
"""SWAP_FLAG_PREFER: the low bits are a priority."""
_DISCARD: Final = {"discard": 0x10000, "discard=once": 0x30000, "discard=pages": 0x50000}
"""SWAP_FLAG_DISCARD, with _ONCE or _PAGES."""
_PRIORITY: Final = re.compile(r"pri=(\d{1,5})")
_HIGHEST: Final = 0x7FFF
_AREA: Final = re.compile(r"^(\S+)\s+\S+\s+\d+\s+\d+\s+(-?\d+)$", re.MULTILINE)

_libc = ctypes.CDLL(None, use_errno=True)


def options_problem(options: tuple[str, ...]) -> str | None:
    """Why the options of swap are invalid; None if they are valid."""
    for option in options:
        if option.startswith("pri=") and priority_in((option,)) is None:
            return f"{option!r} is not a priority of swap: write pri=0 to pri={_HIGHEST}"
    return None


def priority_in(options: tuple[str, ...]) -> int | None:
    """The priority in ``options``; None if the kernel chooses one."""
    found = [int(match[1]) for option in options if (match := _PRIORITY.fullmatch(option))]
    return found[-1] if found and found[-1] <= _HIGHEST else None


def areas_at(path: str) -> tuple[Mounted, ...]:
    """The swap area in use on the device or file at ``path``, with its priority as an option; empty if there is none.

    Raises ResourceError when the table of the kernel can't be read, or another user's symlink is in the path.
    """
    with ErrorContext(f"read {SWAPS}"), open(SWAPS, encoding="utf-8", errors="surrogateescape") as file:
        found = _AREA.findall(file.read())
    real = destination(path)
    areas = ((unescape(area), priority) for area, priority in found)
    return tuple(
        Mounted(area, "swap", frozenset((f"pri={priority}",))) for area, priority in areas if area == real
    )


def on(desired: Desired, state: MountState) -> Plan:
    """The plan for an area that must be in use, with the desired priority."""
    path, priority = desired.entry.device, priority_in(desired.options)
    if not state.mounts:
        return (_step(f"turned on swap on {path}", partial(_turn_on, path, desired.options)),)
    if priority is not None and f"pri={priority}" not in state.mounts[-1].options:
        words = f"turned swap on {path} off, and on again with pri={priority}"
        return (_step(words, partial(_turn_on_again, path, desired.options)),)
    return ()


def off(desired: Desired, state: MountState) -> Plan:
    """The plan for an area that must not be in use."""
    path = desired.entry.device
    return (_step(f"turned off swap on {path}", partial(_turn_off, path)),) if state.mounts else ()


async def refuse(desired: Desired, state: MountState) -> None:
    """Raise the ResourceError with which turning the area on would fail."""
    if desired.ensure == "mounted" and not state.mounts:
        await in_thread(_check_device, desired.entry.device)


def _check_device(path: str) -> None:
    with _swap_area(path):
        pass


def _step(words: str, run: partial[None]) -> Action:
    return Action.proven(words, partial(in_thread, run))


def _turn_on_again(path: str, options: tuple[str, ...]) -> None:
    _turn_off(path)
    _turn_on(path, options)


def _turn_on(path: str, options: tuple[str, ...]) -> None:
    """Turn swap on through the descriptor that was checked: a swap area contains the memory of all programs."""
    flags = sum(_DISCARD.get(option, 0) for option in dict.fromkeys(options))
    if (priority := priority_in(options)) is not None:
        flags |= _PREFER | priority
    with _swap_area(path) as fd, ErrorContext(f"turn on swap on {path}"):
        _call("swapon", f"/proc/self/fd/{fd}", flags)


def _turn_off(path: str) -> None:
    with ErrorContext(
        f"turn off swap on {path}", "free memory first: the swapped-out pages must fit into it"
    ):
        _call("swapoff", destination(path))


def _call(function: str, path: str, *flags: int) -> None:
    if getattr(_libc, function)(os.fsencode(path), *flags) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), path)


@contextmanager
def _swap_area(path: str) -> Iterator[int]:
    """Open the device or file at ``path``, after checking that only root can read it and mkswap(8) has prepared it."""
    with ErrorContext(f"turn on swap on {path}"):
        try:
            fd = open_source(path)
        except FileNotFoundError as error:
            hint = f"require the resource that creates it, such as an exec with creates: {path}"
            raise ResourceError(f"the swap {path} does not exist", hint, missing=path) from error
        try:
            found = os.fstat(fd)
            _refuse_unsafe(path, found)
            _refuse_holes(path, found)
            size = os.sysconf("SC_PAGE_SIZE")
            if os.pread(fd, 10, size - 10) not in _SIGNATURES:
                raise ResourceError(
                    f"{path} holds no swap area", f"prepare it in an exec before: mkswap {path}"
                )
            yield fd
        finally:
            os.close(fd)


def _refuse_holes(path: str, found: os.stat_result) -> None:
    """Raise ResourceError if not all blocks of the swap file are on the disk: the kernel only says that it is invalid."""
    if stat.S_ISREG(found.st_mode) and found.st_blocks * _BLOCK < found.st_size:
        hint = (
            f"remove it, and have it made by a filesystem with fstype: swap and size: {found.st_size >> 20}M"
        )
        raise ResourceError(f"the swap file {path} has holes, as truncate makes them", hint)


def _refuse_unsafe(path: str, found: os.stat_result) -> None:
    """Raise ResourceError if other users can read or write the swap file: it contains the memory of all programs."""
    if stat.S_ISBLK(found.st_mode):
        return
    if not stat.S_ISREG(found.st_mode):
        raise ResourceError(f"{path} is not a device or file", "name a block device or a regular file")
    if not is_only_ours(found, path) or found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        hint = f"give it to root with mode 0600: file#{path} with owner, group and mode"
        raise ResourceError(f"users other than root may read or write the swap file {path}", hint)
