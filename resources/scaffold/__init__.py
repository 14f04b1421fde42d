"""Whole trees from templates."""

from resources.scaffold.kind import Scaffold

__all__ = ["Scaffold"]
