"""What the server does while nothing is typed, because it would make an answer late."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable

from reactor.lsp.outline import Outline
from reactor.lsp.schema import kind_and_rest, prepare

IDLE_TIME = 0.1
"""Seconds after a check in which nothing is typed."""
_MUCH = 20_000
"""New objects from which on garbage is collected while nothing is typed. Few objects of a check need the collector."""
_TOO_MUCH = 1_000_000
"""New objects from which on garbage is collected in any case; it takes about 1 µs for each."""


class IdleWork:
    """Collects garbage, calls ``once``, and prepares the completion of the kinds that ``kinds`` returns.

    Each takes up to 0.1 s.
    """

    def __init__(self, kinds: Callable[[], set[str]], once: Callable[[], object]) -> None:
        self._kinds = kinds
        self._once: Callable[[], object] | None = once
        self._prepared: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._is_frozen = False

    def after_check(self) -> None:
        """Work as soon as nothing is typed."""
        gc.disable()
        self._work_in(0 if gc.get_count()[0] >= _TOO_MUCH else IDLE_TIME)

    def _work_in(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._work)

    def _work(self) -> None:
        self._timer = None
        if gc.get_count()[0] >= _MUCH:
            self._collect()
        if self._once is not None:
            self._once()
            self._once = None
        for kind in self._kinds() - self._prepared:
            self._prepared.add(kind)
            prepare(kind)
            self._work_in(0)  # what has arrived meanwhile goes first
            break

    def _collect(self) -> None:
        gc.collect()
        if not self._is_frozen:
            gc.freeze()  # the classes of the kinds, which are most of what there is, are not searched again
            self._is_frozen = True


def kinds_in(outline: Outline) -> set[str]:
    """Return the names that stand where a kind may stand."""
    found = (kind_and_rest(each.path) for each in outline.scalars if each.is_key)
    return {within[0] for within in found if within is not None}
