"""Restores the streams of a backup, on as many servers as there are then.

Until all are there, each has a mark in its metadata. A restore that ended early, also because it was killed, is finished
by the next one: streams that are whole stay, and those of which the servers have only a part are made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import trio

from reactor.fleet.link.errors import ApiError, LinkError, MissingError, NoAnswerError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.snapshots import Snapshot, restore_stream
from reactor.fleet.operator.backup import ATTEMPTS, PAUSE, Backup, BackupError, Done, SavedStream, Tell
from reactor.fleet.operator.streams import (
    RESTORING,
    lets_ccm_publish,
    make_streams,
    wanted_streams,
    with_room,
)

_MOST_NAMED = 3
_IN_USE = 10130
"""The server's error number for a stream that is there, or that another restoration has begun."""
_WHOLE, _PART = "whole", "part"


async def restore(
    js: JetStream, backup: Backup, *, copies: int, replace: bool, tell: Tell, done: Done
) -> list[str]:
    """Make the streams of a backup, which was checked, with ``copies`` copies of each. Raises BackupError, LinkError.

    ``replace``: delete what the servers have in them now, unless an earlier restore of this backup has made it. What is
    named by others comes first: if it ends early, no host is told to take what is not there yet. Returns the streams of
    the earlier one.
    """
    there = await _streams_there(js, [each.name for each in backup.streams])
    kept = [name for name, each in there.items() if _mark(each) == _mark_of(backup, _WHOLE)]
    if not replace:
        parts = [name for name, each in there.items() if _mark(each) == _mark_of(backup, _PART)]
        _require_empty([name for name, each in there.items() if name not in (*kept, *parts) and _count(each)])
    try:
        for each in reversed(backup.streams):
            if each.name not in kept:
                await _replaced(js, backup, each, copies, tell, may_delete=replace or each.name in there)
                done(each)
        await _remove_marks(js, [each.name for each in backup.streams])
        ccm = await lets_ccm_publish(js)
        await make_streams(js, wanted_streams(copies, ccm_publishers=ccm))
    except LinkError as error:
        hint = f"{error.hint}; then" if error.hint else "when the servers are well,"
        words = f"the fleet is not restored completely: {error.message}"
        again = "restore it again, with --replace" if replace else "restore it again"
        raise BackupError(words, f"{hint} {again}: that goes on where this one has ended") from error
    return kept


async def _streams_there(js: JetStream, names: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for name in names:
        with suppress(MissingError):
            found[name] = await js.stream_info(name)
    return found


def _mark(stream: Mapping[str, Any]) -> str:
    return str((stream["config"].get("metadata") or {}).get(RESTORING))


def _mark_of(backup: Backup, extent: str) -> str:
    return f"{extent} of {backup.id}"


def _count(stream: Mapping[str, Any]) -> int:
    return int(stream["state"]["messages"])


def _require_empty(filled: list[str]) -> None:
    if filled:
        more = f" and {len(filled) - _MOST_NAMED} more" if len(filled) > _MOST_NAMED else ""
        raise BackupError(
            f"nothing is restored: the servers have data in {', '.join(filled[:_MOST_NAMED])}{more}",
            "give --replace to delete that first",
        )


async def _replaced(
    js: JetStream, backup: Backup, stream: SavedStream, copies: int, tell: Tell, *, may_delete: bool
) -> None:
    """Restore one stream. It is tried again while a cluster elects a leader, and after that deletes what it has begun."""
    for left in reversed(range(ATTEMPTS)):
        try:
            if may_delete:
                with suppress(MissingError):
                    await js.delete_stream(stream.name)
            await _restored(js, backup, stream, copies, tell)
        except (ApiError, NoAnswerError) as error:
            is_of_others = not may_delete and isinstance(error, ApiError) and error.number == _IN_USE
            if not left or is_of_others or error.hint is not None:
                raise
            may_delete = True
            await trio.sleep(PAUSE)
        else:
            return


async def _restored(js: JetStream, backup: Backup, stream: SavedStream, copies: int, tell: Tell) -> None:
    async def write(name: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        saved = Snapshot(_marked(fields, _mark_of(backup, _PART)), stream.snapshot.state)
        await restore_stream(js, name, saved, backup.pieces(stream, tell))
        await js.update_stream(name, _marked(fields, _mark_of(backup, _WHOLE)))
        return {"config": fields}

    config = {**stream.snapshot.config, "num_replicas": copies}
    await with_room(write, stream.name, config, max(config.get("max_bytes", 0), 0))


def _marked(config: Mapping[str, Any], mark: str | None) -> dict[str, Any]:
    metadata = {**(config.get("metadata") or {}), RESTORING: mark}
    return {**config, "metadata": {name: value for name, value in metadata.items() if value is not None}}


async def _remove_marks(js: JetStream, names: Iterable[str]) -> None:
    """Say in each stream that all are there."""
    for name in names:
        config = (await js.stream_info(name))["config"]
        await js.update_stream(name, _marked(config, None))
