"""Triggers the check of the URLs of manifests and data: at events of the network, and at an interval."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence

import trio

from reactor.source.links import Address, Link, link_of

_SPREAD = 0.2
"""The share by which an interval is shorter or longer, so that not all hosts look at the same time."""


class UrlEvents:
    """``urls`` are followed with the settings that ``context`` names. ``warn`` shows a warning to the user."""

    def __init__(self, urls: Sequence[str], context: str, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._changed = trio.Event()
        self._reported: frozenset[str] = frozenset()
        self._linked: dict[Link, list[Address]] = {}
        for url in dict.fromkeys(urls):
            if (link := link_of(url)) is not None:
                self._linked.setdefault(link, []).append(Address(url, url, context=context, link=link))
        self.are_all_links = all(link_of(url) is not None for url in urls)

    async def run(self) -> None:
        """Follow the URLs until cancelled."""
        async with trio.open_nursery() as nursery:
            for link, addresses in self._linked.items():
                nursery.start_soon(link.follow, addresses, self._note, self._warn)

    async def wait(self, seconds: float) -> None:
        """Wait for an event, at most about ``seconds``."""
        spread = random.uniform(1 - _SPREAD, 1 + _SPREAD)  # noqa: S311 - it is no secret
        with trio.move_on_after(seconds * spread):
            await self._changed.wait()
        self._changed = trio.Event()

    def show(self, warnings: Collection[str]) -> None:
        """Show the warnings of a check, except the warnings of the check before.

        The age in a warning does not make it new.
        """
        current = {each.partition("; the last valid version")[0]: each for each in warnings}
        if self._linked:
            for new in current.keys() - self._reported:
                self._warn(current[new])
        self._reported = frozenset(current)

    def _note(self) -> None:
        self._changed.set()
