"""Follows the channels and the spec of one host, and sends its summaries, over one connection."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

import trio

from reactor.errors import ReactorError
from reactor.fleet.bucket_names import CHANGED_CHANNEL, CHANGED_HOST, HOSTS
from reactor.fleet.debounced_event import DebouncedEvent
from reactor.fleet.host.follow import ChannelFollower
from reactor.fleet.host.look_rate import LookRate
from reactor.fleet.host.ports import Host
from reactor.fleet.host.refusals import Warn
from reactor.fleet.host.reporting import EventSender, Reporter
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.link.connection import Connection
from reactor.fleet.link.errors import LinkError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.summary import Summary
from reactor.fleet.wire.parser import Message


class FleetHost:
    """``host``: its identity, disk and run; ``connection``: its own, which the caller runs.

    ``warn`` gets a sentence about what the servers do not take, what can't be read, and each release that is rejected.
    """

    def __init__(self, connection: Connection, host: Host, warn: Warn = lambda _: None) -> None:
        self.host = host
        self.connection = connection
        answer = host.pace.answer
        self._js = JetStream(connection, seconds=answer, first_wait=answer / 5)
        self.followers = [
            ChannelFollower(self._js, host, channel, self._changed, warn=warn)
            for channel in host.identity.channels
        ]
        self.reporter = Reporter(self._js, host, self.summary, warn)
        self.sender = EventSender(self._js, host, host.events, warn) if host.events is not None else None
        self._warn = warn
        self._unread = ""
        """Why the newest spec could not be read."""
        self._spec_changed = DebouncedEvent(at_once=True)
        self._spec_rate = LookRate(host.pace.burst)
        self._epoch = -1

    def summary(self) -> Summary:
        """The summary of now: the phases of its channels are of the same moment as its counts."""
        for each in self.followers:
            each.refresh()
        return Summary(
            host=self.host.identity.id,
            channels={each.channel: each.report_now() for each in self.followers},
            engine=self.host.engine.report(),
            reactor=self.host.identity.version,
            time=self.host.clock(),
            facts=self.host.engine.declared_facts(),
            seq=self.sender.backlog.newest if self.sender else 0,
            lost=self.sender.backlog.lost if self.sender else 0,
            twin=self.reporter.has_twin,
            certificate=self.connection.status.certificate_problem(self.host.clock()),
        )

    def engine_changed(self) -> None:
        """The run has converged, failed, or begun to move."""
        for each in self.followers:
            each.refresh()
        self.reporter.trigger.set()
        if self.sender is not None:
            self.sender.trigger.set()

    async def run(self) -> None:
        """Follow and report until cancelled. No failure of the network ends this."""
        with ExitStack() as stack:
            for follower in self.followers:
                subject = CHANGED_CHANNEL + follower.channel
                stack.enter_context(self.connection.subscribed(subject, partial(_hint, follower)))
            subject = CHANGED_HOST + self.host.identity.id
            stack.enter_context(self.connection.subscribed(subject, lambda _: self._spec_changed.set()))
            stack.enter_context(self.connection.watched(self._connected))
            async with trio.open_nursery() as nursery:
                if self.sender is not None:
                    nursery.start_soon(self.sender.run)
                await self.connection.wait_up()
                nursery.start_soon(self._follow_spec)
                for follower in self.followers:
                    nursery.start_soon(follower.run)
                nursery.start_soon(self.reporter.run)

    async def _follow_spec(self) -> None:
        """Read the spec of this host, and let the channel followers read again."""
        pace = self.host.pace
        retry = pace.first_retry
        while True:
            await self._spec_rate.turn()
            try:
                entry = await self._js.key_value(HOSTS).last(self.host.identity.id)
            except LinkError:
                await self._spec_changed.wait(retry)
                retry = min(retry * 2, pace.longest_retry)
                continue
            retry = pace.first_retry
            if entry is not None and not entry.deleted:
                self._take_spec(entry.value)
            await self._spec_changed.wait(pace.look)

    def _take_spec(self, data: bytes) -> None:
        try:
            spec = HostSpec.from_bytes(data, self.host.identity.id)
        except ReactorError as error:  # it changes nothing: the one before holds
            if error.message != self._unread:
                self._unread = error.message
                advice = f": {error.hint}" if error.hint else ""
                self._warn(f"a hold or pin of this host may be missed: {error.message}{advice}")
            return
        self._unread = ""
        for follower in self.followers:
            if follower.spec != spec:
                follower.spec = spec
                follower.trigger.set()

    def _connected(self, _: object) -> None:
        """After each connection, read everything again: hints may have been missed."""
        if self.connection.up and self.connection.epoch != self._epoch:
            self._epoch = self.connection.epoch
            self._spec_changed.set()
            self.reporter.reconnected.set()
            if self.sender is not None:
                self.sender.reconnected.set()
            for follower in self.followers:
                follower.trigger.set()

    def _changed(self) -> None:
        self.reporter.trigger.set()


def _hint(follower: ChannelFollower, message: Message) -> None:
    sequence = message.headers.get("Nats-Sequence", "")
    follower.hint(int(sequence) if sequence.isascii() and sequence.isdigit() else 0)
