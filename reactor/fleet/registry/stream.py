"""The stream that keeps the entries of the registry: make it, look up, publish, remove."""

from __future__ import annotations

from collections.abc import Sequence

from reactor.fleet.link.direct_get import last_messages
from reactor.fleet.link.errors import ApiError, LinkError, MissingError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.stored import Stored
from reactor.fleet.registry.entry import PREFIX, STREAM, Entry, filter_subject, parse_entry

_MARKER = "Nats-Marker-Reason"
_GONE = ("MaxAge", "Remove", "Purge")
_OTHER_STREAM = 10060
"""The server's error number for a subject that belongs to another stream than expected."""
_HINT = "make it with `reactor registration init`"


async def make_stream(
    js: JetStream, name: str = STREAM, *, replicas: int = 1, max_age: float = 60.0
) -> dict[str, object]:
    """Make the stream as CCM does, or change it; return its configuration. Raises LinkError."""
    nanoseconds = int(max_age * 1e9)
    wanted = {
        "subjects": [f"{PREFIX}.>"],
        "retention": "limits",
        "storage": "file",
        "max_msgs_per_subject": 1,
        "allow_msg_ttl": True,
        "num_replicas": replicas,
        "allow_rollup_hdrs": True,
        "allow_direct": True,
        "max_age": nanoseconds,
        "subject_delete_marker_ttl": nanoseconds,
        "deny_delete": True,
        "deny_purge": False,
    }
    try:
        there = (await js.stream_info(name))["config"]
    except MissingError:
        found = await js.create_stream(name, wanted)
    else:
        found = await js.update_stream(name, {**there, **wanted})
    config: dict[str, object] = found["config"]
    return config


async def look_up(js: JetStream, pattern: Sequence[str], stream: str = STREAM) -> list[Entry]:
    """Return the entries that match, by address and port. Messages that are no entries are left out.

    ``pattern``: cluster, protocol, service and address; ``*`` matches all.

    Raises MissingError without the stream, ValueError, or LinkError.
    """
    subject = filter_subject(*pattern)
    try:
        found = await last_messages(js, stream, [subject])
    except LinkError:
        await _require(js, stream)
        raise
    entries = [entry for each in found if (entry := entry_of(each)) is not None]
    return sorted(entries, key=lambda each: (each.address, each.port or 0))


async def _require(js: JetStream, stream: str) -> None:
    """Raise MissingError if the stream does not exist."""
    try:
        await js.stream_info(stream)
    except MissingError:
        message = f"there is no stream {stream} with registrations"
        raise MissingError(message, _HINT) from None


def entry_of(stored: Stored) -> Entry | None:
    """Return the entry of a message; None for the marker of a removed entry, or an invalid body."""
    if stored.headers.get(_MARKER) in _GONE:
        return None
    try:
        return parse_entry(stored.data)
    except ValueError:
        return None


def gone_reason(stored: Stored) -> str:
    """Return why an entry was removed, by its marker; an empty string for an entry."""
    return stored.headers.get(_MARKER, "")


async def publish(js: JetStream, entry: Entry, stream: str | None = None) -> None:
    """Store an entry in ``stream``; by default in the stream of its subject. Raises LinkError."""
    try:
        await js.publish(entry.subject, entry.body, headers=entry.headers(stream), stream=stream)
    except MissingError as error:
        raise MissingError(f"there is no stream {stream or STREAM} for registrations", _HINT) from error
    except ApiError as error:
        if error.number == _OTHER_STREAM:
            raise MissingError(f"there is no stream {stream} for registrations", _HINT) from error
        if "rollup" not in error.message:
            raise
        # A stream of `reactor fleet init` refuses rollups: any host could wipe it by one. It keeps one message anyway.
        headers = entry.headers(stream, rollup=False)
        await js.publish(entry.subject, entry.body, headers=headers, stream=stream)


async def remove(js: JetStream, entry: Entry, stream: str = STREAM) -> None:
    """Remove an entry, and leave a marker for a minute, because a purge alone announces nothing. Raises LinkError."""
    try:
        purged = await js.purge(stream, entry.subject)
    except MissingError as error:
        raise MissingError(f"there is no stream {stream} with registrations", _HINT) from error
    if purged:
        mark = {_MARKER: "Purge", "Nats-TTL": "1m0s"}
        await js.publish(entry.subject, b"", headers=mark, stream=stream)
