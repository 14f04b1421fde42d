"""From a directory to a rollout: the next release of a channel, signed, stored and begun."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from reactor.fleet.bucket_names import BUNDLES
from reactor.fleet.bundle.pack import Bundle
from reactor.fleet.link.errors import MissingError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.operator.channels import Channels
from reactor.fleet.operator.stored_releases import publish_bundle, publish_release, published_release
from reactor.fleet.operator.views import read_host_specs, read_summaries
from reactor.fleet.release.document import Release, require_consistent
from reactor.fleet.rollout.commands import NewRelease, RolloutError
from reactor.fleet.rollout.gate import Gate
from reactor.fleet.rollout.rank import rank_of
from reactor.fleet.rollout.state import ChannelState, Phase
from reactor.fleet.rollout.waves import DEFAULT, parse_waves


@dataclass(frozen=True)
class ReleaseOptions:
    """The options of a new release. Times are in seconds since 1970.

    ``waves``: as text; ``serial``: None for the number after the last one; ``splay``: the seconds over which the hosts
    of a wave spread their downloads.
    """

    channel: str
    by: str
    waves: str = DEFAULT
    gate: Gate = field(default_factory=Gate)
    note: str = ""
    targets: str = ""
    serial: int | None = None
    not_before: float | None = None
    expires: float | None = None
    splay: float = 0.0


async def next_release(js: JetStream, options: ReleaseOptions, bundle: Bundle) -> Release:
    """Return the release that would follow now, unsigned. Raises RolloutError, ReleaseError, LinkError.

    Its floor is the previous release: a rollback stays possible, and no way back to an older one that was signed once.
    """
    channels = Channels(js)
    state, _ = await channels.read(options.channel)
    if state is None and options.serial is None:
        await _require_new_channel(js, options.channel)
    previous = _in_force(state)
    before = await published_release(js, previous) if previous else None
    if previous and before is None:
        raise RolloutError(
            f"the release in force in {options.channel}, {previous[:19]}, is not stored any more"
        )
    release = Release(
        channel=options.channel,
        serial=options.serial or (state.serial + 1 if state else 1),
        bundle=bundle.digest,
        size=len(bundle.data),
        previous=previous,
        created=float(int(await channels.clock.now())),
        floor=before[0].serial if before else 1,
        targets=options.targets,
        not_before=options.not_before,
        expires=options.expires,
        note=options.note,
        by=options.by,
    )
    require_consistent(release, before[0] if before else None)
    return release


async def _require_new_channel(js: JetStream, channel: str) -> None:
    """Raise RolloutError if hosts have releases of a channel that the servers do not know: they refuse lower serials."""
    reports = [summary.channels.get(channel) for summary, _ in (await read_summaries(js)).values()]
    if highest := max((report.serial for report in reports if report is not None), default=0):
        raise RolloutError(
            f"hosts have release {highest} of {channel}, and the servers know none: they may have lost their data",
            f"begin above it: --serial {highest + 1}",
        )


async def waves_of(
    js: JetStream, options: ReleaseOptions, serial: int
) -> tuple[tuple[int, ...], dict[str, int]]:
    """Return the waves as ranks, and the rank of each host that follows the channel. Raises WavesError, LinkError."""
    specs = await read_host_specs(js)
    ranks = {
        name: rank_of(options.channel, serial, name, is_canary=each.is_canary)
        for name, each in specs.items()
        if options.channel in each.channels
    }
    return parse_waves(options.waves, ranks.values()), ranks


async def begin_release(
    js: JetStream, options: ReleaseOptions, bundle: Bundle, sign: Callable[[bytes], bytes]
) -> tuple[Release, ChannelState]:
    """Sign, store and begin the next release. Raises RolloutError, ReleaseError, SignatureError, LinkError."""
    release = await store_release(js, options, bundle, sign)
    return await begin_stored(js, options, release)


async def store_release(
    js: JetStream, options: ReleaseOptions, bundle: Bundle, sign: Callable[[bytes], bytes]
) -> Release:
    """Sign and store the next release without beginning it, so that others can sign it too.

    Raises as `begin_release`.
    """
    release = await next_release(js, options, bundle)
    await waves_of(js, options, release.serial)
    signatures = sign(release.to_bytes())
    await publish_bundle(js, bundle)
    await publish_release(js, release, signatures)
    return release


async def stored_bundle(js: JetStream, release: Release) -> Bundle:
    """Return the bundle of a stored release. Raises RolloutError if it was removed, LinkError."""
    try:
        data = await js.objects(BUNDLES).read(release.bundle, largest=release.size)
    except MissingError as error:
        raise RolloutError(
            f"the bundle of release {release.serial} of {release.channel} is not stored any more"
        ) from error
    return Bundle(data, release.bundle, 0)


async def begin_stored(
    js: JetStream, options: ReleaseOptions, release: Release
) -> tuple[Release, ChannelState]:
    """Begin a release that is stored and signed. Raises RolloutError, LinkError."""
    waves, _ = await waves_of(js, options, release.serial)
    new = NewRelease(options.channel, release.digest, release.serial, release.previous)
    begun = await Channels(js).begin(new, waves, options.gate, options.by, options.note, splay=options.splay)
    return release, begun


def _in_force(state: ChannelState | None) -> str | None:
    """The digest of the release that the next one follows."""
    if state is None:
        return None
    if state.phase is Phase.DONE:
        return state.release
    return state.previous or state.release
