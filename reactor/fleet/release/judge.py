"""Decides whether this host may take a release now."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum

from reactor.errors import ReactorError
from reactor.fleet.documents import to_time_text
from reactor.fleet.release.document import Release
from reactor.fleet.rollout.state import ChannelState


class ReleaseRefusedError(ReactorError):
    """A signed release is refused on this host. The release in force stays."""

    code = "R1007"


class Answer(StrEnum):
    """The decision about a release that is not refused."""

    TAKE = "take"
    WAIT = "wait"
    EXCLUDED = "excluded"


@dataclass(frozen=True)
class Judgement:
    """The answer, and a sentence for people, which may be empty."""

    answer: Answer
    why: str = ""


@dataclass(frozen=True)
class Circumstances:
    """The state of the host: its channels, the highest floor it has accepted, the release in force, the time.

    ``is_target`` evaluates an expression with the facts of this host; it raises ReactorError if that fails.
    """

    channels: Collection[str]
    floor: int
    in_force: str | None
    now: float
    is_target: Callable[[str], bool]


def judge(release: Release, here: Circumstances) -> Judgement:
    """Decide about a release whose signatures are good. Raises ReleaseRefusedError.

    A clock that is before the time at which the release was made is not set yet. Then no release is too old, and
    only one that was made for later has to wait.
    """
    name = f"release {release.serial} of {release.channel}"
    if release.channel not in here.channels:
        raise ReleaseRefusedError(f"{name}: this host does not follow that channel")
    if release.serial < here.floor:
        raise ReleaseRefusedError(f"{name} is below the floor {here.floor}, which a later release has set")
    if release.targets and not here.is_target(release.targets):
        return Judgement(Answer.EXCLUDED, f"{name} is for hosts with {release.targets}")
    if is_clock_unset(release, here.now):
        if release.not_before is not None and release.not_before > release.created:
            return Judgement(Answer.WAIT, f"{name} waits until the clock of this host is set")
        return Judgement(Answer.TAKE, "the clock of this host is not set, so its times are not judged")
    if release.not_before is not None and here.now < release.not_before:
        return Judgement(Answer.WAIT, f"{name} may be taken from {to_time_text(release.not_before)}")
    if is_expired(release, here.now) and release.digest != here.in_force:
        raise ReleaseRefusedError(f"{name} has expired at {to_time_text(release.expires or 0.0)}")
    return Judgement(Answer.TAKE)


def is_clock_unset(release: Release, now: float) -> bool:
    """Whether the host's clock is before the release was made, so that it can't be right."""
    return now < release.created


def is_expired(release: Release, now: float) -> bool:
    """Whether the release has expired at ``now``: a host keeps it, but no longer takes it."""
    return release.expires is not None and now >= release.expires and not is_clock_unset(release, now)


def require_signed_neighbours(state: ChannelState, release: Release) -> None:
    """Refuse a state of a channel that moves hosts elsewhere than the signed release does.

    A writer of the state could name an old release as the one to return to. So only the release that the signers
    named is accepted. Raises ReleaseRefusedError.
    """
    announced = (state.channel, state.serial, state.previous)
    signed = (release.channel, release.serial, release.previous)
    if announced != signed:
        words = f"the channel {state.channel} says otherwise than its release {release.serial}: "
        names = ("channel", "serial", "previous")
        wrong = next(name for name, one, other in zip(names, announced, signed, strict=True) if one != other)
        raise ReleaseRefusedError(words + f"the field {wrong!r} is not as it was signed")
