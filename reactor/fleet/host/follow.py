"""Follows one channel: reads its state, verifies the release, and puts it into force when this host should have it."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from reactor.clock import uptime
from reactor.errors import ReactorError
from reactor.fleet.bucket_names import BUNDLES, CHANNELS
from reactor.fleet.bundle.errors import NotNowError
from reactor.fleet.bundle.store import StoreLockedError
from reactor.fleet.debounced_event import DebouncedEvent
from reactor.fleet.documents import DocumentError
from reactor.fleet.host.fetch import VerifiedRelease, download, read_pin, read_release
from reactor.fleet.host.look_rate import LookRate
from reactor.fleet.host.ports import Host
from reactor.fleet.host.refusals import Refusals, Warn
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.link.errors import LinkError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.release.document import Release
from reactor.fleet.release.judge import Answer, Circumstances, is_expired, judge, require_signed_neighbours
from reactor.fleet.rollout.desired_release import DesiredRelease, HostOverride, desired_release
from reactor.fleet.rollout.hosts import HostPhase
from reactor.fleet.rollout.rank import rank_of
from reactor.fleet.rollout.state import ChannelState
from reactor.fleet.summary import ChannelReport

_LONGEST_LAG = 5.0
"""The longest wait in seconds for a replica that is behind the hint."""
_LASTING = 5.0
"""Seconds of failures to follow the channel after which they are reported."""
_KNOWN = 2
"""Releases that are kept in memory: a state of the channel names two."""
_SOONEST = 1.0
"""The fewest seconds until a hold or pin that ends is looked at again."""
_SOON = 30.0
"""Seconds between two reads while the host waits for a time or a maintenance window."""


class ChannelFollower:
    """Follows one channel.

    ``report`` is the status of the host in this channel, without its time; ``on_change`` is called when it changes.
    ``warn`` gets a sentence about a release that is rejected, and once when the channel can't be followed for some seconds.
    """

    def __init__(
        self,
        js: JetStream,
        host: Host,
        channel: str,
        on_change: Callable[[], None],
        *,
        warn: Warn = lambda _: None,
    ) -> None:
        self.channel = channel
        self.trigger = DebouncedEvent(at_once=True)
        self.spec = HostSpec(host.identity.id)
        store = host.stores[channel]
        self.report = ChannelReport(in_force=store.in_force, serial=store.serial)
        self._since = uptime()
        self._js = js
        self._channels = js.key_value(CHANNELS)
        self._host = host
        self._store = store
        self._on_change = on_change
        self._warn = warn
        self._refusals = Refusals(js, f"the channel {channel} can't be followed", warn, least=_LASTING)
        self._rejected: tuple[str | None, str] | None = None
        """The release that was rejected last, and why."""
        self._hinted = 0
        self._seen = 0
        self._seen_time = 0.0
        self._known: deque[VerifiedRelease] = deque(maxlen=_KNOWN)
        self._rate = LookRate(host.pace.burst)
        self._kept_until: float | None = None
        """When the hold or the pin ends that keeps the host now."""
        self._turn: tuple[str, float] | None = None
        """The bundle that is downloaded later, and when, by `uptime`."""
        self._judged = ""
        """What the last judgement said about the release in force."""

    def hint(self, revision: int) -> None:
        """A hint: the channel has at least this revision now."""
        self._hinted = max(self._hinted, revision)
        self.trigger.set()

    async def run(self) -> None:
        """Read the channel at each hint, until cancelled. Failures of the network are reported, and retried."""
        pace = self._host.pace
        retry = pace.first_retry
        while True:
            longest = min(_LONGEST_LAG, pace.longest_retry)
            await self._rate.turn()
            try:
                done = await self._look()
            except (LinkError, StoreLockedError, NotNowError, OSError) as error:
                self._update_report(why=str(error))
                self._refusals.add(error)
                done, longest = False, pace.longest_retry
            else:
                self._refusals.end()
                if retry >= longest:
                    self._hinted = 0  # it was forged, or what it told of is lost
            await self.trigger.wait(self._next_look() if done else retry)
            retry = pace.first_retry if done else min(retry * 2, longest)

    def _next_look(self) -> float:
        """Seconds until the channel is read again although no hint came: a time may have come by then."""
        longest = self._host.pace.look
        if self.report.phase is HostPhase.WAITING and self.report.about is not None:
            longest = min(_SOON, longest)
        if self._kept_until is not None:
            longest = min(longest, max(_SOONEST, self._kept_until - self._host.clock()))
        if self._turn is not None and self.report.phase is HostPhase.FETCHING:
            longest = min(longest, max(_SOONEST, self._turn[1] - uptime()))
        return longest

    async def _look(self) -> bool:
        """Read the channel, and do what it says. Return False if a replica is behind what was seen or hinted.

        A hint holds nothing back: any host can forge one, as the answer to a request of its own.
        """
        entry = await self._channels.last(self.channel)
        if entry is None or entry.deleted:
            return not self._hinted
        if entry.revision < self._seen and entry.time <= self._seen_time:
            return False  # not a bucket made again, which counts from 1
        is_new = entry.revision != self._seen
        self._seen, self._seen_time = entry.revision, entry.time
        about, has_fetched = self.report.about, False
        try:
            state = ChannelState.from_bytes(entry.value, self.channel)
            about = state.release
            has_fetched = await self._follow(state)
        except (LinkError, StoreLockedError, NotNowError):
            raise
        except DocumentError as error:
            self._reject(about, f"{error.message}: {error.hint}" if error.hint else error.message)
        except ReactorError as error:
            self._reject(about, error.message)
        if is_new:
            self._on_change()  # the gate counts who has reported since
        if has_fetched:
            return await self._look()  # the release may have been taken back, or the host held, meanwhile
        return entry.revision >= self._hinted

    def _reject(self, about: str | None, why: str) -> None:
        self._update_report(HostPhase.REJECTED, about, why=why)
        if (about, why) != self._rejected:
            self._rejected = about, why
            self._warn(f"{self.channel}: release {about or 'unknown'} is rejected: {why}")

    async def _follow(self, state: ChannelState) -> bool:
        """Do what the state of the channel says. Return True if a bundle was fetched for it, and is not in force yet."""
        offered = await self._read_release(state.release)
        require_signed_neighbours(state, offered.release)
        identity = self._host.identity
        rank = rank_of(self.channel, state.serial, identity.id, is_canary="canary" in identity.groups)
        self.report = replace(self.report, rank=rank)
        override, now = self._override(), self._host.clock()
        self._kept_until = override.ends(now)
        desired = desired_release(
            state,
            rank=rank,
            in_force=self._store.in_force,
            now=now,
            override=override,
            windows=identity.windows,
        )
        if desired.release is None:
            self._update_report(HostPhase.WAITING, why=desired.why)
            return False
        chosen = offered
        if desired.release != state.release:
            chosen = await self._read_release(desired.release)
        return await self._take(chosen, desired, state)

    async def _read_release(self, digest: str) -> VerifiedRelease:
        known = self._remembered(digest)
        found = await read_release(self._js, self._host, self._store, digest, known)
        if found is not known:
            self._known.appendleft(found)
        return found

    def _remembered(self, digest: str) -> VerifiedRelease | None:
        return next((each for each in self._known if each.digest == digest), None)

    async def _take(self, chosen: VerifiedRelease, desired: DesiredRelease, state: ChannelState) -> bool:
        about = state.release if desired.is_held else chosen.digest
        judgement = judge(chosen.release, self._circumstances())
        if judgement.answer is Answer.EXCLUDED:
            self._update_report(HostPhase.EXCLUDED, about, why=judgement.why)
        elif judgement.answer is Answer.WAIT or desired.waits:
            self._update_report(HostPhase.WAITING, about, why=judgement.why or desired.why)
        else:
            if chosen.digest != self._store.in_force:
                if not self._store.has_bundle(chosen.release):
                    return await self._fetch(chosen, about, state)
                await self._switch(chosen)
            if desired.is_held:
                self._update_report(HostPhase.HELD, about, why=desired.why)
            else:
                self._judged = judgement.why
                self._report_run(about)
        return False

    async def _fetch(self, chosen: VerifiedRelease, about: str, state: ChannelState) -> bool:
        """Download the bundle when it is the turn of this host. Return whether it was."""
        release, has_begun = chosen.release, False
        if splay := state.splay if chosen.digest == state.release else 0.0:  # going back does not wait
            has_begun = (await self._store.arrived()).bundle == release.bundle
        if splay and not has_begun and self._must_wait(release.bundle, splay):
            words = f"downloads at a random time within {splay:g} s"
            self._update_report(HostPhase.FETCHING, about, why=words)
            return False
        self._turn = None
        self._update_report(HostPhase.FETCHING, about)
        await download(self._js.objects(BUNDLES), release, self._store)
        await self._store.receive(release)
        return True

    def _must_wait(self, bundle: str, splay: float) -> bool:
        """Whether the turn of this host is later. It is drawn once for each bundle."""
        if self._turn is None or self._turn[0] != bundle:
            self._turn = bundle, uptime() + random.uniform(0, splay)  # noqa: S311 - no secret
        return uptime() < self._turn[1]

    async def _switch(self, chosen: VerifiedRelease) -> None:
        groups = list(self._host.identity.groups)
        await self._store.switch(chosen.release, chosen.data, chosen.signatures, {"groups": groups})

    def _override(self) -> HostOverride:
        signed = self.spec.pins.get(self.channel)
        pin = read_pin(self._host, self.channel, signed) if signed else None
        return HostOverride(
            pin=pin.pin if pin else None,
            pin_until=pin.until if pin else None,
            hold=self.spec.hold,
            hold_until=self.spec.hold_until,
            why=self.spec.why if self.spec.hold else (pin.why if pin else ""),
        )

    def _circumstances(self) -> Circumstances:
        host = self._host
        return Circumstances(
            channels=host.identity.channels,
            floor=self._store.floor,
            in_force=self._store.in_force,
            now=host.clock(),
            is_target=host.engine.is_target,
        )

    def refresh(self) -> None:
        """The run has changed: say whether the release in force has converged."""
        report = self.report
        if (
            report.about is None
            or report.about != report.in_force
            or report.phase in (HostPhase.HELD, HostPhase.WAITING)
        ):
            return
        if report.phase in (HostPhase.REJECTED, HostPhase.EXCLUDED):
            return
        self._report_run(report.about)

    def report_now(self) -> ChannelReport:
        """The report with its time, on the present clock of the host, which may have been set since."""
        return replace(self.report, since=self._host.clock() - (uptime() - self._since))

    def _report_run(self, about: str) -> None:
        """Report what the run has made of ``about``, which is in force."""
        engine = self._host.engine
        phase = engine.phase_of(about)
        if phase is HostPhase.CONVERGED and self._is_stale(about):
            phase = HostPhase.STALE
        self._update_report(phase, about, why=engine.why_of(about) or self._judged)

    def _is_stale(self, digest: str) -> bool:
        if (known := self._remembered(digest)) is not None:
            return is_expired(known.release, self._host.clock())
        kept = self._store.document(digest)
        try:
            return kept is not None and is_expired(Release.from_bytes(kept[0]), self._host.clock())
        except DocumentError:
            return False

    def _update_report(self, phase: HostPhase | None = None, about: str | None = None, why: str = "") -> None:
        old = self.report
        new = replace(
            old,
            phase=phase or old.phase,
            about=about or old.about,
            in_force=self._store.in_force,
            serial=self._store.serial,
            why=why,
        )
        if (new.phase, new.about) != (old.phase, old.about):
            self._since = uptime()
        self.report = new
        if new != old:
            self._on_change()
