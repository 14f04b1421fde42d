"""Whole trees from templates."""

from reactor.resources.scaffold.kind import Scaffold

__all__ = ["Scaffold"]
