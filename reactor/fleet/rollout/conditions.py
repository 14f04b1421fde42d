"""The conditions of a gate, one by one, as people see them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reactor.fleet.rollout.hosts import HostView
from reactor.fleet.rollout.state import ChannelState
from reactor.fleet.rollout.verdict import Count, count_wave
from reactor.fleet.rollout.waves import next_wave
from reactor.fleet.rollout.windows import next_opening


@dataclass(frozen=True)
class Condition:
    """A setting ``name`` of the gate; whether it is ``met``; and the present and the required value, in ``words``."""

    name: str
    met: bool
    words: str


def conditions_of(state: ChannelState, hosts: Iterable[HostView], now: float) -> tuple[Condition, ...]:
    """Return every condition that the next wave, or the end of the rollout, waits for. ``now`` on the server's clock."""
    members = [host for host in hosts if host.rank < state.wave]
    count = count_wave(state, members)
    found = [*_of_hosts(state, count), _soak(state, count, now)]
    if state.gate.checks:
        found.insert(3, _checks(state, members))
    wave = next_wave(state.waves, state.wave)
    if wave is not None and state.gate.window:
        found.append(_window(state, now))
    if wave is not None and wave in state.gate.approve:
        words = f"wave {wave / 100:g} % waits for: reactor fleet approve {state.channel}"
        found.append(Condition("approve", False, words))
    return tuple(found)


def _of_hosts(state: ChannelState, count: Count) -> list[Condition]:
    gate = state.gate
    failed, silent = gate.max_failed.tolerated(count.hosts), gate.max_silent.tolerated(count.hosts)
    heard = count.hosts - count.silent
    least = gate.min_converged.needed(heard)
    return [
        Condition(
            "max_failed", count.failed <= failed, f"{count.failed} of {count.hosts} failed, {failed} may fail"
        ),
        Condition(
            "max_silent",
            count.silent <= silent,
            f"{count.silent} of {count.hosts} have not reported since the wave began, {silent} may be silent",
        ),
        Condition(
            "min_converged",
            count.converged >= least,
            f"{count.converged} of {heard} have converged, {least} must",
        ),
    ]


def _checks(state: ChannelState, members: Iterable[HostView]) -> Condition:
    names = state.gate.checks
    bad = [
        f"{host.id} {name} {host.checks.get(name, 'not reported')}"
        for host in members
        if host.about == state.release
        for name in names
        if host.checks.get(name) != "ok"
    ]
    more = f", and {len(bad) - 3} more" if len(bad) > 3 else ""  # noqa: PLR2004 - examples
    words = f"{', '.join(names)} must be ok" + (f": {', '.join(bad[:3])}{more}" if bad else "")
    return Condition("checks", not bad, words)


def _soak(state: ChannelState, count: Count, now: float) -> Condition:
    left = max(state.since, count.last_converged) + state.gate.soak - now
    return Condition(
        "soak", left <= 0, f"{state.gate.soak:g} s" + (f", {left:.0f} s are left" if left > 0 else "")
    )


def _window(state: ChannelState, now: float) -> Condition:
    opens = next_opening(state.gate.windows, now)
    words = state.gate.window
    if opens is None:
        words += " never opens"
    elif opens > now:
        words += f", opens in {_in_words(opens - now)}"
    return Condition("window", opens == now, words)


def _in_words(seconds: float) -> str:
    minutes = -int(-seconds // 60)
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if hours else f"{rest} min"
