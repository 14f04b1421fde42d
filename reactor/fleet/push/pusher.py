"""Pushes to all hosts, wave by wave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import trio

from reactor.fleet.push.inventory_host import Host
from reactor.fleet.push.outcome import Outcome, Status
from reactor.fleet.push.session import Note, Push, push_to
from reactor.fleet.push.waves import Amount, exceeds, waves


class Plan(NamedTuple):
    """The hosts of a push and its limits. ``most_failed`` is compared with the hosts that were tried so far."""

    hosts: Sequence[Host]
    serial: Sequence[Amount] = ()
    most_failed: Amount = Amount(0, percent=False)
    forks: int = 20


async def push_to_all(
    plan: Plan, push: Push, note: Note, began: Callable[[str], None], ended: Callable[[Outcome], None]
) -> list[Outcome]:
    """Push to all hosts of ``plan``; return the outcome of each.

    ``began`` and ``ended`` are called for each host that is tried. After a wave in which more than ``most_failed`` hosts
    failed or could not be reached, the hosts that are left are not tried.
    """
    outcomes: dict[str, Outcome] = {}
    limit = trio.CapacityLimiter(plan.forks)

    async def push_one(host: Host) -> None:
        async with limit:
            began(host.name)
            outcomes[host.name] = await push_to(host, push, note)
        ended(outcomes[host.name])

    for wave in waves(plan.hosts, plan.serial):
        async with trio.open_nursery() as nursery:
            for host in wave:
                nursery.start_soon(push_one, host)
        bad = sum(not each.is_well for each in outcomes.values())
        if exceeds(bad, plan.most_failed, len(outcomes)):
            break
    return [outcomes.get(host.name) or Outcome(host.name, Status.NOT_TRIED) for host in plan.hosts]
