"""Waves: ``--serial 1,10%,100%`` pushes to one host first, then to a tenth, then to the rest."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

_Item = TypeVar("_Item")
_AMOUNT = re.compile(r"(\d{1,9})(%?)")
_WHOLE = 100


class Amount(NamedTuple):
    """A number of hosts, or a percentage of them."""

    number: int
    percent: bool

    @classmethod
    def parse(cls, text: str) -> Amount:
        """Read ``5`` or ``10%``. Raises ValueError."""
        found = _AMOUNT.fullmatch(text.strip())
        if found is None or (found[2] and int(found[1]) > _WHOLE):
            raise ValueError(f"{text!r} is neither a number of hosts nor a percentage, as in 5 or 10%")
        return cls(int(found[1]), bool(found[2]))

    def of(self, hosts: int) -> float:
        """The number of hosts that this is, out of ``hosts``."""
        return self.number * hosts / _WHOLE if self.percent else self.number


def parse_serial(text: str) -> tuple[Amount, ...]:
    """Read ``1,10%,100%``. Raises ValueError."""
    amounts = tuple(Amount.parse(each) for each in text.split(","))
    if not all(amount.number for amount in amounts):
        raise ValueError("a wave has at least one host")
    return amounts


def waves(hosts: Sequence[_Item], serial: Sequence[Amount]) -> list[list[_Item]]:
    """Split ``hosts``. As in Ansible, the last amount is repeated until all hosts are in a wave."""
    made: list[list[_Item]] = []
    start = 0
    while start < len(hosts):
        amount = serial[min(len(made), len(serial) - 1)] if serial else Amount(_WHOLE, percent=True)
        size = max(1, math.floor(amount.of(len(hosts))))
        made.append(list(hosts[start : start + size]))
        start += size
    return made


def exceeds(bad: int, most: Amount, hosts: int) -> bool:
    """Whether ``bad`` is more than ``most`` out of ``hosts``."""
    return bad > most.of(hosts)
