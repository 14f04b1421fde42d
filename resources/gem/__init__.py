"""The kind ``gem``: packages of Ruby in a directory of their own."""

from reactor.resources.gem.kind import Gem

__all__ = ["Gem"]
