"""The kind ``tidy``: removes old and large files of a directory.

`kind` holds the properties, `rule` decides which files go, and `sweep` finds and removes them.
"""

from reactor.resources.tidy.kind import Tidy

__all__ = ["Tidy"]
