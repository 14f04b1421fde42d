"""The kind `apply`: another manifest as a part of this one."""

from reactor.resources.apply.kind import Apply

__all__ = ["Apply"]
