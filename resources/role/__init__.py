"""The kind `role`: a directory with a manifest that takes parameters."""

from reactor.resources.role.kind import Role

__all__ = ["Role"]
