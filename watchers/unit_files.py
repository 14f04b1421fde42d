"""Watches the directories of unit files: systemd sends no signal when a file in them is edited by hand."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import trio

from reactor.watchers.inotify_descriptor import InotifyDescriptor, Watched
from reactor.watchers.inotify_masks import QUEUE_OVERFLOW, WATCH_DROPPED
from reactor.watchers.units import drop_in_names, template_of

_DROP_INS = ".d"
_LINKS = (".wants", ".requires")


class UnitFiles:
    """Unit files, their drop-ins, and the links that enable them. Raises OSError when there is no inotify instance."""

    def __init__(self, directories: Iterable[str]) -> None:
        self._bases = tuple(directories)
        self._descriptor = InotifyDescriptor()
        self._watched: dict[str, Watched] = {}
        self._paths: dict[int, str] = {}
        self.scan()

    def scan(self) -> list[str]:
        """Watch the directories that are not watched yet; return the names found in them."""
        names = []
        for base in self._bases:
            if self._watch(base):
                names += _listing(base)
            for name in _listing(base):
                if name.endswith((_DROP_INS, *_LINKS)) and self._watch(path := os.path.join(base, name)):
                    names += _listing(path)
        return names

    async def run(self, on_change: Callable[[str], None], on_loss: Callable[[], None]) -> None:
        """Call ``on_change`` with the name of each changed file or directory, and ``on_loss`` when events are lost."""
        while True:
            await trio.lowlevel.wait_readable(self._descriptor.fileno())
            for wd, mask, _, name in self._descriptor.read():
                if mask & QUEUE_OVERFLOW:
                    on_loss()
                elif mask & WATCH_DROPPED:
                    self._forget(wd)
                else:
                    for each in self._names(wd, os.fsdecode(name)):
                        on_change(each)

    def close(self) -> None:
        """Free the descriptor."""
        self._descriptor.close()

    def _names(self, wd: int, name: str) -> Iterator[str]:
        """The names that an event concerns: the entry, the drop-in directory, or the entries of a new directory."""
        path = self._paths.get(wd, "")
        if path not in self._bases:
            yield os.path.basename(path) if path.endswith(_DROP_INS) else name
        elif name:
            yield name
            if name.endswith((_DROP_INS, *_LINKS)) and self._watch(os.path.join(path, name)):
                yield from _listing(os.path.join(path, name))

    def _watch(self, path: str) -> bool:
        """Watch ``path``. Returns whether it is a directory that was not watched before.

        Only the audit notices changes in a directory that can't be watched.
        """
        if path in self._watched:
            return False
        try:
            watched = self._descriptor.watch(os.fsencode(path))
        except OSError:
            return False
        self._watched[path] = watched
        self._paths.setdefault(watched.wd, path)  # /lib is /usr/lib on most machines
        return True

    def _forget(self, wd: int) -> None:
        self._descriptor.forget(wd)
        self._paths.pop(wd, None)
        for path in [path for path, watched in self._watched.items() if watched.wd == wd]:
            del self._watched[path]


def concerns(file: str, unit: str) -> bool:
    """Whether a file, a link or a directory of drop-ins called ``file`` affects ``unit``."""
    if file.endswith(_DROP_INS):
        return file.removesuffix(_DROP_INS) in drop_in_names(unit)
    return file in (unit, template_of(unit))


def _listing(path: str) -> list[str]:
    with suppress(OSError):
        return os.listdir(path)
    return []
