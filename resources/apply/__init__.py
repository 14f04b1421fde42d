"""The kind `apply`: another manifest as a part of this one."""

from resources.apply.kind import Apply

__all__ = ["Apply"]
