"""The bundles and releases in the object store: published, found, signed again, and removed when nothing needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from reactor.fleet.bucket_names import BUNDLES, CHANNELS, HOSTS, STATE
from reactor.fleet.bundle.pack import Bundle
from reactor.fleet.documents import MOST_BYTES, DocumentError, is_host_id
from reactor.fleet.host_spec import HostSpec, SignedPin
from reactor.fleet.link.errors import MissingError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.operator.clock import ServerClock
from reactor.fleet.operator.hosts import change_host_spec
from reactor.fleet.operator.views import read_host_specs
from reactor.fleet.release.document import Release
from reactor.fleet.release.pin import Pin
from reactor.fleet.release.sshsig import MOST_BYTES as MOST_SIGNATURE_BYTES
from reactor.fleet.release.sshsig import parse_signatures
from reactor.fleet.rollout.commands import RolloutError
from reactor.fleet.rollout.state import ChannelState
from reactor.fleet.summary import read_summary


async def publish_bundle(js: JetStream, bundle: Bundle) -> bool:
    """Store a bundle; return False if it was stored already. Raises LinkError."""
    objects = js.objects(BUNDLES)
    there = await objects.info(bundle.digest)
    if there is not None and not there.deleted and there.size == len(bundle.data):
        return False
    await objects.put(bundle.digest, bundle.data)
    return True


async def publish_release(js: JetStream, release: Release, signatures: bytes) -> None:
    """Store a release with its signatures.

    The release is written last, so it never appears unsigned. Raises LinkError.
    """
    objects = js.objects(BUNDLES)
    await objects.put(f"{release.digest}.sig", signatures)
    await objects.put(release.digest, release.to_bytes())


async def published_release(js: JetStream, digest: str) -> tuple[Release, bytes] | None:
    """Return a stored release and its signatures, which are not verified. Raises LinkError, DocumentError."""
    objects = js.objects(BUNDLES)
    try:
        data = await objects.read(digest, largest=MOST_BYTES)
        return Release.from_bytes(data), await objects.read(f"{digest}.sig", largest=MOST_SIGNATURE_BYTES)
    except MissingError:
        return None


KEPT = 5
"""The number of releases of each channel that `collect` keeps."""
_YOUNG = 86_400.0
"""Seconds for which `collect` keeps an unused object: its release may be about to begin."""
_SHORTEST = len("sha256-") + 12


async def find_release(js: JetStream, name: str, channel: str | None = None) -> tuple[Release, bytes]:
    """Return a release and its signatures, which are not verified. Raises RolloutError, LinkError, DocumentError.

    ``name``: ``CHANNEL/SERIAL``, the serial alone where ``channel`` is given, or a digest, of which the first 12 digits
    are enough.
    """
    before, slash, serial = name.rpartition("/")
    channel = before if slash else channel
    if serial.isdecimal() and channel:
        digest = (await releases_of(js, channel)).get(int(serial))
    else:
        digest = await _digest_that_begins(js, name)
    found = await published_release(js, digest) if digest else None
    if found is None:
        raise RolloutError(f"there is no release {name}", "name it as CHANNEL/SERIAL, or by its digest")
    return found


async def releases_of(js: JetStream, channel: str) -> dict[int, str]:
    """Return serial -> digest of the releases that a channel had, as far as its history is kept, the oldest first."""
    found: dict[int, str] = {}
    for entry in await js.key_value(CHANNELS).history(channel):
        if not entry.deleted:
            state = ChannelState.from_bytes(entry.value, channel)
            found[state.serial] = state.release
    return dict(sorted(found.items()))


async def _digest_that_begins(js: JetStream, name: str) -> str | None:
    if len(name) < _SHORTEST or not name.startswith("sha256-"):
        return None
    objects = await js.objects(BUNDLES).list()
    signed = {each.name.removesuffix(".sig") for each in objects if each.name.endswith(".sig")}
    found = [each for each in signed if each.startswith(name)]
    return found[0] if len(found) == 1 else None


async def add_signature(js: JetStream, name: str, sign: Callable[[bytes], bytes]) -> tuple[Release, int]:
    """Sign a stored release; return it, and the number of its signatures.

    Raises RolloutError, SignatureError, LinkError.
    """
    release, signatures = await find_release(js, name)
    added = sign(release.to_bytes())
    keys = {each.key for each in parse_signatures(signatures)}
    (mine,) = parse_signatures(added)
    if mine.key in keys:
        raise RolloutError(f"release {release.serial} of {release.channel} is signed with this key already")
    await js.objects(BUNDLES).put(f"{release.digest}.sig", signatures.rstrip(b"\n") + b"\n" + added)
    return release, len(keys) + 1


async def pin_host(
    js: JetStream,
    host: str,
    release: Release,
    sign: Callable[[bytes], bytes],
    *,
    by: str,
    why: str,
    until: float | None,
) -> Pin:
    """Pin one host to one release, whatever the channel says.

    Raises KeyringError, RolloutError, SignatureError, LinkError.
    """
    created = float(int(await ServerClock(js).now()))
    pin = Pin(host, release.channel, release.digest, created, until, why, by)
    specs = await read_host_specs(js)
    if host in specs and release.channel not in specs[host].channels:
        raise RolloutError(f"{host} does not follow the channel {release.channel}")
    await _require_above_floor(js, host, release)
    signed = SignedPin(pin.to_bytes().decode(), sign(pin.to_bytes()).decode())

    def pinned(spec: HostSpec) -> HostSpec:
        return replace(spec, pins={**spec.pins, release.channel: signed})

    await change_host_spec(js, host, pinned)
    return pin


async def _require_above_floor(js: JetStream, host: str, release: Release) -> None:
    """Raise RolloutError if the host would refuse ``release``, as far as its last summary tells."""
    entry = await js.key_value(STATE).get(host) if is_host_id(host) else None
    report = read_summary(entry.value, host).channels.get(release.channel) if entry else None
    found = await published_release(js, report.in_force) if report and report.in_force else None
    if found and release.serial < found[0].floor:
        name = f"{release.channel} --again {release.serial} --draft"
        raise RolloutError(
            f"{host} has release {found[0].serial}, so it takes none below {found[0].floor}",
            f"sign the bundle anew, and pin to that: reactor fleet release {name}",
        )


@dataclass(frozen=True)
class Garbage:
    """An object that nothing needs. ``size`` in bytes."""

    name: str
    size: int

    def to_fields(self) -> dict[str, Any]:
        """Return the object as values for JSON."""
        return {"name": self.name, "size": self.size}


async def collect(js: JetStream, *, keep: int = KEPT, dry_run: bool = False) -> list[Garbage]:
    """Remove the releases and bundles that no channel and no pin needs; return them. Raises LinkError, DocumentError.

    Keeps the newest ``keep`` releases of each channel, what is in force, what hosts are pinned to, and everything
    that was stored within a day. A document that can't be read stops it: then it is not known what is needed.
    """
    needed: set[str] = set()
    for channel in await js.key_value(CHANNELS).keys():
        needed.update(list((await releases_of(js, channel)).values())[-keep:])
        entry = await js.key_value(CHANNELS).get(channel)
        if entry is not None:
            state = ChannelState.from_bytes(entry.value, channel)
            needed.update(each for each in (state.release, state.previous) if each)
    for entry in await js.key_value(HOSTS).entries():
        needed.update(_pinned_in(HostSpec.from_bytes(entry.value, entry.key)))
    now = await ServerClock(js).now()
    objects = {each.name: each for each in await js.objects(BUNDLES).list()}
    young = {name for name, each in objects.items() if now - each.time < _YOUNG}
    wanted = needed | {name.removesuffix(".sig") for name in young if name.endswith(".sig")}
    wanted |= {f"{name}.sig" for name in wanted} | young
    for name in [each for each in wanted if f"{each}.sig" in objects and each in objects]:
        found = await published_release(js, name)
        if found is None:
            raise DocumentError(f"the release {name[:19]} can't be read")
        wanted.add(found[0].bundle)
    garbage = [Garbage(name, each.size) for name, each in sorted(objects.items()) if name not in wanted]
    for each in [] if dry_run else garbage:
        await js.objects(BUNDLES).delete(each.name)
    return garbage


def _pinned_in(spec: HostSpec) -> Iterable[str]:
    return [Pin.from_bytes(pin.data.encode()).pin for pin in spec.pins.values()]
