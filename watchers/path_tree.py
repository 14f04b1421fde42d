"""The watched paths as a tree of directories, each watched by the kernel for what happens to the names in it.

Every directory on the way to a path is in the tree, once, so that a change of any component is noticed. A path itself
is a name in its directory: files are replaced, and a watch on the old inode gets no event of the new one. A path is a
node of its own only if it is a symlink, a mount point or a file with several hard links, or if a whole tree is
watched: then each directory of that tree is a node.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from reactor import ChangedPaths
from reactor.watchers.directory import Directory, Listener, Unreliable
from reactor.watchers.inotify_descriptor import InotifyDescriptor, Watched
from reactor.watchers.mounts import MountTable
from reactor.watchers.path_lookup import (
    components,
    has_other_links,
    leads_elsewhere,
    names_in,
    real_path,
    target_of,
)
from reactor.watchers.watch_budget import WatchBudget

POLL_INTERVAL = 5.0
"""Seconds between two checks of a path that sends no events."""

_POLLED = f"so it is checked every {POLL_INTERVAL:g} s"

Silence = Callable[[bytes], str | None]
"""Returns why a path must not be touched now (its file system does not answer), or None."""


class PathTree:
    """The tree, from ``/``. It never waits: long work is an iterator, so that the caller can pause.

    A path for which ``silence`` returns a reason is not touched, and that reason is its problem.
    """

    def __init__(self, descriptor: InotifyDescriptor, mounts: MountTable, silence: Silence) -> None:
        self._descriptor = descriptor
        self._mounts = mounts
        self._silence = silence
        self._budget = WatchBudget()
        self.by_descriptor: dict[int, tuple[Directory, ...]] = {}
        """The directories that each kernel watch serves: several, when symlinks or mounts lead to one place."""
        self.unreliable = Unreliable()
        self.listeners: set[Listener] = set()
        """The listeners of all watched trees."""
        self.root = Directory(None, b"")
        self._watch(self.root)

    def add(self, path: bytes, vertex: int, *, is_name: bool = False) -> tuple[Directory, bytes]:
        """Watch an absolute path for ``vertex``; return its directory and its name there.

        With ``is_name``, the content and attributes of what is there don't matter.

        A path that can't be watched gets a problem; OSError is raised only when the descriptor is dead.
        """
        *above, name = components(path) or [b""]
        directory = self._reach(above, in_full=not is_name)
        directory.add_leaf(name, (vertex,))
        itself = None if is_name else self.follow(directory, name)
        return (directory, name) if itself is None else (itself, b"")

    def remove(self, path: bytes, vertex: int) -> tuple[Directory, bytes]:
        """Stop watching a path for ``vertex``; return its directory and its name there."""
        *above, name = components(path) or [b""]
        directory = self._reach(above)
        directory.remove_leaf(name, vertex)
        itself = directory.children.get(name)
        if itself is not None:
            itself.remove_leaf(b"", vertex)
        self._prune(directory if itself is None else itself)
        return (directory, name) if itself is None else (itself, b"")

    def add_tree(self, path: bytes, vertex: int, paths: ChangedPaths, skip: frozenset[bytes]) -> Directory:
        """Watch a tree for ``vertex``; the watch begins when the returned directory is given to `renew`."""
        top = self._reach(components(path))
        listener = Listener(vertex, paths, top, skip)
        self.listeners.add(listener)
        top.trees += (listener,)
        self._budget.count((), (listener,))
        return top

    def remove_tree(self, path: bytes, vertex: int, paths: ChangedPaths, skip: frozenset[bytes]) -> Directory:
        """Stop watching the tree at a path for ``vertex``; return its directory."""
        top = self._reach(components(path))
        removed = Listener(vertex, paths, top, skip)
        self.listeners.discard(removed)
        self._budget.forget(removed)
        members = [directory for directory in top.subtree if removed in directory.trees]
        for directory in reversed(members):  # the deepest come first
            directory.trees = tuple(listener for listener in directory.trees if listener != removed)
            self._prune(directory)
        return top

    def admit(self, directory: Directory, name: bytes) -> None:
        """Make a node of a name in a tree if it needs a watch of its own, which begins with `renew`."""
        if not name or name in directory.children or not directory.listeners_below(name):
            return
        if self._silence(directory.path) is not None:
            return
        with suppress(OSError):  # it has gone already
            # A mount may not answer: `renew` looks at it, after it was asked.
            is_mounted = _real_path_of(directory, name) in self._mounts.points
            found = None if is_mounted else os.lstat(directory.path_of(name))
            if found is None or stat.S_ISDIR(found.st_mode) or has_other_links(found):
                directory.children[name] = Directory(directory, name)

    def follow(self, directory: Directory, name: bytes) -> Directory | None:
        """Give a leaf its own watch if that of its directory does not get all its events; return the new directory.

        Such a leaf is a symlink, which is followed, a mount point, or a file with other hard links: a write through
        one of them sends its event to that link's directory.
        """
        if not name or self._silence(directory.path) is not None or not self._is_followed(directory, name):
            return None
        itself = directory.children.setdefault(name, Directory(directory, name))
        itself.add_leaf(b"", directory.leaves[name])
        if not self._is_silent(itself):
            self._watch(itself)
        return itself

    def renew(self, tops: Iterable[Directory]) -> Iterator[Directory | None]:
        """Renew the watches of the subtrees. Yields each directory that is now watched: the caller checks its leaves.

        In this order each change is either found by the check or announced by a later event. Within a directory
        of very many names, None is yielded now and then, so that the caller can pause.
        """
        waiting = sorted(tops, key=lambda top: len(top.path), reverse=True)  # the uppermost is taken first
        seen: set[Directory] = set()
        if self.listeners:
            self._budget.refresh()
        while waiting:
            directory = waiting.pop()
            if self._is_silent(directory):
                continue
            # A directory is visited twice only if another one has replaced it meanwhile: then what was
            # found below it was in the wrong place.
            if directory.is_attached and (self._watch(directory) or directory not in seen):
                seen.add(directory)
                yield from self._spread(directory)
                waiting += (*directory.children.values(), *directory.links_here)
                yield directory
                self._unfollow(directory)

    def lose(self, wd: int) -> tuple[Directory, ...]:
        """Note that the kernel has dropped a watch; return its directories."""
        lost = self.by_descriptor.pop(wd, ())
        for directory in lost:
            directory.watched = None
        self._descriptor.forget(wd)
        return lost

    def affected_by_mounts(self, points: Iterable[bytes]) -> list[Directory]:
        """The directories to renew after mounts at ``points`` came, went or changed."""
        changed_in: dict[bytes, list[bytes]] = {}
        for point in points:
            parent, name = os.path.split(point)
            if name:  # nothing can be mounted over "/"
                changed_in.setdefault(parent, []).append(name)
        affected = []
        for directory in list(self.root.subtree):
            names = changed_in.get(directory.real_path, ())
            for name in names:
                if name in directory.leaves:
                    self.follow(directory, name)
                if name in directory.children:
                    affected.append(directory.children[name])
        return affected

    def problem_of(self, directory: Directory) -> str | None:
        """Why events below ``directory`` can't be relied upon: the nearest problem on the way to it."""
        if not self.unreliable:
            return None
        return next((above.problem for above in directory.way_up if above.problem), None)

    def problem_for(self, listener: Listener) -> str | None:
        """Why events of a tree can't be relied upon: a problem in it, or on the way to it."""
        inside = (directory.problem for directory in self.unreliable if listener in directory.trees)
        return next(inside, None) or self.problem_of(listener.top)

    def _is_followed(self, directory: Directory, name: bytes) -> bool:
        """Whether the file or directory at a leaf has its own watch."""
        path = directory.path_of(name)
        return (
            self._silence(path) is not None  # so it leads elsewhere
            or leads_elsewhere(path)
            or _real_path_of(directory, name) in self._mounts.points
        )

    def _unfollow(self, itself: Directory) -> None:
        """Remove a leaf's own watch if its directory gets all its events now: another file has taken its place."""
        directory = itself.parent
        if directory is None or b"" not in itself.leaves or self.problem_of(itself):
            return
        if not self._is_followed(directory, itself.name):
            del itself.leaves[b""]
            self._prune(itself)

    def _reach(self, names: list[bytes], *, in_full: bool = False) -> Directory:
        """The directory, which is added if it is missing. ``in_full``: for more than the names in it."""
        directory = self.root
        for number, name in enumerate(names, 1):
            known = directory.children.get(name)
            directory = known or self._add_child(directory, name, in_full and number == len(names))
        if in_full and not directory.in_full:
            directory.in_full = True
            if not self._is_silent(directory):
                self._watch(directory)
        return directory

    def _add_child(self, parent: Directory, name: bytes, in_full: bool) -> Directory:
        child = parent.children[name] = Directory(parent, name)
        child.in_full = in_full
        if not self._is_silent(child):
            self._watch(child)
        return child

    def _is_silent(self, directory: Directory) -> bool:
        """Whether ``directory`` must not be touched now.

        An existing watch stays: its events arrive again when the file system answers.
        """
        silence = self._silence(directory.path)
        if silence is not None:
            directory.problem = f"{silence}, {_POLLED}"
            self.unreliable.add(directory)
        return silence is not None

    def _watch(self, directory: Directory) -> bool:
        """Watch the directory or file that is at the path now. Returns whether it is a different one than before."""
        watched = problem = None
        try:
            problem, is_shared = self._examine(directory)
            is_leaf = b"" in directory.leaves or is_shared
            self._refuse_beyond_budget(directory)
            watched = self._descriptor.watch(
                directory.path, only_directory=not is_leaf, only_names=not (is_leaf or directory.needs_all)
            )
        except (FileNotFoundError, NotADirectoryError):
            pass  # the nearest directory that exists gets an event when this changes
        except OSError as error:
            if error.errno == errno.EBADF:
                raise
            problem = self._explain(error, directory.path)
        directory.problem = problem
        (self.unreliable.add if problem else self.unreliable.discard)(directory)
        return self._hold(directory, watched)

    def _refuse_beyond_budget(self, directory: Directory) -> None:
        """Raise OSError (ENOSPC) if only a tree needs a watch for ``directory``, and those for trees are used up."""
        above = directory.parent
        if above is None or directory.watched is not None or directory.leaves:
            return
        if self._budget.is_used_up(len(self.by_descriptor)) and above.listeners_below(directory.name):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _explain(self, error: OSError, path: bytes) -> str:
        if error.errno == errno.ENOSPC:
            return self._budget.explanation(path, _POLLED)
        where = os.fsdecode(path)
        return f"can't watch {where} ({os.strerror(error.errno or 0)}), {_POLLED}"

    def _spread(self, directory: Directory) -> Iterator[None]:
        """Add the entries of ``directory`` to the trees that contain it.

        It is watched already, so no new entry is missed.
        """
        before = directory.trees
        directory.join_trees()
        if directory.trees != before:
            self._budget.count(before, directory.trees)
        if directory.trees and directory.watched is not None:
            for name in names_in(directory.path):
                if not name:
                    yield None
                elif directory.trees:  # the last listener may have gone meanwhile
                    self.admit(directory, name)
        if directory.is_attached:
            self._prune(directory)

    def _hold(self, directory: Directory, watched: Watched | None) -> bool:
        before, directory.watched = directory.watched, watched
        if before is not None:
            others = tuple(other for other in self.by_descriptor.pop(before.wd) if other is not directory)
            if others:
                self.by_descriptor[before.wd] = others
            self._descriptor.unwatch(before)
        if watched is not None:
            self.by_descriptor[watched.wd] = (*self.by_descriptor.get(watched.wd, ()), directory)
        return (before and before.wd) != (watched and watched.wd)

    def _examine(self, directory: Directory) -> tuple[str | None, bool]:
        """Find out where the path leads.

        Returns why its events can't be relied upon, and whether it is a file with other hard links. Raises OSError.
        """
        path = directory.path
        info = os.lstat(path)
        is_link = stat.S_ISLNK(info.st_mode)
        directory.real_path = _real_path(directory, is_link=is_link)
        if is_link:
            self._point(directory, target_of(path))
            info = os.stat(path)
        elif directory.target is not None:
            self._point(directory, None)
        silent = self._mounts.silent_type(info.st_dev)
        problem = silent and f"{silent} at {os.fsdecode(path)} does not announce every change, {_POLLED}"
        return problem, not is_link and has_other_links(info)

    def _point(self, link: Directory, path: bytes | None) -> None:
        """Watch each directory on the way to a symlink's target: a change of any of them may change the target."""
        target = None if path is None else self._reach(components(path))
        self._prune(link.point_to(target))

    def _prune(self, unused: Directory | None) -> None:
        """Take directories out of the tree, from ``unused`` upwards, until one is needed.

        The target of a link may be below the directory of that link, as ``../usr`` is: then that directory is gone
        together with the target.
        """
        while unused is not None and unused.is_attached and not unused.is_needed:
            unused.detach()
            self._hold(unused, None)
            self.unreliable.discard(unused)
            if unused.target is not None:
                self._point(unused, None)
            unused = unused.parent


def _real_path(directory: Directory, *, is_link: bool) -> bytes:
    if is_link or directory.name == b"..":
        return real_path(directory.path)
    return directory.path if directory.parent is None else _real_path_of(directory.parent, directory.name)


def _real_path_of(directory: Directory, name: bytes) -> bytes:
    return directory.real_path.rstrip(b"/") + b"/" + name
