"""The kind `repository`: where the package manager of the host finds packages."""

from reactor.resources.repository.kind import Repository

__all__ = ["Repository"]
