"""One directory of the tree of watched paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import trio

from reactor import ChangedPaths, WatchSink, WatchState
from reactor.watchers.inotify_descriptor import Watched

_ALL = b"*"


class Listener(NamedTuple):
    """A vertex that watches the directory ``top`` and everything below it, except directories named in ``without``.

    It has its own set of changed paths.
    """

    vertex: int
    changed_paths: ChangedPaths
    top: Directory
    without: frozenset[bytes] = frozenset()


class Directory:
    """A directory on the way to a watched path, whether it exists or not. Only PathTree changes it."""

    __slots__ = (
        "children",
        "in_full",
        "leaves",
        "links_here",
        "name",
        "parent",
        "path",
        "problem",
        "real_path",
        "target",
        "trees",
        "watched",
    )

    def __init__(self, parent: Directory | None, name: bytes) -> None:
        self.parent = parent
        self.name = name
        self.path = b"/" if parent is None else parent.path_of(name)
        self.real_path = self.path  # without symlinks, as of the last time it was watched
        self.children: dict[bytes, Directory] = {}
        self.in_full = False  # whether events of the files in it matter, not only which names there are
        self.leaves: dict[bytes, tuple[int, ...]] = {}  # vertices by name; b"" is the directory itself
        self.trees: tuple[Listener, ...] = ()  # the listeners of the trees that it is part of
        self.target: Directory | None = None  # where it points, if it is a symlink
        self.links_here: tuple[Directory, ...] = ()
        self.watched: Watched | None = None  # None while nothing is there
        self.problem: str | None = None  # why its events can't be relied upon

    def path_of(self, name: bytes) -> bytes:
        """The path of ``name`` in here."""
        return self.path.rstrip(b"/") + b"/" + name

    def add_leaf(self, name: bytes, vertices: Iterable[int]) -> None:
        """Note the vertices that watch ``name``."""
        self.leaves[name] = tuple({*self.leaves.get(name, ()), *vertices})

    def remove_leaf(self, name: bytes, vertex: int) -> None:
        """Note that ``vertex`` no longer watches ``name``."""
        left = tuple(other for other in self.leaves.pop(name, ()) if other != vertex)
        if left:
            self.leaves[name] = left

    def join_trees(self) -> None:
        """Join the trees that begin here and, if this is a directory in its parent, the trees of the parent."""
        is_there = self.watched is not None or self.problem is not None
        above: tuple[Listener, ...] = ()
        if self.parent is not None and is_there and self.target is None:
            above = self.parent.listeners_below(self.name)
        if above or self.trees:
            self.trees = (*(listener for listener in self.trees if listener.top is self), *above)

    def listeners_below(self, name: bytes) -> tuple[Listener, ...]:
        """The listeners of the trees that contain this directory and, if ``name`` is a directory in it, that too."""
        return tuple(each for each in self.trees if not each.without & {name, _ALL})

    def point_to(self, target: Directory | None) -> Directory | None:
        """Note the target of the symlink; return the previous target if it differs."""
        before = self.target
        if target is before:
            return None
        self.target = target
        if target is not None:
            target.links_here += (self,)
        if before is not None:
            before.links_here = tuple(link for link in before.links_here if link is not self)
        return before

    def detach(self) -> None:
        """Remove it from the tree."""
        if self.parent is not None:
            del self.parent.children[self.name]

    @property
    def is_attached(self) -> bool:
        """Whether it is part of the tree."""
        return self.parent is None or self.parent.children.get(self.name) is self

    @property
    def is_needed(self) -> bool:
        """Whether anything is watched in it or through it."""
        return bool(self.parent is None or self.children or self.leaves or self.trees or self.links_here)

    @property
    def needs_all(self) -> bool:
        """Whether events of the files in it matter, besides those of names.

        They don't if it only leads to others: /dev would wake us at every write to /dev/null.
        """
        return bool(self.in_full or self.trees or (self.parent is not None and self.parent.trees))

    @property
    def way_up(self) -> Iterator[Directory]:
        """The directory itself and those above it, nearest first."""
        here: Directory | None = self
        while here is not None:
            yield here
            here = here.parent

    @property
    def subtree(self) -> Iterator[Directory]:
        """The directory itself and those below it. They may change during the iteration."""
        waiting = [self]
        while waiting:
            directory = waiting.pop()
            waiting += directory.children.values()
            yield directory


class Unreliable(set[Directory]):
    """The directories whose events can't be relied upon."""

    def __init__(self) -> None:
        super().__init__()
        self._came = trio.Event()

    def add(self, directory: Directory) -> None:
        """Add a directory, and wake `any_came`."""
        super().add(directory)
        self._came.set()

    async def any_came(self) -> None:
        """Return as soon as there is any."""
        while not self:
            self._came = trio.Event()
            await self._came.wait()


class PollingReport:
    """Reports each switch between events and polling once.

    A vertex is reported as armed again when none of its paths is polled any more.
    """

    def __init__(self, sink: WatchSink) -> None:
        self._sink = sink
        self._reasons: dict[int, dict[tuple[Directory, bytes], str]] = {}

    def drop(self, vertex: int, directory: Directory, name: bytes) -> None:
        """Forget one path of ``vertex``, which is no longer watched."""
        polled = self._reasons.get(vertex)
        if polled is not None:
            polled.pop((directory, name), None)
            if not polled:
                del self._reasons[vertex]

    def note(self, vertex: int, directory: Directory, name: bytes, reason: str | None) -> None:
        """Note why one path of ``vertex`` must be polled; None means that it need not be."""
        if reason is None and not self._reasons:
            return
        polled = self._reasons.setdefault(vertex, {})
        before = polled.pop((directory, name), None)
        if reason is not None:
            polled[directory, name] = reason
            if reason != before:
                self._sink.report(WatchState.POLLING, reason, vertex)
        elif not polled:
            del self._reasons[vertex]
            if before is not None:
                self._sink.report(WatchState.ARMED, "its events can be relied upon again", vertex)
