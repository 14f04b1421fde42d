"""Decides what is right and wrong, as functions on the answers of servers."""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reactor.fleet.link.status import EXPIRES_SOON
from reactor.fleet.operator.cluster import ENOUGH_COPIES
from reactor.fleet.operator.doctor.check import Check, wrong
from reactor.fleet.operator.streams import RESTORING, differing_fields, wanted_streams

OLDEST = (2, 11)
"""The first version of nats-server with a time to live for single messages, which leases need."""
CLOCK_LIMIT = 5.0
"""Seconds. A summary that is ahead of the server by less does no harm."""
NEARLY_FULL = 0.9
LEAST_PAYLOAD = 512 << 10
"""Bytes: a secret of 256 KiB, encrypted and in base64, and its headers."""
_START = "start the servers that are away"


def version_check(name: str, version: str) -> Check:
    """Check that a server with this ``version``, from its INFO, is new enough."""
    found = re.match(r"v?(\d+)\.(\d+)", version)
    least = ".".join(map(str, OLDEST))
    if found is None:
        return wrong(
            name, f"the server has an unknown version: {version!r}", f"use nats-server {least} or later"
        )
    if (int(found[1]), int(found[2])) < OLDEST:
        hint = f"install {least} or later from https://github.com/nats-io/nats-server/releases"
        return wrong(name, f"nats-server {version} is too old: leases need {least} or later", hint)
    return Check(name, f"nats-server {version}")


def payload_check(name: str, largest: object) -> Check | None:
    """Check that a server takes messages that are large enough; None if it does. ``largest``: bytes, from its INFO."""
    if not isinstance(largest, int) or largest >= LEAST_PAYLOAD:
        return None
    words = f"it takes messages of at most {largest} bytes; bundles and secrets have up to {LEAST_PAYLOAD}"
    return wrong(
        name, words, "raise max_payload in the configuration of the server, or remove it: the default is 1MB"
    )


def clock_check(name: str, ahead: float) -> Check:
    """Compare the local clock with the clock of the server, which is ``ahead`` seconds ahead."""
    if abs(ahead) <= CLOCK_LIMIT:
        return Check(name, f"differs by {abs(ahead):.1f} s")
    side = "behind" if ahead > 0 else "ahead of"
    hint = "set the clock that is wrong; NTP keeps it right: timedatectl set-ntp true"
    return wrong(name, f"the clock of this machine is {abs(ahead):.0f} s {side} that of the server", hint)


def certificate_check(name: str, expires: str, now: float | None = None) -> Check:
    """Check that a certificate is valid for long enough. ``expires``: its ``notAfter``, as `ssl` gives it."""
    left = ssl.cert_time_to_seconds(expires) - (time.time() if now is None else now)
    if left <= 0:
        return wrong(name, f"it expired on {expires}", "install a new certificate, and reload the server")
    if left < EXPIRES_SOON:
        return wrong(name, f"it expires on {expires}", "renew it before that, and reload the server")
    return Check(name, f"good until {expires}")


def quorum_check(name: str, cluster: Mapping[str, Any] | None) -> Check:
    """Check that JetStream has a leader that most servers follow.

    ``cluster``: as a server reports it, None if it is alone.
    """
    if cluster is None:
        return Check(name, "one server")
    size = int(cluster.get("cluster_size") or 0)
    if not cluster.get("leader"):
        return wrong(name, f"JetStream has no leader: more than half of its {size} servers must run", _START)
    away = [str(each.get("name")) for each in cluster.get("replicas") or () if each.get("offline")]
    if 2 * (size - len(away)) <= size:
        return wrong(name, f"{len(away)} of {size} servers are away: {_named(away)}", _START)
    return Check(name, f"{size} servers, {cluster['leader']} leads")


def stream_check(stream: str, info: Mapping[str, Any], init: str) -> Check:
    """Check that a stream is as ``init`` makes it. ``init``: the command that repairs it."""
    name, config = f"stream {stream}", info["config"]
    if RESTORING in (config.get("metadata") or {}):
        words = "a restore has ended early, and not all streams are as in the backup"
        return wrong(name, words, "give it again: reactor fleet restore FILE")
    replicas = config.get("num_replicas", 1)
    wanted = wanted_streams(replicas)[stream]
    differing = differing_fields(config, wanted)
    if not differing:
        return Check(name)
    if not differing_fields(config, wanted_streams(replicas, ccm_publishers=True)[stream]):
        return Check(name, "made with --ccm-publishers: any host that registers can wipe the registry")
    words = ", ".join(f"{each} is {config.get(each)!r} and not {wanted[each]!r}" for each in differing)
    return wrong(name, words, init)


def disk_check(name: str, stored: int, most: int) -> Check | None:
    """Check that a server has room for more messages; None if it has. Bytes; 0 where it does not say."""
    if not 0 < most <= stored / NEARLY_FULL:
        return None
    words = f"its streams have {stored} of at most {most} bytes: a full server takes nothing new"
    return wrong(name, words, "raise max_file_store of the server, or remove old bundles: reactor fleet gc")


def health_check(name: str, problem: str) -> Check | None:
    """Check what a server says of its JetStream; None if it has no ``problem``. It sees a full disk when a write has failed."""
    if not problem:
        return None
    if "no space left" in problem:
        return wrong(name, problem, "make room on the disk of store_dir, and start the server again")
    return wrong(name, problem, "see the log of the server")


def room_check(infos: Mapping[str, Mapping[str, Any]]) -> Check | None:
    """Check that the streams that refuse messages when they are full have room; None if they have."""
    full = []
    for stream, info in infos.items():
        config, most = info["config"], info["config"].get("max_bytes", -1)
        held = info.get("state", {}).get("bytes", 0)
        if config.get("discard") == "new" and 0 < most <= held / NEARLY_FULL:
            full.append(f"{stream} has {held} of at most {most} bytes")
    if not full:
        return None
    hint = "expel the host that fills it, if there is one; else give it more room: nats stream edit STREAM --max-bytes=SIZE"
    return wrong("room", f"{', '.join(full)}: a full stream takes nothing new", hint)


def copies_check(infos: Mapping[str, Mapping[str, Any]], servers: int, init: str) -> Check:
    """Check that the streams have enough copies, and that most copies of each answer.

    ``servers``: the size of the cluster.
    """
    weak, away, few = [], set(), []
    least = 1
    for stream, info in infos.items():
        replicas = info["config"].get("num_replicas", 1)
        least = max(least, replicas)
        cluster = info.get("cluster") or {}
        peers: Sequence[Mapping[str, Any]] = cluster.get("replicas") or ()
        behind = [str(each.get("name")) for each in peers if each.get("offline") or not each.get("current")]
        away.update(behind)
        if cluster and (not cluster.get("leader") or 2 * (replicas - len(behind)) <= replicas):
            weak.append(stream)
        if replicas < min(servers, ENOUGH_COPIES):
            few.append(stream)
    name = "copies"
    if weak:
        words = f"most copies of {', '.join(weak)} do not answer" + (f": {_named(away)}" if away else "")
        return wrong(name, words, _START)
    if away:
        return wrong(
            name,
            f"copies are away or behind: {_named(away)}",
            "start these servers, or wait until they have caught up",
        )
    if servers >= ENOUGH_COPIES and few:
        words = f"{servers} servers, but too few copies of {', '.join(few)}: when one server is away, they are too"
        return wrong(name, words, f"{init} --replicas {ENOUGH_COPIES}")
    return Check(name, f"{least} of each stream, all up to date")


def _named(servers: Iterable[str]) -> str:
    return ", ".join(sorted(servers))
