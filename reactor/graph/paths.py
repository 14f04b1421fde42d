"""Paths as resources name them, without a look at any of them."""

from __future__ import annotations

from collections.abc import Iterator


def parents(path: str) -> Iterator[str]:
    """The directories above an absolute path, the nearest first. Nothing is above an account."""
    while path.startswith("/") and path != "/":
        path = path.rpartition("/")[0] or "/"
        yield path
