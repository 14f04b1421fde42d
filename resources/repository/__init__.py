"""The kind `repository`: a package repository of apt or dnf."""

from reactor.resources.repository.kind import Repository

__all__ = ["Repository"]
