"""Makes the streams of a fleet, and updates their configuration.

Every stream that hosts write to has ``allow_rollup_hdrs: false``: with it, one message of one host with
``Nats-Rollup: all`` removes what all others wrote. ``subject_delete_marker_ttl`` turns it on, so these have none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import trio

from reactor.fleet.bucket_names import (
    BUNDLES,
    CHANNELS,
    COUNTS,
    DRIVE,
    EVENTS,
    HOSTS,
    INVITATIONS,
    REGISTRATIONS,
    SECRETS,
    SHARED,
    SLOTS,
    STATE,
)
from reactor.fleet.link.errors import ApiError, MissingError
from reactor.fleet.link.jetstream import JetStream

_Write = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]

_SECOND = 1_000_000_000
_DAY = 86_400 * _SECOND
_EVENTS_BYTES = 20 << 30
_BATCHES_OF_A_HOST, _BATCH_BYTES = 1 << 14, 128 << 10
"""The batches of events that are kept of each host, and their largest size: a tenth of the stream. So one host can't push
out those of others."""
RESTORING = "reactor.restoring"
"""The name in the metadata of a stream while not all streams of a backup are restored."""
_LEAST_BYTES = 64 << 20
_NO_ROOM = 10047
"""The server's error number for a stream that is larger than the free space of its disk."""
_NO_PEERS = 10005
"""Its error number for a stream with more copies than it knows servers."""
_MEETING, _AGAIN = 5.0, 0.2
"""Seconds for which servers may need to know each other, and between two attempts."""
_KEEPS_ALL = {"max_age": 0, "max_msgs": -1, "max_msg_size": -1, "no_ack": False, "sealed": False}
"""No limits but those of a stream itself: with an age, hosts and channels would vanish without a word."""
_SLOTS_BYTES, _SHARED_BYTES, _REGISTRY_BYTES = 16 << 20, 128 << 20, 64 << 20
"""The sizes of the streams in which a host may have any number of subjects: else one host could fill the disk."""

_BUNDLES_STREAM: dict[str, Any] = {
    "subjects": [f"$O.{BUNDLES}.C.>", f"$O.{BUNDLES}.M.>"],
    "allow_rollup_hdrs": True,
    "allow_direct": True,
    "discard": "new",
}
_EVENTS_STREAM: dict[str, Any] = {
    "subjects": ["reactor.event.*"],
    "max_age": 7 * _DAY,
    "max_bytes": _EVENTS_BYTES,
    "max_msgs_per_subject": _BATCHES_OF_A_HOST,
    "max_msg_size": _BATCH_BYTES,
    "discard": "old",
    "duplicate_window": 600 * _SECOND,
    "allow_direct": True,
    "allow_rollup_hdrs": False,
    "deny_delete": True,
    "deny_purge": True,
}


@dataclass(frozen=True)
class Change:
    """A change of a stream: ``made``, or the names of the changed fields."""

    stream: str
    made: bool
    fields: tuple[str, ...] = ()


def wanted_streams(replicas: int = 1, *, ccm_publishers: bool = False) -> dict[str, dict[str, Any]]:
    """Return the configuration of each stream, by name."""
    found = {
        **_bucket(CHANNELS, 64, republish=("", "reactor.changed.channel.")),
        **_bucket(HOSTS, 16, republish=("", "reactor.changed.host.")),
        **_bucket(STATE, 1, from_hosts=True),
        **_bucket(
            SHARED,
            1,
            from_hosts=True,
            max_bytes=_SHARED_BYTES,
            republish=("{{wildcard(2)}}.{{wildcard(1)}}", "reactor.changed.shared."),
        ),
        **_bucket(
            SLOTS,
            1,
            from_hosts=True,
            allow_msg_ttl=True,
            max_bytes=_SLOTS_BYTES,
            republish=("", "reactor.changed.slot."),
        ),
        **_bucket(SECRETS, 4),
        **_bucket(COUNTS, 1),
        **_bucket(DRIVE, 1, allow_msg_ttl=True),
        **_bucket(INVITATIONS, 1, allow_msg_ttl=True),
        f"OBJ_{BUNDLES}": _BUNDLES_STREAM,
        EVENTS: _EVENTS_STREAM,
        REGISTRATIONS: _registrations(ccm_publishers),
    }
    common = {"retention": "limits", "storage": "file", "num_replicas": replicas, **_KEEPS_ALL}
    return {name: {**common, **fields} for name, fields in found.items()}


