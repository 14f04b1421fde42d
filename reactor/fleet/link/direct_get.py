"""Reads the messages of a stream in batches, directly: no consumer is made, and any replica may answer."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from reactor.fleet.link.api import JetStreamApi
from reactor.fleet.link.errors import ForeignServerError
from reactor.fleet.link.stored import Stored, batch_in, stored_in
from reactor.fleet.wire.headers import NO_HEADERS

_TOO_MANY = 413
_PAGE = 1000
_PAGE_BYTES = 4 << 20
_NONE = Stored("", b"", NO_HEADERS, 0)


async def last_messages(js: JetStreamApi, stream: str, subjects: Sequence[str]) -> list[Stored]:
    """Return the last message of each subject that matches one of ``subjects``, by sequence number.

    The server gives at most 1,024 at once; of more, all messages are read in pages.
    """
    body = {"multi_last": list(subjects), "batch": _PAGE + 24}
    answers = await js.asked_many(f"{js.prefix}.DIRECT.GET.{stream}", json.dumps(body).encode())
    if answers[-1].status != _TOO_MANY:
        return [stored_in(each) for each in batch_in(answers)]
    newest: dict[str, Stored] = {}
    for subject in subjects:
        async with aclosing(messages_from(js, stream, subject)) as messages:
            async for each in messages:
                if each.sequence > newest.get(each.subject, _NONE).sequence:
                    newest[each.subject] = each
    return sorted(newest.values(), key=lambda each: each.sequence)


async def messages_from(
    js: JetStreamApi, stream: str, subject: str, sequence: int = 1, *, page: int = _PAGE
) -> AsyncGenerator[Stored, None]:
    """Yield the messages of a subject from a sequence number on, up to the last, in pages of ``page`` messages."""
    while True:
        body = {"seq": sequence, "next_by_subj": subject, "batch": page, "max_bytes": _PAGE_BYTES}
        answers = await js.asked_many(f"{js.prefix}.DIRECT.GET.{stream}", json.dumps(body).encode())
        found = [stored_in(each) for each in batch_in(answers)]
        for each in found:
            yield each
        if not found or answers[-1].headers.get("Nats-Num-Pending") == "0":
            return
        if found[-1].sequence < sequence:
            raise ForeignServerError("an answer of JetStream goes backwards")
        sequence = found[-1].sequence + 1
