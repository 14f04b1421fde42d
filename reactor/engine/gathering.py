"""The members of a party apply their plans in one go, and each still has its own outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import trio

from reactor.engine.check import perform
from reactor.engine.groups import Party
from reactor.resource.base import Resource
from reactor.resource.plan import Plan, ResourceError


@dataclass(slots=True, eq=False)
class _Member:
    resource: Resource
    plan: Plan
    done: list[str]
    error: Exception | None = None


@dataclass(slots=True, eq=False)
class _Gathering:
    party: Party
    members: list[_Member] = field(default_factory=list)
    complete: trio.Event = field(default_factory=trio.Event)
    has_begun: bool = False
    over: trio.Event = field(default_factory=trio.Event)

    def look(self) -> None:
        """See whether everybody who is still in the party waits here."""
        if len(self.members) == len(self.party.members):
            self.complete.set()


class Gatherings:
    """Where those who have something to apply wait until the rest of their party has ended its checks."""

    def __init__(self, parties: Mapping[int, Party]) -> None:
        self._parties = parties
        self.open: dict[int, _Gathering] = {}

    def look(self) -> None:
        """A member has left its party."""
        for gathering in self.open.values():
            gathering.look()

    async def apply(self, vertex: int, resource: Resource, plan: Plan, done: list[str]) -> None:
        """Apply ``plan`` with those of the others in the party, as `perform` would alone.

        One acts for all, and what has begun is not cut off: it is not about one resource alone.
        """
        party = self._parties[vertex]
        gathering = self.open.setdefault(id(party), _Gathering(party))
        member = _Member(resource, plan, done)
        gathering.members.append(member)
        gathering.look()
        try:
            await gathering.complete.wait()
        except trio.Cancelled:
            gathering.members.remove(member)
            raise
        with trio.CancelScope(shield=True):
            if not gathering.has_begun:
                gathering.has_begun = True
                del self.open[id(party)]
                await _apply_together(tuple(gathering.members))
                gathering.over.set()
            await gathering.over.wait()
        if member.error is not None:
            raise member.error


async def _apply_together(members: Sequence[_Member]) -> None:
    """Apply all in one go; if that fails, those that are not as desired then are tried in halves."""
    if len(members) == 1:
        await _apply_alone(members[0])
        return
    try:
        refusals = await type(members[0].resource).apply_group([member.resource for member in members])
    except (ResourceError, OSError):
        left = [member for member in members if await _has_work(member)]
        middle = len(left) // 2
        for half in filter(None, (left[:middle], left[middle:])):
            await _apply_together(half)
    except Exception as bug:  # noqa: BLE001 - each member's check tells of it
        for member in members:
            member.error = bug
    else:
        for member in members:
            member.error = refusals.get(member.resource.ref)
            if member.error is None:
                member.done += (action.did for action in member.plan)


async def _apply_alone(member: _Member) -> None:
    try:
        await perform(member.plan, member.done)
    except Exception as error:  # noqa: BLE001 - raised again by the member's own check
        member.error = error


async def _has_work(member: _Member) -> bool:
    """Whether something is left to do; whoever can't tell finds out when it tries."""
    try:
        left = await member.resource.verify()
    except (ResourceError, OSError):
        return True
    if not left:
        member.done += (action.did for action in member.plan)
    member.plan = left
    return bool(left)
