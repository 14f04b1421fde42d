"""The release that a host should have. The host itself decides, from documents that it has verified."""

from __future__ import annotations

from dataclasses import dataclass

from reactor.fleet.rollout.state import ChannelState, Phase
from reactor.fleet.rollout.windows import Window, is_open


@dataclass(frozen=True)
class HostOverride:
    """The pin and the hold of one host. Times in seconds since 1970; None is without end."""

    pin: str | None = None
    pin_until: float | None = None
    hold: bool = False
    hold_until: float | None = None
    why: str = ""

    def pinned(self, now: float) -> str | None:
        """The release that the host is pinned to at ``now``."""
        return self.pin if self.pin_until is None or now < self.pin_until else None

    def is_held(self, now: float) -> bool:
        """Whether the host keeps its release at ``now``."""
        return self.hold and (self.hold_until is None or now < self.hold_until)

    def ends(self, now: float) -> float | None:
        """When the first of the hold and the pin that are in force at ``now`` ends; None if none does."""
        ends = [self.hold_until] if self.is_held(now) else []
        ends += [self.pin_until] if self.pinned(now) else []
        return min((each for each in ends if each is not None), default=None)


@dataclass(frozen=True)
class DesiredRelease:
    """The release that the host should have or None, and the reason, for people.

    ``waits``: the host must wait with it. ``is_held``: the channel is ignored now.
    """

    release: str | None
    why: str
    waits: bool = False
    is_held: bool = False


def desired_release(
    state: ChannelState,
    *,
    rank: int,
    in_force: str | None,
    now: float,
    override: HostOverride | None,
    windows: tuple[Window, ...] = (),
) -> DesiredRelease:
    """Decide which release the host with ``rank`` should have, while ``in_force`` is what it has.

    A hold goes before a pin, and a pin before the channel. Outside its maintenance ``windows`` a host waits with a new
    release; it does not wait with its first one, nor with going back in a revert.
    """
    override = override or HostOverride()
    is_taken_back = state.phase in (Phase.REVERTING, Phase.REVERTED)
    if override.is_held(now) and in_force is not None:
        return DesiredRelease(in_force, override.why or "the host is held at its release", is_held=True)
    if pin := override.pinned(now):
        found = DesiredRelease(pin, override.why or "the host is pinned to this release", is_held=True)
    elif rank < state.wave:
        found = DesiredRelease(state.release, f"rank {rank} is in the wave of {state.wave / 100:g} %")
    elif is_taken_back:
        found = DesiredRelease(state.previous, f"release {state.serial} was taken back")
    else:
        found = DesiredRelease(
            state.previous, f"rank {rank} is not in the wave of {state.wave / 100:g} % yet"
        )
    reverts = is_taken_back and in_force == state.release and not found.is_held
    if found.release in (in_force, None) or in_force is None or reverts or is_open(windows, now):
        return found
    return DesiredRelease(
        found.release, "the host waits for its maintenance window", waits=True, is_held=found.is_held
    )
