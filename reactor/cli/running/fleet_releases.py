"""The work of the commands that pack, sign, release and compare."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Callable
from typing import Any

import click

from reactor.atomic_write import replace_file
from reactor.cli import exitcodes
from reactor.cli.messages import fail_for, notice, reporting_manifest_errors
from reactor.cli.options.common import Format
from reactor.cli.running.fleet import drive_channels
from reactor.cli.running.fleet_manifest import facts_of_any_host
from reactor.cli.running.fleet_session import author, print_change, within
from reactor.errors import ReactorError
from reactor.fleet.bundle.digest import MANIFEST
from reactor.fleet.bundle.limits import LIMITS, BundleLimits
from reactor.fleet.bundle.pack import Bundle, pack
from reactor.fleet.documents import NAMES, DocumentError, is_channel_name
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.operator.releasing import (
    ReleaseOptions,
    begin_release,
    begin_stored,
    next_release,
    store_release,
    stored_bundle,
    waves_of,
)
from reactor.fleet.operator.stored_releases import add_signature, collect, find_release, pin_host
from reactor.fleet.release.document import Release
from reactor.fleet.release.signing import sign
from reactor.fleet.release.verify import PIN, RELEASE, good_signatures
from reactor.fleet.rollout.gate import Gate, Share
from reactor.fleet.rollout.state import ChannelState
from reactor.fleet.rollout.waves import parse_waves
from reactor.number_format import counted
from reactor.resource.diagnostic import ManifestError
from reactor.trust.inputs import open_input


def packed(directory: str, limits: BundleLimits = LIMITS, channel: str | None = None) -> Bundle:
    """The directory as a bundle, if its manifest is valid."""
    with reporting_manifest_errors(as_json=False, exit_code=exitcodes.BAD_USAGE):
        _require_valid(directory, facts_of_any_host(channel))
    return pack(directory, limits, opener=open_input)


def _require_valid(directory: str, fleet: dict[str, Any]) -> None:
    """Load the manifest with each set of facts in ``fleet-tests``; without any, with those of this host. Raises ManifestError.

    ``fleet``: the facts that only a host of the fleet has, where a set does not say them.
    """
    from reactor.documents import parse_values, read_values
    from reactor.facts.facts import Facts
    from reactor.fleet.host.shared_values import SharedValues
    from reactor.loading import load
    from reactor.manifest.inputs import Inputs

    manifests, network = (os.path.join(directory, MANIFEST),), SharedValues(None)
    files = sorted(glob.glob(os.path.join(glob.escape(directory), "fleet-tests", "*.yaml")))
    if not files:
        own = Facts({"fleet": fleet}, parse=parse_values)
        load(manifests, Inputs(own, os.environ, {}, (), network=network))
    for file in files:
        facts = {"fleet": fleet, **read_values(file)}
        try:
            load(manifests, Inputs(facts, os.environ, {}, (), network=network))
        except ManifestError:
            notice(f"the manifest is not valid with the facts in {file}", None)
            raise


def pack_directory(directory: str, output: str | None, form: Format, limits: BundleLimits) -> None:
    """Pack a directory, and print its bundle."""
    try:
        bundle = packed(directory, limits)
    except ReactorError as error:
        fail_for(error)
    if output is not None:
        replace_file(os.path.abspath(output), bundle.data, 0o644)
    fields = {"bundle": bundle.digest, "size": len(bundle.data), "members": bundle.members, "file": output}
    where = f", in {output}" if output else ""
    members = "1 file or directory" if bundle.members == 1 else f"{bundle.members} files and directories"
    print_change(
        form,
        fields,
        f"{bundle.digest}: {members}, {counted(len(bundle.data), 'byte')}{where}",
    )


def _signing(key: str, namespace: str) -> Callable[[bytes], bytes]:
    path = os.path.expanduser(key)

    def signed(data: bytes) -> bytes:
        signatures = sign(data, path, namespace)
        good_signatures(data, signatures, namespace)  # a host would refuse it, as a key of RSA
        return signatures

    return signed


def _gate(wishes: dict[str, Any]) -> Gate:
    approve = parse_waves(f"{wishes['approve']},100%") if wishes["approve"] else ()
    if approve and "100%" not in wishes["approve"]:
        approve = approve[:-1]
    return Gate(
        soak=wishes["soak"],
        max_failed=Share(wishes["max_failed"]),
        max_silent=Share(wishes["max_silent"]),
        min_converged=Share(wishes["min_converged"]),
        checks=wishes["checks"],
        window=wishes["window"],
        approve=approve,
        on_halt=wishes["on_halt"],
    )


def _options(channel: str, wishes: dict[str, Any]) -> ReleaseOptions:
    """What is wished for a release of the channel. Raises DocumentError for a name that no host can follow."""
    if not is_channel_name(channel):
        raise DocumentError(f"{channel!r} is not the name of a channel", NAMES)
    same = {name: wishes[name] for name in ("waves", "note", "targets", "serial", "splay")}
    return ReleaseOptions(channel, author(), gate=_gate(wishes), **same)


def begin(home: str, directory: str | None, channel: str, form: Format, **wishes: Any) -> int:
    """Pack, sign, publish and begin. Returns the exit code."""
    try:
        options = _options(channel, wishes)
        bundle = packed(directory, wishes["limits"], channel) if directory else None
    except ReactorError as error:
        fail_for(error)
    again, signed = wishes["again"], wishes["signed"]
    if wishes["dry_run"]:
        foreseen = within(home, lambda js: _foreseen(js, options, bundle, again))
        click.echo(json.dumps(foreseen) if form == "json" else "\n".join(_foreseen_lines(foreseen)))
        return 0
    signing = _signing(wishes["key"], RELEASE)

    async def work(js: JetStream) -> tuple[Release, ChannelState | None]:
        if signed:
            return await begin_stored(js, options, (await find_release(js, signed, channel))[0])
        content = bundle or await _bundle_again(js, channel, again)
        if wishes["draft"]:
            return await store_release(js, options, content, signing), None
        return await begin_release(js, options, content, signing)

    release, state = within(home, work)
    name = f"release {release.serial} of {channel}"
    if state is None:
        words = f"{name} is stored, and does not begin: {release.digest}"
        print_change(form, {"release": release.digest, "serial": release.serial, "begun": False}, words)
        return 0
    print_change(
        form,
        {"release": release.digest, "serial": release.serial, "begun": True, "wave": state.wave},
        f"{name} begins with wave {state.wave / 100:g} %: {release.digest}",
    )
    if not within(home, lambda js: waves_of(js, options, release.serial))[1]:
        notice(f"no host follows the channel {channel}", "see the channels of the hosts: reactor fleet hosts")
    return drive_channels(home, (channel,), until_ended=True) if wishes["wait"] else 0


async def _bundle_again(js: JetStream, channel: str, serial: int) -> Bundle:
    return await stored_bundle(js, (await find_release(js, str(serial), channel))[0])


async def _foreseen(
    js: JetStream, options: ReleaseOptions, bundle: Bundle | None, again: int
) -> dict[str, Any]:
    bundle = bundle or await _bundle_again(js, options.channel, again)
    release = await next_release(js, options, bundle)
    waves, ranks = await waves_of(js, options, release.serial)
    found, before = [], 0
    for wave in waves:
        names = sorted(name for name, rank in ranks.items() if before <= rank < wave)
        found.append({"wave": wave, "hosts": names})
        before = wave
    return {
        "serial": release.serial,
        "channel": options.channel,
        "bundle": bundle.digest,
        "size": len(bundle.data),
        "waves": found,
    }


def _foreseen_lines(found: dict[str, Any]) -> list[str]:
    lines = [f"release {found['serial']} of {found['channel']}: {found['bundle']}, {found['size']} bytes"]
    lines += [
        f"wave {each['wave'] / 100:g} %: {', '.join(each['hosts']) or 'no further host'}"
        for each in found["waves"]
    ]
    return lines


def sign_release(home: str, name: str, key: str, form: Format) -> None:
    """Add a signature to a stored release."""
    release, count = within(home, lambda js: add_signature(js, name, _signing(key, RELEASE)))
    words = f"release {release.serial} of {release.channel} has {count} signatures: {release.digest}"
    print_change(form, {"release": release.digest, "signatures": count}, words)


def pin(home: str, host: str, name: str, form: Format, *, key: str, why: str, until: float | None) -> None:
    """Pin a host to a release."""

    async def work(js: JetStream) -> Release:
        release, _ = await find_release(js, name)
        await pin_host(js, host, release, _signing(key, PIN), by=author(), why=why, until=until)
        return release

    release = within(home, work)
    words = f"{host} is pinned to release {release.serial} of {release.channel}"
    print_change(
        form,
        {"host": host, "channel": release.channel, "serial": release.serial, "pin": release.digest},
        words,
    )


def remove_garbage(home: str, keep: int, form: Format, *, dry_run: bool) -> None:
    """Remove the releases and bundles that nothing needs."""
    found = within(home, lambda js: collect(js, keep=keep, dry_run=dry_run))
    if form == "json":
        click.echo(json.dumps({"removed": [each.to_fields() for each in found], "dry_run": dry_run}))
        return
    for each in found:
        click.echo(f"{'would remove' if dry_run else 'removed'} {each.name}, {each.size} bytes")
    if not found:
        click.echo("nothing can be removed")
