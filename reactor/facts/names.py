"""Facts of the host by either of two names: those of JSON, and those that CCM's expressions know."""

from __future__ import annotations

from typing import Any


class Named(dict[str, Any]):
    """A map whose ``platformFamily`` can be read as ``PlatformFamily`` too: in CCM it is a field of a Go structure."""

    def __missing__(self, key: str) -> Any:
        if key[:1].isupper():
            for name, value in self.items():
                if name.lower() == key.lower():
                    return value
        raise KeyError(key)


def named(tree: Any) -> Any:
    """``tree`` with every map in it as a `Named`."""
    if isinstance(tree, dict):
        return Named({key: named(value) for key, value in tree.items()})
    return [named(item) for item in tree] if isinstance(tree, list) else tree
