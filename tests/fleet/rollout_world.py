"""A world of hosts, drivers and people around one channel, with an oracle that shares no code with the rollout.

Everything may go wrong: hosts fail, refuse, fall silent and read old replicas; drivers decide on old states, lose their
lease or are two; people act at any moment. After each step `World.check` holds the named invariants.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from dataclasses import dataclass, replace

from reactor.fleet.rollout import commands
from reactor.fleet.rollout.desired_release import HostOverride, desired_release
from reactor.fleet.rollout.gate import Gate, Share
from reactor.fleet.rollout.hosts import HostPhase, HostView
from reactor.fleet.rollout.rank import rank_of
from reactor.fleet.rollout.state import ChannelState, Phase
from reactor.fleet.rollout.step import next_step

CHANNEL = "web"
BAD = ("failed", "rejected")
OUTSIDE = ("excluded", "held")
LEASE = 15.0
WAVES = ((10_000,), (100, 10_000), (1, 1000, 5000, 10_000), (3000, 6000, 10_000))


class BreachError(AssertionError):
    """A named invariant is broken."""


def digest(serial):
    return "sha256-" + hashlib.sha256(str(serial).encode()).hexdigest()


def oracle_rank(serial, host):
    data = f"web\0{serial}\0{host.id}".encode()
    return 0 if host.canary else int(hashlib.sha256(data).hexdigest()[:16], 16) % 10_000


@dataclass
class Host:
    """A host as it really is. ``faulty``: the serials it fails with; ``refuses``: those it rejects."""

    id: str
    canary: bool = False
    reachable: bool = True
    faulty: frozenset = frozenset()
    refuses: frozenset = frozenset()
    excluded: frozenset = frozenset()
    held: bool = False
    in_force: str | None = None
    about: str | None = None
    phase: str = "waiting"
    since: float = 0.0
    seen: int = 0


@dataclass
class Driver:
    """A driver: the revision and the state it has read, and the views it saw then."""

    name: str
    reachable: bool = True
    lease_until: float = 0.0
    revision: int = 0
    state: ChannelState | None = None
    views: tuple = ()
    steps: int = 0


class World:
    """One channel. ``history[r]`` is the state of revision r; only `write` adds to it."""

    def __init__(self, hosts, gate=None, waves=WAVES[2]):
        self.now = 1_700_000_000.0
        self.gate = gate or Gate(soak=60.0)
        self.hosts = [Host(f"h{number}", canary=number == 0) for number in range(hosts)]
        self.drivers = [Driver("ann"), Driver("ben")]
        self.history = [None]
        self.stored = {}
        self.lease = (None, 0.0)
        self.over_at_most = 0
        self.seen = Counter()
        self.begin(waves)

    @property
    def state(self):
        return self.history[-1]

    @property
    def revision(self):
        return len(self.history) - 1

    # What changes the state: compare-and-set only.

    def write(self, new, revision):
        if revision != self.revision:
            return False
        self.history.append(ChannelState.from_bytes(new.to_bytes(), CHANNEL))
        self.over_at_most = max(0, self.over())
        return True

    def author(self):
        return commands.Author("cleo", self.now, "because")

    def begin(self, waves):
        before = self.state
        serial = 1 if before is None else before.serial + 1
        previous = None
        if before is not None:
            previous = {Phase.DONE: before.release}.get(before.phase, before.previous)
        new = commands.NewRelease(CHANNEL, digest(serial), serial, previous)
        self.people(lambda state, author: commands.begin(state, new, waves, self.gate, author))

    def people(self, act):
        """A person acts on the newest state. What is refused changes nothing."""
        before, revision = self.state, self.revision
        try:
            new = act(before, self.author())
        except commands.RolloutError:
            self.seen["refused"] += 1
            self._promise(self.state is before, "a refused act changes nothing")
            return
        self._promise(self.write(new, revision), "the newest revision can be written")

    # Hosts.

    def view(self, host, serial=None):
        return self.stored.get(host.id) or HostView(
            host.id, rank_of(CHANNEL, serial or self.state.serial, host.id)
        )

    def views(self, state):
        return tuple(
            replace(self.view(host), rank=rank_of(CHANNEL, state.serial, host.id, is_canary=host.canary))
            for host in self.hosts
        )

    def read(self, host, behind=0):
        """The host reads the channel, maybe from a replica that is behind, and does what it says."""
        revision = max(1, self.revision - behind)
        if not host.reachable or revision < host.seen:
            return
        state = self.history[revision]
        host.seen = revision
        rank = rank_of(CHANNEL, state.serial, host.id, is_canary=host.canary)
        orders = HostOverride(hold=host.held)
        found = desired_release(state, rank=rank, in_force=host.in_force, now=self.now, override=orders)
        if found.is_held:
            self._become(host, state.release, "held")
        elif found.release is None:
            pass
        elif found.release == state.release and state.serial in host.excluded:
            self._become(host, found.release, "excluded")
        elif found.release == state.release and state.serial in host.refuses:
            self._become(host, found.release, "rejected")
        elif found.release != host.in_force:
            self.take(host, found.release, state)
        elif host.about != found.release or host.phase in ("rejected", *OUTSIDE):
            self._become(host, found.release, "moving")

    def take(self, host, release, state):
        inside = oracle_rank(state.serial, host) < state.wave
        allowed = state.release if inside else state.previous
        self._promise(release == allowed, "no host outside the wave takes a release")
        host.in_force = release
        self.seen["taken"] += 1
        self._become(host, release, "moving")

    def _become(self, host, about, phase):
        if (host.about, host.phase) != (about, phase):
            host.about, host.phase, host.since = about, phase, self.now

    def settle(self, host):
        """What the host does ends: well or not."""
        if host.phase in ("moving", "failed", "converged"):
            bad = any(host.in_force == digest(serial) for serial in host.faulty)
            self._become(host, host.about, "failed" if bad else "converged")

    def report(self, host):
        """The newest summary reaches the server."""
        if host.reachable:
            self.stored[host.id] = HostView(
                host.id, 0, self.now, host.in_force, host.about, HostPhase(host.phase), host.since
            )
            self.over_at_most += 1

    # Drivers.

    def driver_reads(self, driver):
        if driver.reachable:
            driver.revision, driver.state = self.revision, self.state
            driver.views = self.views(self.state)

    def lead(self, driver):
        """Take or renew the lease, if it is free."""
        holder, until = self.lease
        if driver.reachable and (holder in (None, driver.name) or until <= self.now):
            self.lease = (driver.name, self.now + LEASE)
            driver.lease_until = self.now + LEASE

    def drive(self, driver, *, fresh):
        """One step, on what was read before or now. A driver that lost its lease does not know it at once."""
        if fresh:
            self.driver_reads(driver)
        if not driver.reachable or driver.state is None or driver.lease_until <= self.now - LEASE:
            return
        step = next_step(driver.state, driver.views, self.now, driver.name)
        current = driver.revision == self.revision
        self._judge(driver, step, fresh=fresh)
        if step.state is None:
            return
        before = self.state
        written = self.write(step.state, driver.revision)
        self._promise(written == current, "a step succeeds exactly on the newest revision")
        if not written:
            self.seen["old"] += 1
            self._promise(self.state is before, "a step on an old revision changes nothing")
        else:
            self.seen[f"{before.phase} to {self.state.phase}"] += 1

    def _judge(self, driver, step, *, fresh):
        state = driver.state
        if state.phase is not Phase.ROLLING:
            self._promise(
                step.state is None or (state.phase, step.state.phase) == (Phase.REVERTING, Phase.REVERTED),
                "a stopped rollout stays as people left it",
            )
            return
        over = self.over(state, driver.views)
        halts = step.state is not None and step.state.phase in (Phase.HALTED, Phase.REVERTING)
        self._promise(halts == (over > 0), "a rollout halts exactly above the limit")
        if step.state is not None and not halts:
            self._promise(step.state.phase is Phase.DONE or step.state.wave > state.wave, "a wave only grows")
            self._promise(self.is_open(state, driver.views), "no wave begins below the gate")
        if fresh and halts:
            self._promise(over <= self.over_at_most, "every halt is within one summary of the limit")
        elif fresh:
            self.over_at_most = 0

    # The oracle.

    def over(self, state=None, views=None):
        """By how many failures the wave is above its limit; negative or 0 below."""
        state = state or self.state
        views = self.views(state) if views is None else views
        hosts = failed = 0
        for host, view in zip(self.hosts, views, strict=True):
            about = view.about == state.release
            if oracle_rank(state.serial, host) >= state.wave or (about and view.phase in OUTSIDE):
                continue
            hosts += 1
            failed += about and view.phase in BAD
        return failed - tolerated(state.gate.max_failed.text, hosts)

    def is_open(self, state, views):
        hosts = good = silent = 0
        newest = state.since
        for host, view in zip(self.hosts, views, strict=True):
            about = view.about == state.release
            if oracle_rank(state.serial, host) >= state.wave or (about and view.phase in OUTSIDE):
                continue
            hosts += 1
            if about and view.phase in BAD:
                continue
            if view.heard is None or view.heard < state.since:
                silent += 1
            elif about and view.phase == "converged":
                good += 1
                newest = max(newest, view.since)
        enough = good >= math.ceil((hosts - silent) * 0.95 - 1e-9)
        return enough and silent <= tolerated("5%", hosts) and self.now >= newest + state.gate.soak

    def check(self):
        """What must hold after every step."""
        state = self.state
        for host in self.hosts:
            if host.seen != self.revision or host.held or host.phase in ("rejected", "excluded", "held"):
                continue
            inside = oracle_rank(state.serial, host) < state.wave
            allowed = state.release if inside else state.previous
            if allowed is not None:
                self._promise(host.in_force == allowed, "a host that read the channel has what its wave says")

    def finish(self):
        """Let all be well, and see it end: everything is reachable, nothing fails, and people let it go on."""
        for host in self.hosts:
            host.reachable, host.faulty, host.refuses, host.held = True, frozenset(), frozenset(), False
        driver = self.drivers[0]
        driver.reachable = True
        for _ in range(3 * len(self.state.waves) + 8):
            for host in self.hosts:
                self.read(host)
                self.settle(host)
                self.report(host)
            self.check()
            if self.state.phase in (Phase.DONE, Phase.REVERTED):
                break
            if self.state.phase in (Phase.PAUSED, Phase.HALTED):
                self.people(commands.resume)
            if any(wave > self.state.wave for wave in self.state.gate.approve):
                self.people(commands.approve)
            self.now += self.gate.soak + LEASE + 1
            self.lead(driver)
            self.drive(driver, fresh=True)
        self._promise(self.state.phase in (Phase.DONE, Phase.REVERTED), "with all well it ends")
        for host in self.hosts:
            self.read(host)
        done = self.state.phase is Phase.DONE
        should = self.state.release if done else self.state.previous
        words = (
            "at the end every host has the release"
            if done
            else "after rollback every reachable host has previous"
        )
        for host in self.hosts:
            if should is not None and not (done and self.state.serial in host.excluded):
                self._promise(host.in_force == should, words)

    def _promise(self, kept, words):
        if not kept:
            raise BreachError(f"{words}: {self.state}")


def tolerated(text, hosts):
    if not text.endswith("%"):
        return int(text)
    found = int(float(text[:-1]) * hosts / 100 + 1e-9)
    return max(found, 1) if hosts > 50 and text != "0%" else found


def gates(pick):
    """A gate, by a function that picks one of a sequence."""
    return Gate(
        soak=pick((0.0, 60.0, 300.0)),
        max_failed=Share(pick(("0%", "2%", "10%", "1"))),
        approve=pick(((), (), (5000,), (10_000,))),
        on_halt=pick(("by-size", "revert", "stay")),
    )


COMMANDS = (
    commands.pause,
    commands.resume,
    commands.halt,
    commands.rollback,
    commands.advance,
    commands.approve,
)


def step(world, pick):
    """One random step. ``pick`` picks one of a sequence."""
    pick(STEPS)(world, pick(world.hosts), pick)
    world.check()


def _read(world, host, pick):
    world.read(host, behind=pick((0, 0, 0, 1, 3)))


def _settle(world, host, _):
    world.settle(host)


def _report(world, host, pick):
    world.report(host)
    if pick((True, False)):
        world.drive(pick(world.drivers), fresh=True)


def _drive(world, _, pick):
    driver = pick(world.drivers)
    world.lead(driver)
    world.drive(driver, fresh=pick((True, True, False)))


def _tick(world, _, pick):
    world.now += pick((0.1, 5.0, 61.0, 400.0))


def _cut(world, host, pick):
    who = pick((host, *world.drivers))
    who.reachable = pick((True, True, False))


def _act(world, _, pick):
    world.people(pick(COMMANDS))


def _begin(world, _, pick):
    world.begin(pick(WAVES))


def _hold(_, host, pick):
    host.held = pick((True, False, False))


def _fault(world, host, pick):
    name = pick(("faulty", "faulty", "faulty", "refuses", "excluded"))
    serials = (world.state.serial, world.state.serial + 1)
    setattr(host, name, frozenset(pick(((), serials[:1], serials, serials))))


def _round(world, _, pick):
    """Every host does what it should, so that a rollout goes on."""
    for host in world.hosts:
        world.read(host)
        world.settle(host)
        world.report(host)
    world.now += pick((1.0, 61.0, 301.0))


STEPS = [
    *[_read] * 5,
    *[_settle] * 4,
    *[_report] * 4,
    *[_drive] * 4,
    *[_tick] * 2,
    *[_fault] * 3,
    _cut,
    _act,
    _begin,
    _hold,
    _round,
]
