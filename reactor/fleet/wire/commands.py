"""The commands of a NATS client as bytes. Subjects are checked: none can forge a second command."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from reactor.fleet.wire.headers import encode_headers

PING, PONG = b"PING\r\n", b"PONG\r\n"

_SUBJECT = re.compile(r"[^\x00-\x20\x7f.]+(?:\.[^\x00-\x20\x7f.]+)*")
_PLAIN = re.compile(r"[^\x00-\x20\x7f.*>]+(?:\.[^\x00-\x20\x7f.*>]+)*")
"""Nearly all subjects: without a letter of a wildcard."""
_WILDCARD = re.compile(r"(?:^|\.)(?:\*|>)(?:\.|$)")


def checked_subject(subject: str, *, wildcards: bool = False) -> bytes:
    """Return ``subject`` as bytes. Raises ValueError for an empty token, a space, a control character, or a wildcard."""
    if not _PLAIN.fullmatch(subject) and (
        not _SUBJECT.fullmatch(subject) or (not wildcards and _WILDCARD.search(subject))
    ):
        raise ValueError(f"not a subject: {subject!r}")
    return subject.encode(errors="surrogateescape")


def publish(
    subject: str,
    data: bytes,
    *,
    reply: str | None = None,
    headers: Mapping[str, str] | None = None,
    wildcards: bool = False,
) -> bytes:
    """Publish a message. ``wildcards``: the subject names those of a consumer, so it may have wildcards of its own.

    Raises ValueError for a malformed subject, reply or header.
    """
    words = checked_subject(subject, wildcards=wildcards)
    if reply is not None:
        words += b" " + checked_subject(reply)
    if headers:
        block = encode_headers(headers)
        return b"HPUB %s %d %d\r\n%s%s\r\n" % (words, len(block), len(block) + len(data), block, data)
    return b"PUB %s %d\r\n%s\r\n" % (words, len(data), data)


def subscribe(subject: str, sid: int, queue: str | None = None) -> bytes:
    """Receive the messages of a subject; with ``queue`` each goes to one member of that group only."""
    words = checked_subject(subject, wildcards=True)
    if queue is not None:
        words += b" " + checked_subject(queue)
    return b"SUB %s %d\r\n" % (words, sid)


def unsubscribe(sid: int) -> bytes:
    """End a subscription."""
    return b"UNSUB %d\r\n" % sid


def connect(options: Mapping[str, Any]) -> bytes:
    """Send the identity and the options of the client. JSON escapes every control character in them."""
    return b"CONNECT " + json.dumps(options).encode() + b"\r\n"
