"""The driver: the process that begins waves.

One drives a channel at a time, by a lease; every step is written only if the revision is unchanged. The others look on.

A driver that can't renew its lease stops writing at once. If two drivers write at once, only one succeeds, whatever the
leases say.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import ExitStack

import trio

from reactor.errors import ReactorError
from reactor.fleet.bucket_names import CHANNELS, DRIVE, STATE
from reactor.fleet.debounced_event import DebouncedEvent
from reactor.fleet.documents import DocumentError, canonical
from reactor.fleet.link.errors import LinkError, WrongRevisionError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.operator.channels import Channels
from reactor.fleet.operator.views import read_views
from reactor.fleet.rollout.state import ChannelState, Phase
from reactor.fleet.rollout.step import Step, next_step

LEASE = 15
"""Seconds for which a lease is taken. It is renewed after a third."""
_ENDED = frozenset({Phase.DONE, Phase.REVERTED, Phase.HALTED, Phase.PAUSED})


class Lease:
    """The right to drive one channel. Only while `held` may the driver write."""

    def __init__(self, js: JetStream, channel: str, name: str) -> None:
        self._kv = js.key_value(DRIVE)
        self._channel = channel
        self._value = canonical({"by": name, "token": secrets.token_hex(8)})
        self._revision: int | None = None
        self._until = -1.0
        self.is_taken = False
        """Whether another driver had it when it was asked for last."""

    @property
    def held(self) -> bool:
        """Whether the lease is certainly valid: its time counts from before the request for it."""
        return trio.current_time() < self._until

    async def keep(self) -> bool:
        """Take or renew the lease; return whether it is held. Raises LinkError."""
        asked = trio.current_time()
        try:
            if self._revision is None:
                self._revision = await self._kv.create(self._channel, self._value, ttl=LEASE)
            else:
                self._revision = await self._kv.update(self._channel, self._value, self._revision, ttl=LEASE)
        except WrongRevisionError:
            self._revision, self._until, self.is_taken = None, -1.0, True
            return False
        self._until, self.is_taken = asked + LEASE, False
        return True

    async def give_back(self) -> None:
        """Release the lease, so that another driver can begin at once. Raises LinkError."""
        if self._revision is not None:
            revision, self._revision, self._until = self._revision, None, -1.0
            await self._kv.delete(self._channel, revision=revision)


class Driver:
    """Drives one channel.

    ``on_state`` gets each new state, with a sentence for display; and for what a state waits, at most once in each
    ``interval``, since each host that reports may change that.
    ``on_trouble`` gets each failure of the network or the servers, and each document that can't be read, once until a
    step succeeds.
    """

    def __init__(
        self,
        js: JetStream,
        channel: str,
        name: str,
        *,
        on_state: Callable[[ChannelState, str], None] = lambda _, __: None,
        on_trouble: Callable[[ReactorError], None] = lambda _: None,
        interval: float = 5.0,
    ) -> None:
        self.channel = channel
        self.lease = Lease(js, channel, name)
        self._js = js
        self._channels = Channels(js)
        self._name = name
        self._on_state = on_state
        self._on_trouble = on_trouble
        self._reported_troubles: set[str] = set()
        self._interval = interval
        self._trigger = DebouncedEvent()
        self._reported: tuple[str, str] = ("", "")
        self._reported_at = 0.0

    async def run(self, *, until_ended: bool = False) -> ChannelState | None:
        """Drive until cancelled; with ``until_ended`` return the state in which nothing moves any more.

        A failure of the network is waited out: without a lease nothing is written.
        """
        try:
            with ExitStack() as stack:
                for subject in (f"$KV.{STATE}.*", f"$KV.{CHANNELS}.{self.channel}"):
                    stack.enter_context(self._js.connection.subscribed(subject, self._woken))
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._keep_lease)
                    while True:
                        state = await self._step_if_allowed()
                        if until_ended and state is not None and state.phase in _ENDED:
                            nursery.cancel_scope.cancel()
                            return state
                        await self._trigger.wait(self._interval)
        finally:
            with trio.CancelScope(shield=True), trio.move_on_after(1):
                await self._give_back()
        return None

    async def _keep_lease(self) -> None:
        while True:
            try:
                await self.lease.keep()
            except LinkError as error:
                self._fail(error)
                await trio.sleep(1)
            else:
                self._trigger.set()
                await trio.sleep(LEASE / 3 if self.lease.held else 1)

    async def _give_back(self) -> None:
        try:
            await self.lease.give_back()
        except LinkError:
            return

    async def _step_if_allowed(self) -> ChannelState | None:
        """Make a step, or look on while another one drives; return the state, None while the network is away."""
        if not self.lease.held and not self.lease.is_taken:
            return None
        try:
            found = await (self.step() if self.lease.held else self._look_on())
        except (LinkError, DocumentError) as error:
            self._fail(error)
            return None
        self._reported_troubles.clear()
        return found

    def _fail(self, error: ReactorError) -> None:
        if error.message not in self._reported_troubles:
            self._reported_troubles.add(error.message)
            self._on_trouble(error)

    async def _look_on(self) -> ChannelState | None:
        state, _ = await self._channels.read(self.channel)
        if state is not None:
            found = Step(None, state.why) if state.phase in _ENDED else await self._next(state)
            self._report(state, state.why if found.state else found.why)
        return state

    async def _next(self, state: ChannelState) -> Step:
        hosts = await read_views(self._js, self.channel, state.serial)
        return next_step(state, hosts, await self._channels.clock.measure(), self._name)

    async def step(self) -> ChannelState | None:
        """Decide the next state, and write it if the lease is still valid. Raises LinkError, DocumentError."""
        state, revision = await self._channels.read(self.channel)
        if state is None:
            return None
        if state.phase in _ENDED:
            self._report(state, state.why)
            return state
        found = await self._next(state)
        if found.state is not None and self.lease.held:
            try:
                await self._channels.write(found.state, revision)
            except WrongRevisionError:
                return None  # another one changed the state meanwhile: it is decided again
            state = found.state
        self._report(state, found.why)
        return state

    def _report(self, state: ChannelState, why: str) -> None:
        report, now = (f"{state.phase} {state.serial} {state.wave}", why), trio.current_time()
        is_new = report[0] != self._reported[0]
        if is_new or (report != self._reported and now >= self._reported_at + self._interval):
            self._reported, self._reported_at = report, now
            self._on_state(state, why)

    def _woken(self, _: object) -> None:
        self._trigger.set()
