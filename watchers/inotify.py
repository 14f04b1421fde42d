"""Watches paths through inotify: one descriptor for the whole process, read by the trio loop."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from contextlib import ExitStack, suppress
from math import inf
from typing import cast

import trio

from reactor import (
    ChangedPaths,
    PathWatch,
    ResourceError,
    TimeSlice,
    Watch,
    Watcher,
    WatchSink,
    fragile_mounts,
    own_renames,
)
from reactor.watchers.directory import Directory, Listener, PollingReport
from reactor.watchers.inotify_descriptor import InotifyDescriptor, RawEvent
from reactor.watchers.inotify_masks import (
    ATTRIBUTES,
    COME_OR_GONE,
    IS_DIRECTORY,
    MODIFIED,
    MOVED_FROM,
    MOVED_TO,
    QUEUE_OVERFLOW,
    REPLACED,
    SELF_CHANGED,
    WATCH_DROPPED,
)
from reactor.watchers.mounts import MountTable
from reactor.watchers.path_lookup import normal_path
from reactor.watchers.path_tree import POLL_INTERVAL, PathTree
from reactor.watchers.pending_writes import INPUT, MANAGED, Pace, PendingWrites, ReadThrottle

SETTLE = 0.002
"""Seconds between the deletion of a name and its check. `install` and `cp --remove-destination` unlink a file
and then create it: they fail if reactor repairs it in between. Whole directories are replaced the same way."""

ANSWER = 0.1
"""Seconds within which a mount must answer. Otherwise its paths are not touched until the next poll."""

_RARE = SELF_CHANGED | WATCH_DROPPED | QUEUE_OVERFLOW

_Written = tuple[tuple[int, ...], Directory, bytes]
"""The vertices that listen for a file that was written, its directory and its name."""


class InotifyWatcher(Watcher):
    """Watches paths: their content, attributes and existence, and every directory above them.

    With ``below`` of PathWatch it watches the whole tree, with one kernel watch for each directory. Symlinks
    are followed in every component of the path. A path that sends no events, or that can't be watched, is marked every
    `POLL_INTERVAL` seconds, and reported. Raises OSError when there is no inotify instance or no /proc.
    """

    serves = PathWatch

    def __init__(self, sink: WatchSink) -> None:
        super().__init__(sink)
        with ExitStack() as opened:
            self._mounts = MountTable()
            self._descriptor = InotifyDescriptor()
            opened.callback(self._descriptor.close)
            self._fragile = fragile_mounts()
            self._tree = PathTree(self._descriptor, self._mounts, self._fragile.unresponsive_reason)
            self._opened = opened.pop_all()
        self._polling = PollingReport(sink)
        self._arming = TimeSlice()
        self._throttle = ReadThrottle()
        self._last_read: Collection[int] | None = None
        self._writes = PendingWrites()
        self._inputs: dict[int, set[bytes]] = {}
        self._stale: set[Directory] = set()
        self._replaced: list[tuple[Directory, bytes]] = []
        self._has_stale = trio.Event()
        self._clock = trio.lowlevel.current_clock()
        self._own_paths: dict[int, bytes] = {}
        own_renames.forget()
        own_renames.is_followed = True

    async def arm(self, watch: Watch, vertex: int) -> None:
        """Listen for a PathWatch. Raises OSError when the descriptor is dead."""
        path, below, is_input, without = _asked(watch)
        if self._fragile.by_point:
            await self._ask(path)
        if is_input:
            self._inputs.setdefault(vertex, set()).add(normal_path(path))
        if below is not None:
            await self._renew_below((self._tree.add_tree(path, vertex, below, without),))
            below.lose()
            return
        is_name = cast("PathWatch", watch).is_name
        directory, name = self._tree.add(path, vertex, is_name=is_name)
        self._polling.note(vertex, directory, name, self._tree.problem_of(directory))
        if self._arming.used_up():
            await self._arming.yield_to_loop()

    def disarm(self, watch: Watch, vertex: int) -> None:
        """Stop listening for a PathWatch."""
        path, below, is_input, without = _asked(watch)
        self._writes.discard_all(vertex)
        if is_input:
            self._inputs.get(vertex, set()).discard(normal_path(path))
            if not self._inputs.get(vertex):
                self._inputs.pop(vertex, None)
        if below is None:
            self._polling.drop(vertex, *self._tree.remove(path, vertex))
            return
        self._polling.drop(vertex, self._tree.remove_tree(path, vertex, below, without), b"")

    async def run(self) -> None:
        """Mark the vertices of paths that have events, until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._mounts.follow, self._on_mounts)
            nursery.start_soon(self._poll)
            nursery.start_soon(self._renew)
            await self.sink.follow(self._wait, self._on_events)

    def close(self) -> None:
        """Free the descriptors."""
        own_renames.is_followed = False
        self._opened.close()

    async def _wait(self) -> None:
        if self._replaced:  # the checks that were marked before go first
            self._has_stale.set()
        if self._last_read is not None:  # noted only now: the repairs did not wait for it
            self._throttle.note(self._last_read, self._clock.current_time())
            self._last_read = None
        if self._throttle.pause and not self._descriptor.has_more:
            await trio.sleep(self._throttle.pause)
        if self._writes.wake_at == inf:
            await trio.lowlevel.wait_readable(self._descriptor.fileno())
            return
        with trio.move_on_at(self._writes.wake_at):
            await trio.lowlevel.wait_readable(self._descriptor.fileno())

    def _on_events(self) -> None:
        """Mark each vertex once, however many events it has: the last event determines the delay."""
        events = self._read()
        marks: dict[int, float] = {}
        written: list[_Written] = []
        by_descriptor = self._tree.by_descriptor
        if self._tree.listeners:
            self._mark_in_trees(events, marks, self._clock.current_time())
        for wd, mask, _, name in events:
            if mask & _RARE:
                self._on_watch(wd, mask)
            for directory in by_descriptor.get(wd, ()):
                if (vertices := directory.leaves.get(name)) and mask & MODIFIED:
                    written.append((vertices, directory, name))
                elif vertices:
                    marks |= dict.fromkeys(vertices, _delay(mask, name))
                if mask & REPLACED and (name in directory.leaves or name in directory.children):
                    self._replaced.append((directory, name))
        if written or self._writes.wake_at < inf:
            self._on_writes(written, self._clock.current_time(), marks)
        self._last_read = marks.keys()
        for vertex, delay in marks.items():
            self.sink.mark(vertex, delay)

    def _read(self) -> list[RawEvent]:
        events = self._descriptor.read()
        own_renames.reads += 1
        return self._without_own(events) if own_renames.verified or self._own_paths else events

    def _without_own(self, events: Iterable[RawEvent]) -> list[RawEvent]:
        """Without the events that files were put in place which their only listeners have verified since."""
        kept = []
        for event in events:
            wd, mask, cookie, name = event
            if mask & MOVED_FROM and name in own_renames.verified:
                # Only once: the next rename of this name is not ours.
                self._own_paths[cookie] = own_renames.verified.pop(name)
            elif mask & MOVED_TO and self._is_own(cookie, wd, name):
                continue
            kept.append(event)
        if not self._descriptor.has_more:
            own_renames.forget()
            self._own_paths.clear()
        return kept

    def _is_own(self, cookie: int, wd: int, name: bytes) -> bool:
        """Whether a verified file was renamed to the name, and only the resource that manages it listens."""
        if (path := self._own_paths.pop(cookie, None)) is None:
            return False
        directories = self._tree.by_descriptor.get(wd, ())
        if any(directory.trees or name in directory.children for directory in directories):
            return False
        listeners = [
            (vertex, directory.path_of(name))
            for directory in directories
            for vertex in directory.leaves.get(name, ())
        ]
        if len(listeners) != 1 or listeners[0][1] != path:
            return False
        return path not in self._inputs.get(listeners[0][0], ())

    def _on_writes(self, written: Iterable[_Written], now: float, marks: dict[int, float]) -> None:
        """Note writes, and mark what waits no longer. Most files are closed by now, which has marked their vertices."""
        for vertices, directory, name in written:
            for vertex in vertices:
                if vertex not in marks:
                    pace = self._pace(vertex, directory, name) if vertex in self._inputs else MANAGED
                    self._writes.add(vertex, now, pace)
        if self._writes.wake_at < inf:
            self._writes.discard_each(marks)
            marks.update(dict.fromkeys(self._writes.take_due(now), 0.0))

    def _mark_in_trees(self, events: Iterable[RawEvent], marks: dict[int, float], now: float) -> None:
        """Note which paths in trees the events concern.

        This is a separate pass, because most events concern no tree.
        """
        for wd, mask, _, name in events:
            is_structural = mask & IS_DIRECTORY and mask & REPLACED
            for directory in self._tree.by_descriptor.get(wd, ()):
                if not directory.trees:
                    continue
                path = os.fsdecode(directory.path_of(name) if name else directory.path)
                for vertex, changed_paths, top, _ in directory.trees:
                    if mask & MODIFIED:
                        pace = self._pace(vertex, top, b"")
                        self._writes.add(vertex, now, pace, path, changed_paths)
                        continue
                    self._writes.discard(vertex, path)
                    if is_structural:
                        changed_paths.lose()
                    else:
                        changed_paths.add(path)
                    marks[vertex] = _delay(mask, name)
                if mask & REPLACED:
                    self._replaced.append((directory, name))

    def _pace(self, vertex: int, directory: Directory, name: bytes) -> Pace:
        path = directory.path_of(name) if name else directory.path
        return INPUT if path in self._inputs.get(vertex, ()) else MANAGED

    def _on_replaced(self, directory: Directory, name: bytes) -> None:
        """Something else may be at the name now: follow it if it is a symlink, and watch it if it is a directory."""
        if name in directory.leaves:
            self._tree.follow(directory, name)
        if directory.trees:
            self._tree.admit(directory, name)
        if name in directory.children:
            self._stale.add(directory.children[name])

    def _on_watch(self, wd: int, mask: int) -> None:
        if mask & QUEUE_OVERFLOW:
            for listener in self._tree.listeners:
                listener.changed_paths.lose()
            self.sink.mark_all("the inotify queue overflowed")
            self._mark_stale((self._tree.root,))
        elif mask & WATCH_DROPPED:
            self._mark_stale(self._tree.lose(wd))
        else:
            self._mark_stale(self._tree.by_descriptor.get(wd, ()))

    def _on_mounts(self, points: Iterable[bytes]) -> None:
        self._fragile.read()  # it follows the mounts too, and may learn of the change later
        self._mark_stale(self._tree.affected_by_mounts(points))

    def _mark_stale(self, directories: Iterable[Directory]) -> None:
        self._stale.update(directories)
        if self._stale:
            self._has_stale.set()

    async def _renew(self) -> None:
        """Renew the watches of directories that may have been replaced.

        It runs in its own task, so that events are read meanwhile.
        """
        while True:
            await self._has_stale.wait()
            self._has_stale = trio.Event()
            replaced, self._replaced = self._replaced, []
            for directory, name in replaced:
                if self._fragile.by_point:
                    await self._ask(directory.path_of(name))
                self._on_replaced(directory, name)
            stale, self._stale = self._stale, set()
            for vertex, changed_paths, _, _ in await self._renew_below(stale):
                changed_paths.lose()
                self.sink.mark(vertex, SETTLE)

    async def _renew_below(self, tops: Iterable[Directory]) -> set[Listener]:
        """Renew the watches of the subtrees.

        Returns the listeners of all trees that contain or contained a subtree.
        """
        time_slice = TimeSlice()
        listeners: set[Listener] = set()
        if self._fragile.by_point:
            await self._ask(*(directory.path for directory in tops))
        for directory in self._tree.renew(tops):
            if directory is None:
                if time_slice.used_up():
                    await time_slice.yield_to_loop()
                continue
            await self._recheck(directory, time_slice)
            if self._fragile.by_point:
                await self._ask(*map(directory.path_of, directory.children))
            listeners.update(directory.trees or (directory.parent.trees if directory.parent else ()))
        listeners &= self._tree.listeners  # some may have been disarmed meanwhile
        for listener in listeners:
            self._polling.note(listener.vertex, listener.top, b"", self._tree.problem_for(listener))
        return listeners

    async def _ask(self, *paths: bytes) -> None:
        """Find out whether the mounts on the way to the paths answer. The tree does not touch a mount that doesn't."""
        for path in paths:
            with suppress(ResourceError):
                await self._fragile.ask(path, within=ANSWER)

    async def _recheck(self, directory: Directory, time_slice: TimeSlice) -> None:
        problem = self._tree.problem_of(directory)
        for name, vertices in list(directory.leaves.items()):
            for vertex in vertices:
                self.sink.mark(vertex, SETTLE)
                self._polling.note(vertex, directory, name, problem)
            if time_slice.used_up():
                await time_slice.yield_to_loop()
        if time_slice.used_up():
            await time_slice.yield_to_loop()

    async def _poll(self) -> None:
        while True:
            await self._tree.unreliable.any_came()
            await trio.sleep(POLL_INTERVAL)
            self._mark_stale(self._tree.unreliable)


def _asked(watch: Watch) -> tuple[bytes, ChangedPaths | None, bool, frozenset[bytes]]:
    """The path of a PathWatch, the set for the changed paths of its tree, whether it is an input, and what is left out."""
    asked = cast("PathWatch", watch)
    return os.fsencode(asked.path), asked.below, asked.is_input, frozenset(map(os.fsencode, asked.without))


def _delay(mask: int, name: bytes) -> float:
    """Seconds to wait between an event and its check."""
    # A watched file loses a hard link when it is deleted: that event comes before the event of its directory.
    return SETTLE if mask & COME_OR_GONE or (mask & ATTRIBUTES and not name) else 0.0