def _bucket(
    name: str,
    history: int,
    *,
    from_hosts: bool = False,
    republish: tuple[str, str] | None = None,
    **more: Any,
) -> dict[str, dict[str, Any]]:
    fields: dict[str, Any] = {
        "subjects": [f"$KV.{name}.>"],
        "max_msgs_per_subject": history,
        "discard": "new",
        "allow_direct": True,
        "allow_rollup_hdrs": not from_hosts,
        "deny_delete": True,
        "deny_purge": from_hosts,
        **more,
    }
    if republish is not None:
        order, target = republish
        source = f"$KV.{name}.*.*" if order else f"$KV.{name}.>"
        fields["republish"] = {"src": source, "dest": target + (order or ">"), "headers_only": True}
    return {f"KV_{name}": fields}


def _registrations(ccm_publishers: bool) -> dict[str, Any]:
    common: dict[str, Any] = {
        "subjects": ["choria.ccm.registration.v1.>"],
        "max_msgs_per_subject": 1,
        "max_bytes": _REGISTRY_BYTES,
        "allow_msg_ttl": True,
        "allow_direct": True,
        "deny_delete": True,
        "allow_rollup_hdrs": ccm_publishers,
        "deny_purge": not ccm_publishers,
        "discard": "old",
    }
    if ccm_publishers:
        return {**common, "max_age": 60 * _SECOND, "subject_delete_marker_ttl": 60 * _SECOND}
    return common


async def lets_ccm_publish(js: JetStream) -> bool:
    """Return whether the registry takes what publishers of CCM send; False if it is not there yet. Raises LinkError."""
    try:
        return (await js.stream_info(REGISTRATIONS))["config"].get("allow_rollup_hdrs") is True
    except MissingError:
        return False


async def make_streams(js: JetStream, wanted: Mapping[str, Mapping[str, Any]]) -> list[Change]:
    """Make the streams that are missing, and change what differs. Return the changes. Raises LinkError.

    The registry is made again when publishers of CCM may write to it, or may not any more: hosts register again soon.
    """
    changes = []
    for name, fields in wanted.items():
        try:
            info = await js.stream_info(name)
        except MissingError:
            await _made(js, name, fields)
            changes.append(Change(name, made=True))
            continue
        _require_leader(name, info)
        there = info["config"]
        differing = differing_fields(there, fields)
        if name == REGISTRATIONS and "deny_purge" in differing:  # no server takes that back
            await js.delete_stream(name)
            await _made(js, name, fields)
            changes.append(Change(name, made=True))
        elif differing:
            size = there["max_bytes"] if there.get("max_bytes", 0) > 0 else fields.get("max_bytes", 0)
            await with_room(js.update_stream, name, {**there, **fields}, size)
            changes.append(Change(name, made=False, fields=differing))
    return changes


async def _made(js: JetStream, name: str, fields: Mapping[str, Any]) -> None:
    await with_room(js.create_stream, name, fields, fields.get("max_bytes", 0))


async def with_room(write: _Write, name: str, fields: Mapping[str, Any], size: int) -> None:
    """Write a stream. If the disk of the server has no room for its size limit, the limit is halved, repeatedly.

    Servers of a cluster that have just started do not know all others yet; it waits for these.

    ``size``: that limit in bytes, 0 for none. Raises LinkError.
    """
    until = trio.current_time() + _MEETING
    while True:
        try:
            info = await write(name, {**fields, "max_bytes": size} if size else fields)
        except ApiError as error:
            if error.number == _NO_PEERS and trio.current_time() < until:
                await trio.sleep(_AGAIN)
                continue
            if error.number == _NO_ROOM:
                error.hint = (
                    "give the servers a larger disk, or a larger max_file_store in their configuration"
                )
            if error.number != _NO_ROOM or size < 2 * _LEAST_BYTES:
                raise
            size //= 2
        else:
            _require_taken(name, info, fields)
            return


def _require_leader(name: str, info: Mapping[str, Any]) -> None:
    """Raise ApiError if most copies of a stream are away. A server alone tells how a stream should be, and can write nothing."""
    if (cluster := info.get("cluster")) and not cluster.get("leader"):
        raise ApiError(
            f"the stream {name} has no leader: most servers that have it do not answer",
            "start the servers that are away; after a failure, they need some seconds to elect a leader",
        )


def _require_taken(name: str, info: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
    """Raise ApiError if the server dropped a field. Old servers do so silently; then leases would never end."""
    if left := differing_fields(info["config"], fields):
        raise ApiError(
            f"the server does not take {', '.join(left)} of the stream {name}",
            "use nats-server 2.11 or later",
        )


def differing_fields(there: Mapping[str, Any], wanted: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields of a stream that are not as wanted. A field that a server leaves out is false, 0 or empty.

    A ``max_bytes`` that is there stays: the disk had no more room, or people chose it.
    """
    differing = (name for name, value in wanted.items() if there.get(name, type(value)()) != value)
    return tuple(name for name in differing if name != "max_bytes" or there.get(name, 0) <= 0)
