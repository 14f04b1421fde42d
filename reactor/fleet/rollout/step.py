"""The next state of a channel, as the driver writes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from reactor.fleet.rollout.conditions import count_wave, next_wave_blocker, too_many_failed, unmet_condition
from reactor.fleet.rollout.hosts import HostPhase, HostView
from reactor.fleet.rollout.rank import RANKS
from reactor.fleet.rollout.state import ChannelState, Phase
from reactor.fleet.rollout.waves import next_wave


@dataclass(frozen=True)
class Step:
    """The state to write, or None to leave it; ``why`` is the reason of the change or of the wait, for people."""

    state: ChannelState | None
    why: str


def next_step(state: ChannelState, hosts: Sequence[HostView], now: float, by: str) -> Step:
    """Decide what to do with a rollout. ``now`` in seconds on the server's clock; ``by``: the name of the driver."""
    if state.phase is Phase.ROLLING:
        return _roll(state, hosts, now, by)
    if state.phase is Phase.REVERTING:
        return _revert(state, hosts, now, by)
    return Step(None, state.why or f"the rollout is {state.phase}")


def _roll(state: ChannelState, hosts: Sequence[HostView], now: float, by: str) -> Step:
    count = count_wave(state, hosts)
    if trouble := too_many_failed(state, count):
        return _written(halted(state, trouble, now, by))
    if missing := unmet_condition(state, count, now):
        return Step(None, missing)
    wave = next_wave(state.waves, state.wave)
    if wave is None:
        words = f"{count.converged} of {count.hosts} hosts have converged"
        return _written(replace(state, phase=Phase.DONE, since=now, by=by, why=words))
    if kept := next_wave_blocker(state, wave, now):
        return Step(None, kept)
    words = f"wave {state.wave / 100:g} % is good: {count.converged} of {count.hosts} hosts have converged"
    return _written(replace(state, wave=wave, since=now, by=by, why=words))


def halted(state: ChannelState, trouble: str, now: float, by: str) -> ChannelState:
    """Return the state after a wave with too many failures: it is reverted, or waits for people to decide."""
    small = state.wave < RANKS // 2
    reverts = state.gate.on_halt == "revert" or (state.gate.on_halt == "by-size" and small)
    if reverts and state.previous is not None:
        return replace(
            state,
            phase=Phase.REVERTING,
            wave=0,
            since=now,
            by=by,
            why=f"{trouble}; hosts go back to the previous release",
        )
    return replace(state, phase=Phase.HALTED, since=now, by=by, why=trouble)


def _revert(state: ChannelState, hosts: Iterable[HostView], now: float, by: str) -> Step:
    """End a revert when no host that has reported since then has the release."""
    known = [host for host in hosts if host.heard is not None]
    left = [host for host in known if _may_have(host, state.release)]
    unheard = [host for host in left if host.heard is not None and host.heard < state.since]
    if len(left) > len(unheard):
        having = "1 host still has" if len(left) == 1 else f"{len(left)} hosts still have"
        return Step(None, f"{having} the release")
    if len(unheard) > state.gate.max_silent.tolerated(len(known)):
        unsaid = "1 host that had" if len(unheard) == 1 else f"{len(unheard)} hosts that had"
        return Step(None, f"{unsaid} the release did not report since the revert began")
    words = state.why or f"no host that has reported since has release {state.serial}"
    return _written(replace(state, phase=Phase.REVERTED, since=now, by=by, why=words))


def _may_have(host: HostView, release: str) -> bool:
    """Whether a host has ``release``, or may be about to take it: one that has refused it does not."""
    is_refused = host.about == release and host.phase is HostPhase.REJECTED and host.in_force != release
    return release in (host.in_force, host.about) and not is_refused and not host.is_outside(release)


def _written(state: ChannelState) -> Step:
    return Step(state, state.why)
