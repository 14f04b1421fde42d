"""One inotify descriptor: watchdog keeps its watches, the trio loop reads it.

watchdog's own reading thread is never started: while Python is busy, such a thread waits seconds to run. Its event
objects are not built either, because they cost three times as much as the parsing. Its private names are used in this
module and nowhere else.
"""

from __future__ import annotations

import errno
import itertools
import os
import struct
from contextlib import suppress
from typing import NamedTuple

import trio
from watchdog.observers.inotify_c import CallbackId, InotifyEvent, InotifyFD, WatchDescriptor

from reactor.watchers.inotify_masks import WATCHED_DIRECTORY_EVENTS, WATCHED_EVENTS, WATCHED_NAME_EVENTS

# About a third of a millisecond of work: other tasks run between two reads.
_READ_SIZE = 16 * 1024

_LONGEST_EVENT = 16 + 256

_HEAD = struct.Struct("iIII")
_HEAD_SIZE = _HEAD.size
_unpack_head = _HEAD.unpack_from
"""Unpacks struct inotify_event: watch descriptor, mask, cookie, and the length of the name with its padding."""

_MORE_FILES = "no more files can be opened; allow more with: ulimit -n, or LimitNOFILE= of the service"
_MORE_INSTANCES = "no inotify instances left; allow more with: sysctl -w fs.inotify.max_user_instances=1024"

RawEvent = tuple[int, int, int, bytes]
"""Watch descriptor, mask, cookie, and the name within the directory (empty for the directory itself)."""


class Watched(NamedTuple):
    """One holder's share of a kernel watch. The kernel has one watch for each inode, shared by all holders."""

    wd: WatchDescriptor
    holder: CallbackId


class _NoCallback:
    """The callback that watchdog requires for every watch. It does nothing: `read` returns the events."""

    def on_event(self, event: InotifyEvent) -> None:
        pass

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:
        pass

    def on_queue_overflow(self) -> None:
        pass


_NO_CALLBACK = _NoCallback()


def _may_open(number: int) -> bool:
    """Whether the process may open ``number`` more files. Its limit and that of the user give the same error."""
    opened: list[int] = []
    try:
        opened.extend(os.open("/", os.O_PATH | os.O_CLOEXEC) for _ in range(number))
    except OSError:
        return False
    finally:
        for each in opened:
            os.close(each)
    return True


class InotifyDescriptor(InotifyFD):
    """An inotify instance of the kernel. Raises OSError (EMFILE) at the limit of the user or of the process."""

    def __init__(self) -> None:
        try:
            super().__init__()
        except OSError as error:
            with suppress(AttributeError):  # the pipe beside it could not be opened
                os.close(self._inotify_fd)
            if error.errno == errno.EMFILE:
                error.strerror = _MORE_INSTANCES if _may_open(3) else _MORE_FILES
            raise
        self._is_reading = False  # no thread reads, so that close() frees the descriptors itself
        os.set_blocking(self._inotify_fd, False)
        os.set_inheritable(self._inotify_fd, False)
        self._holders = itertools.count()
        self.has_more = False
        """Whether the last read may have left events behind."""

    def fileno(self) -> int:
        """The descriptor's number, readable when there are events."""
        return self._inotify_fd

    def watch(self, path: bytes, *, only_directory: bool = True, only_names: bool = False) -> Watched:
        """Watch the directory or file that is at ``path`` now. Raises OSError.

        With ``only_names``, only which names come and go in it, and what happens to itself.
        """
        # A holder of its own for every call: watchdog then counts the shares, and frees the watch with the last.
        holder = CallbackId(next(self._holders))
        events = WATCHED_DIRECTORY_EVENTS if only_directory else WATCHED_EVENTS
        wd = self.add_callback(path, WATCHED_NAME_EVENTS if only_names else events, _NO_CALLBACK, holder)
        if wd == -1:  # watchdog hides that the kernel refused
            self.remove_callbacks([(wd, holder)])
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return Watched(wd, holder)

    def unwatch(self, watched: Watched) -> None:
        """Release the share of one holder. The kernel watch ends with the last one."""
        self.remove_callbacks([watched])

    def forget(self, wd: int) -> None:
        """Forget a watch that the kernel has dropped already."""
        self._remove_watch(WatchDescriptor(wd))

    def close(self) -> None:
        """Free the descriptors; a task that waits for events gets ClosedResourceError."""
        trio.lowlevel.notify_closing(self._inotify_fd)
        super().close()

    def read(self) -> list[RawEvent]:
        """The waiting events, up to one buffer, or none."""
        try:
            buffer = os.read(self._inotify_fd, _READ_SIZE)
        except BlockingIOError:
            self.has_more = False
            return []
        events, at, end = [], 0, len(buffer)
        self.has_more = end > _READ_SIZE - _LONGEST_EVENT
        while at < end:
            wd, mask, cookie, length = _unpack_head(buffer, at)
            at += _HEAD_SIZE + length
            events.append((wd, mask, cookie, buffer[at - length : at].rstrip(b"\0")))
        return events
