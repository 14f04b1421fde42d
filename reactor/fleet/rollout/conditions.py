"""The conditions of a gate: whether a wave meets them, and each of them with its values for display."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from reactor.fleet.rollout.hosts import HostView
from reactor.fleet.rollout.state import ChannelState
from reactor.fleet.rollout.waves import next_wave
from reactor.fleet.rollout.windows import is_open, next_opening

_EXAMPLES = 3


@dataclass(frozen=True)
class Count:
    """The numbers of hosts in the wave by their state. ``last_converged``: when the last of them converged."""

    hosts: int = 0
    converged: int = 0
    failed: int = 0
    silent: int = 0
    outside: int = 0
    last_converged: float = 0.0
    examples: tuple[str, ...] = ()
    unheard: tuple[str, ...] = ()

    @property
    def moving(self) -> int:
        """The hosts that are neither converged nor failed nor silent."""
        return self.hosts - self.converged - self.failed - self.silent


def count_wave(state: ChannelState, hosts: Iterable[HostView]) -> Count:
    """Count the hosts with a rank below the wave. ``examples``: the first three that failed, and ``unheard``: silent ones.

    A failed host stays failed however long it is silent: silence is no recovery.
    """
    members = [host for host in hosts if host.rank < state.wave]
    inside = [host for host in members if not host.is_outside(state.release)]
    bad = [host for host in inside if host.is_bad(state.release)]
    rest = [host for host in inside if not host.is_bad(state.release)]
    heard = [host for host in rest if not _is_unheard(host, state)]
    good = [host for host in heard if host.is_converged(state.release, state.gate.checks)]
    return Count(
        hosts=len(inside),
        converged=len(good),
        failed=len(bad),
        silent=len(rest) - len(heard),
        outside=len(members) - len(inside),
        last_converged=max((host.since for host in good), default=0.0),
        examples=tuple(host.id for host in bad[:_EXAMPLES]),
        unheard=tuple(islice((host.id for host in rest if _is_unheard(host, state)), _EXAMPLES)),
    )


def _is_unheard(host: HostView, state: ChannelState) -> bool:
    return host.heard is None or host.heard < state.since


def too_many_failed(state: ChannelState, count: Count) -> str | None:
    """Return a sentence if more hosts failed than the gate tolerates, else None."""
    tolerated = state.gate.max_failed.tolerated(count.hosts)
    if count.failed <= tolerated:
        return None
    names = ", ".join(count.examples) + (", ..." if count.failed > len(count.examples) else "")
    return f"{count.failed} of {count.hosts} hosts failed ({names}), and {tolerated} are tolerated"


def unmet_condition(state: ChannelState, count: Count, now: float) -> str | None:
    """Return a sentence on the conditions that the wave lacks; None if its gate is open."""
    gate = state.gate
    if count.silent > (most := gate.max_silent.tolerated(count.hosts)):
        return f"{count.silent} of {count.hosts} hosts have not reported since the wave began, and {most} may be silent"
    heard = count.hosts - count.silent
    if count.converged < (least := gate.min_converged.needed(heard)):
        return f"{count.converged} of {heard} hosts have converged, and {least} must"
    left = max(state.since, count.last_converged) + gate.soak - now
    if left > 0:
        return f"the wave soaks for {math.ceil(left)} s more"
    return None


def next_wave_blocker(state: ChannelState, wave: int, now: float) -> str | None:
    """Return a sentence on why ``wave`` may not begin yet, although the gate before it is open."""
    if wave in state.gate.approve:
        return f"wave {wave / 100:g} % needs approval: reactor fleet approve {state.channel}"
    if not is_open(state.gate.windows, now):
        return f"the next wave waits for the window {state.gate.window}"
    return None


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
    names = ", ".join(count.unheard) + (", ..." if count.silent > len(count.unheard) else "")
    return [
        Condition(
            "max_failed", count.failed <= failed, f"{count.failed} of {count.hosts} failed, {failed} may fail"
        ),
        Condition(
            "max_silent",
            count.silent <= silent,
            f"{count.silent} of {count.hosts} have not reported since the wave began, {silent} may be silent"
            + (f": {names}" if count.silent > silent else ""),
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
        "soak", left <= 0, f"{state.gate.soak:g} s" + (f", {math.ceil(left)} s are left" if left > 0 else "")
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
