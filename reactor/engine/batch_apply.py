"""Applies the plans of a batch together; each member still has its own outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import trio

from reactor.engine.admission import Batch
from reactor.engine.check import perform
from reactor.resource.base import Resource
from reactor.resource.plan import GroupError, Plan, ResourceError


@dataclass(slots=True, eq=False, repr=False)
class _BatchMember:
    resource: Resource
    plan: Plan
    done: list[str]
    error: Exception | None = None

    def end(self, refusal: Exception | None) -> None:
        """Record the result: applied with the others, or not applied because of ``refusal``."""
        self.error = refusal
        if refusal is None:
            self.done += (action.made() for action in self.plan)

    async def has_work(self) -> bool:
        """Whether the resource still differs after a failure.

        True if it can't be read: the next attempt will report why.
        """
        try:
            left = await self.resource.verify()
        except (ResourceError, OSError):
            return True
        if not left:
            self.end(None)
        self.plan = left or self.plan
        return bool(left)


@dataclass(slots=True, eq=False, repr=False)
class _BatchApply:
    batch: Batch
    members: list[_BatchMember] = field(default_factory=list)
    complete: trio.Event = field(default_factory=trio.Event)
    has_begun: bool = False
    over: trio.Event = field(default_factory=trio.Event)

    def on_member_change(self) -> None:
        """Set ``complete`` once all members that are still in the batch wait in `BatchApplier.apply`."""
        if len(self.members) == len(self.batch.members):
            self.complete.set()


class BatchApplier:
    """Members that have changes to apply wait here until the rest of their batch has finished checking."""

    def __init__(self, batches: Mapping[int, Batch]) -> None:
        self._batches = batches
        self.open: dict[int, _BatchApply] = {}

    def on_member_change(self) -> None:
        """A member has left its batch: begin each apply that waited only for that member."""
        for batch_apply in self.open.values():
            batch_apply.on_member_change()

    async def apply(self, vertex: int, resource: Resource, plan: Plan, done: list[str]) -> None:
        """Apply ``plan`` together with the plans of the other members; to the caller this works like `perform`.

        One task applies for all members. Cancelling one member does not cancel an apply that has begun: the others
        need it too.
        """
        batch = self._batches[vertex]
        batch_apply = self.open.setdefault(id(batch), _BatchApply(batch))
        member = _BatchMember(resource, plan, done)
        batch_apply.members.append(member)
        batch_apply.on_member_change()
        try:
            await batch_apply.complete.wait()
        except trio.Cancelled:
            batch_apply.members.remove(member)
            if not batch_apply.members:
                self.open.pop(id(batch), None)
            raise
        with trio.CancelScope(shield=True):
            if not batch_apply.has_begun:
                batch_apply.has_begun = True
                del self.open[id(batch)]
                members = tuple(batch_apply.members)
                await _ApplyAttempts(members).apply(members)
                batch_apply.over.set()
            await batch_apply.over.wait()
        if member.error is not None:
            raise member.error


class _ApplyAttempts:
    """Applies members together; after a failure, retries in two halves the members that still differ.

    When several attempts in a row fail without progress, the cause is probably not one bad member: if a mirror is
    down, halving 100 members would ask it 200 times. So it gives up after as many failures as it takes to find two bad
    members by halving: twice the number of halvings, which is the bit length of the number of members.
    """

    def __init__(self, members: Sequence[_BatchMember]) -> None:
        self._timeout = self._left = 2 * len(members).bit_length()

    async def apply(self, members: Sequence[_BatchMember]) -> None:
        """Apply all ``members``, and record in each of them whether it was applied or why not."""
        if len(members) == 1:
            await self._apply_alone(members[0])
            return
        try:
            refusals = await type(members[0].resource).apply_group([member.resource for member in members])
        except (ResourceError, OSError) as error:
            await self._halve(members, error)
        except Exception as bug:  # noqa: BLE001 - the check of each member reports it
            for member in members:
                member.error = bug
        else:
            self._left = self._timeout
            for member in members:
                member.end(refusals.get(member.resource.ref))

    async def _apply_alone(self, member: _BatchMember) -> None:
        try:
            await perform(member.plan, member.done)
        except Exception as error:  # noqa: BLE001 - raised again by the member's own check
            member.error = error
            self._left -= 1
        else:
            self._left = self._timeout

    async def _halve(self, members: Sequence[_BatchMember], error: Exception) -> None:
        refusals = error.refusals if isinstance(error, GroupError) else {}
        for member in members:
            member.error = refusals.get(member.resource.ref)
        in_question = [member for member in members if member.error is None]
        rest = [member for member in in_question if await member.has_work()]
        self._left = self._left - 1 if len(rest) == len(in_question) else self._timeout
        middle = len(rest) // 2
        for half in filter(None, (rest[:middle], rest[middle:])):
            if self._left > 0:
                await self.apply(half)
                continue
            for member in half:
                member.error = ResourceError(f"given up, since one attempt after the other failed: {error}")
