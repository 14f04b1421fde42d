"""The commands of operators for a rollout. Each function returns the new state, or raises RolloutError with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reactor.errors import ReactorError
from reactor.fleet.rollout.gate import Gate
from reactor.fleet.rollout.state import ChannelState, Phase
from reactor.fleet.rollout.waves import next_wave


class RolloutError(ReactorError):
    """A rollout can't be changed in this way now."""

    code = "R1003"


@dataclass(frozen=True)
class Author:
    """The operator, the time on the server's clock, and the reason."""

    by: str
    now: float
    why: str = ""


@dataclass(frozen=True)
class NewRelease:
    """The fields of a signed release that a rollout uses."""

    channel: str
    digest: str
    serial: int
    previous: str | None


def no_release(channel: str) -> RolloutError:
    """The error of a command for a channel that has no release."""
    return RolloutError(f"the channel {channel} has no release", "begin one: reactor fleet release")


def begin(
    before: ChannelState | None,
    release: NewRelease,
    waves: Sequence[int],
    gate: Gate,
    author: Author,
    *,
    splay: float = 0.0,
) -> ChannelState:
    """Begin the rollout of a release. The one before it must have ended, or have been stopped. ``splay``: see `ChannelState`."""
    if before is not None:
        _require_successor(before, release)
    elif release.previous is not None:
        raise RolloutError(
            f"the channel {release.channel} has no release yet, but this release names a previous one"
        )
    return ChannelState(
        channel=release.channel,
        release=release.digest,
        serial=release.serial,
        previous=release.previous,
        wave=waves[0],
        waves=tuple(waves),
        phase=Phase.ROLLING,
        gate=gate,
        since=author.now,
        by=author.by,
        why=author.why or f"release {release.serial} begins",
        splay=splay,
    )


def _require_successor(before: ChannelState, release: NewRelease) -> None:
    if before.phase in (Phase.ROLLING, Phase.REVERTING):
        hint = f"reactor fleet pause {before.channel}, or wait until it ends"
        raise RolloutError(f"release {before.serial} of {before.channel} is still {before.phase}", hint)
    if release.serial <= before.serial:
        hint = f"sign it again as {before.serial + 1}"
        raise RolloutError(f"release {release.serial} is not after {before.serial}, which is there", hint)
    if release.previous not in _neighbours(before):
        there = " or ".join(each[:19] for each in _neighbours(before) if each)
        raise RolloutError(
            f"release {release.serial} names another previous release than the one in force", f"name {there}"
        )


def _neighbours(before: ChannelState) -> tuple[str | None, ...]:
    """The releases that hosts may have now. A new release may name any of them as the previous one."""
    if before.phase is Phase.DONE:
        return (before.release,)
    if before.phase is Phase.REVERTED:
        return (before.previous,)
    return (before.previous, before.release)


def pause(state: ChannelState, author: Author) -> ChannelState:
    """Stop before the next wave. Hosts in the wave go on."""
    _require(state, "paused", Phase.ROLLING)
    return _changed(state, author, phase=Phase.PAUSED)


def resume(state: ChannelState, author: Author) -> ChannelState:
    """Go on with the same wave, which soaks again."""
    _require(state, "resumed", Phase.PAUSED, Phase.HALTED)
    return _changed(state, author, phase=Phase.ROLLING)


def halt(state: ChannelState, author: Author) -> ChannelState:
    """Stop, as if too many hosts had failed. Hosts keep their releases."""
    _require(state, "halted", Phase.ROLLING, Phase.PAUSED, Phase.REVERTING)
    return _changed(state, author, phase=Phase.HALTED)


def rollback(state: ChannelState, author: Author) -> ChannelState:
    """Let every host return to the previous release."""
    _require(state, "rolled back", Phase.ROLLING, Phase.PAUSED, Phase.HALTED, Phase.DONE)
    if state.previous is None:
        raise RolloutError(
            f"release {state.serial} is the first of {state.channel}: there is no previous release"
        )
    return _changed(state, author, phase=Phase.REVERTING, wave=0)


def advance(state: ChannelState, author: Author) -> ChannelState:
    """Begin the next wave now, whatever its gate requires."""
    _require(state, "advanced", Phase.ROLLING)
    wave = next_wave(state.waves, state.wave)
    if wave is None:
        raise RolloutError(f"release {state.serial} of {state.channel} is in its last wave already")
    return _changed(state, author, wave=wave)


def approve(state: ChannelState, author: Author) -> ChannelState:
    """Let the next wave that needs approval begin when its gate is open."""
    _require(state, "approved", Phase.ROLLING, Phase.PAUSED)
    wave = next((each for each in sorted(state.gate.approve) if each > state.wave), None)
    if wave is None:
        raise RolloutError(f"no wave of release {state.serial} of {state.channel} needs approval")
    left = tuple(each for each in state.gate.approve if each != wave)
    return replace(state, gate=replace(state.gate, approve=left), by=author.by, why=author.why)


def _changed(state: ChannelState, author: Author, **changes: object) -> ChannelState:
    fields = {"since": author.now, "by": author.by, "why": author.why, **changes}
    return replace(state, **fields)  # type: ignore[arg-type]


def _require(state: ChannelState, word: str, *phases: Phase) -> None:
    if state.phase not in phases:
        again = f"begin it once more: reactor fleet release {state.channel} --again {state.serial}"
        raise RolloutError(
            f"release {state.serial} of {state.channel} is {state.phase}, so it can't be {word}",
            again if state.phase is Phase.REVERTED else f"see reactor fleet rollout {state.channel}",
        )
