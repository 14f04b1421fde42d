"""The kind `filesystem`: a file system or swap area on a blank device, or in a file."""

from reactor.resources.filesystem.kind import Filesystem

__all__ = ["Filesystem"]
