"""Iterates over the items of a bucket or an object store, and over their changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from reactor.fleet.link.errors import MissingError, describing_missing
from reactor.fleet.link.reading import Reader
from reactor.fleet.link.stored import Stored

Item = TypeVar("Item")


class Watch(Generic[Item]):
    """Iterate: each step gives an item, and once None, when all that was there at the start has been given.

    ``item_of`` reads a message; ``missing`` returns the error for a bucket that does not exist.
    """

    def __init__(
        self, reader: Reader, item_of: Callable[[Stored], Item], missing: Callable[[], MissingError]
    ) -> None:
        self._reader = reader
        self._item_of = item_of
        self._missing = missing

    def __aiter__(self) -> Watch[Item]:
        return self

    async def __anext__(self) -> Item | None:
        with describing_missing(self._missing):
            stored = await anext(self._reader)
        return None if stored is None else self._item_of(stored)
