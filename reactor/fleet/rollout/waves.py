"""Parses the sizes of the waves of a rollout: ``1,10%,50%,100%``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import accumulate

from reactor.errors import ReactorError
from reactor.fleet.rollout.rank import RANKS

DEFAULT = "1%,10%,50%,100%"
_SIZE = re.compile(r"(\d{1,7})|(\d{1,3}(?:\.\d{1,2})?)%")


class WavesError(ReactorError):
    """The waves, the gate or the windows of a rollout are written wrong."""

    code = "R1002"


def parse_waves(text: str, ranks: Iterable[int] = ()) -> tuple[int, ...]:
    """Return the waves as ranks that rise to 10,000: hosts with a rank below a wave are in it.

    ``ranks`` are those of the hosts that follow the channel now; a wave that is a number of hosts needs them. A wave
    that adds no rank to those before is left out: of few hosts, one may be more than 10 %. Raises WavesError.
    """
    queue = sorted(ranks)
    parts = [each.strip() for each in text.split(",")]
    sizes = [_rank_after(each, queue) for each in parts]
    for sort in (True, False):
        alike = [size for part, size in zip(parts, sizes, strict=True) if part.endswith("%") is sort]
        if alike != sorted(alike):
            raise WavesError(f"the waves {text} do not grow", f"write them as {DEFAULT}")
    if sizes[-1] != RANKS:
        raise WavesError(f"the waves {text} do not reach every host", "end them with 100%")
    return tuple(sorted(set(accumulate(sizes, max))))


def _rank_after(size: str, queue: list[int]) -> int:
    found = _SIZE.fullmatch(size)
    count, percent = found.groups() if found else ("0", None)
    if percent is not None:
        wave = round(float(percent) * RANKS / 100)
    else:
        wave = queue[int(count) - 1] + 1 if 0 < int(count) <= len(queue) else RANKS * (int(count) > 0)
    if not 0 < wave <= RANKS:
        raise WavesError(
            f"{size!r} is not the size of a wave", "a size is a number of hosts, or 0.01% to 100%"
        )
    return wave


def next_wave(waves: tuple[int, ...], wave: int) -> int | None:
    """Return the wave after ``wave``; None after the last."""
    return next((each for each in waves if each > wave), None)
