"""The events that a file or directory is watched for, as bit masks of inotify(7)."""

from __future__ import annotations

from watchdog.observers.inotify_c import InotifyConstants as Kernel
from watchdog.observers.inotify_c import Mask

COME_OR_GONE = Kernel.IN_CREATE | Kernel.IN_DELETE | Kernel.IN_MOVED_FROM
"""A name appeared or disappeared. Often this is half of a replacement, and another event follows at once."""
MOVED_FROM, MOVED_TO = Kernel.IN_MOVED_FROM, Kernel.IN_MOVED_TO
"""The old and the new name of one rename. Both events have the same cookie."""
REPLACED = COME_OR_GONE | Kernel.IN_MOVED_TO
"""The name is another file or directory than before."""
IS_DIRECTORY = Kernel.IN_ISDIR
"""The event is about a directory."""
WATCH_DROPPED = Kernel.IN_IGNORED
QUEUE_OVERFLOW = Kernel.IN_Q_OVERFLOW
SELF_CHANGED = Kernel.IN_DELETE_SELF | Kernel.IN_MOVE_SELF | Kernel.IN_UNMOUNT
"""The watched directory or file itself was deleted, moved or unmounted."""
MODIFIED = Kernel.IN_MODIFY
"""A write or a truncation. Most are followed by a close, which has its own event; a truncate(2) by path is not."""
ATTRIBUTES = Kernel.IN_ATTRIB
"""Owner, mode, times, extended attributes, or the number of hard links."""

WATCHED_EVENTS = Mask(
    MODIFIED | ATTRIBUTES | Kernel.IN_CLOSE_WRITE | REPLACED | Kernel.IN_DELETE_SELF | Kernel.IN_MOVE_SELF
)
"""All events that mean a change of a file, or of a directory and its entries."""
# IN_EXCL_UNLINK: writes to a file that is still open but was replaced or deleted since don't matter.
WATCHED_DIRECTORY_EVENTS = Mask(WATCHED_EVENTS | Kernel.IN_ONLYDIR | Kernel.IN_EXCL_UNLINK)
"""The same, for a path that must be a directory."""
_MASK_ADD = 0x20000000
"""IN_MASK_ADD, which watchdog lacks: the directory may be watched for all events by another path."""
WATCHED_NAME_EVENTS = Mask(
    REPLACED | Kernel.IN_DELETE_SELF | Kernel.IN_MOVE_SELF | Kernel.IN_ONLYDIR | _MASK_ADD
)
"""Only which names come and go in a directory, and what happens to itself."""
