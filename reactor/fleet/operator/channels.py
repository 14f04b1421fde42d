"""The states of channels, read and changed by compare-and-set."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reactor.fleet.bucket_names import CHANNELS
from reactor.fleet.documents import NAMES, is_channel_name
from reactor.fleet.link.errors import WrongRevisionError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.operator.clock import ServerClock
from reactor.fleet.rollout.commands import Author, NewRelease, RolloutError, begin, no_release
from reactor.fleet.rollout.gate import Gate
from reactor.fleet.rollout.state import ChannelState

_ATTEMPTS = 5


class Channels:
    """The channels of a fleet. The methods raise LinkError, and DocumentError for a damaged state."""

    def __init__(self, js: JetStream) -> None:
        self.clock = ServerClock(js)
        self._kv = js.key_value(CHANNELS)

    async def names(self) -> list[str]:
        """The channels that have a release."""
        return sorted(await self._kv.keys())

    async def read(self, channel: str) -> tuple[ChannelState | None, int]:
        """The state of a channel and its revision; None before the first release. Raises RolloutError for what is no name."""
        if not is_channel_name(channel):
            raise RolloutError(f"{channel!r} is not the name of a channel", NAMES)
        entry = await self._kv.last(channel)
        if entry is None:
            return None, 0
        return (None if entry.deleted else ChannelState.from_bytes(entry.value, channel)), entry.revision

    async def write(self, state: ChannelState, revision: int) -> int:
        """Write a state if ``revision`` is still the current one; return the new revision.

        Raises WrongRevisionError.
        """
        return await self._kv.update(state.channel, state.to_bytes(), revision)

    async def act(
        self, channel: str, act: Callable[[ChannelState, Author], ChannelState], by: str, why: str = ""
    ) -> ChannelState:
        """Apply the act of a person to the newest state; return the new state.

        Raises RolloutError if the act is refused.

        If a driver writes first, the act is applied again to the state that it wrote.
        """

        def decide(before: ChannelState | None, author: Author) -> ChannelState:
            if before is None:
                raise no_release(channel)
            return act(before, author)

        return await self._decided(channel, decide, by, why)

    async def begin(
        self,
        release: NewRelease,
        waves: Sequence[int],
        gate: Gate,
        by: str,
        why: str = "",
        *,
        splay: float = 0.0,
    ) -> ChannelState:
        """Begin the rollout of a published release. ``splay``: see `ChannelState`. Raises RolloutError."""

        def decide(before: ChannelState | None, author: Author) -> ChannelState:
            return begin(before, release, waves, gate, author, splay=splay)

        return await self._decided(release.channel, decide, by, why)

    async def _decided(
        self, channel: str, decide: Callable[[ChannelState | None, Author], ChannelState], by: str, why: str
    ) -> ChannelState:
        for _ in range(_ATTEMPTS):
            before, revision = await self.read(channel)
            new = decide(before, Author(by, await self.clock.now(), why))
            try:
                await self.write(new, revision)
            except WrongRevisionError:
                continue
            return new
        raise RolloutError(f"others change the channel {channel} all the time", "try again")
