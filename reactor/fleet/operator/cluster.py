"""Queries the servers for their state and that of their cluster, as the user of the account SYS."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from reactor.fleet.link.connection import Connection, connected
from reactor.fleet.link.errors import ForeignServerError, MissingError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.options import Options
from reactor.fleet.operator.cluster_members import object_in, parsed_answer
from reactor.fleet.operator.server_config import SYSTEM_CREDENTIALS
from reactor.fleet.operator.session import operator_options
from reactor.fleet.operator.streams import wanted_streams
from reactor.fleet.wire.parser import printable

ENOUGH_COPIES = 3
"""The number of copies of a stream. One of them may be unavailable."""

# A server that deletes a stream gives its directory a name with a dot first, and its check of health may meet that.
_DELETING = re.compile(r"JetStream stream '\S+ > \.\S+' could not be recovered")


class ServerState(NamedTuple):
    """``ahead``: the seconds by which the clock of the server is ahead of that of this machine.

    ``cluster``: the leader and the size as this server reports them, None without a cluster. ``stored`` and ``most``: the
    bytes that its streams have on its disk, and may have. ``is_off``: it has no JetStream.
    """

    ahead: float
    cluster: Mapping[str, Any] | None
    stored: int = 0
    most: int = 0
    is_off: bool = False

    @property
    def size(self) -> int:
        """The number of servers with JetStream."""
        size = (self.cluster or {}).get("cluster_size")
        return size if isinstance(size, int) else 1


async def server_state(
    connection: Connection, identity: str | None = None, *, seconds: float, leader: bool = False
) -> ServerState:
    """Ask the server whose id is ``identity``, by default any server, or the ``leader`` of JetStream. Raises LinkError."""
    question = json.dumps({"leader_only": leader}).encode()
    began = time.time()
    reply = await connection.request(f"$SYS.REQ.SERVER.{identity or 'PING'}.JSZ", question, seconds=seconds)
    asked = (began + time.time()) / 2
    try:
        found = json.loads(reply.data)
        moment = datetime.fromisoformat(found["server"]["time"]).timestamp()
        cluster = found["data"].get("meta_cluster")
        stored = int(found["data"].get("storage", 0))
        most = int(found["data"].get("config", {}).get("max_storage", 0))
        is_off = found["data"].get("disabled") is True
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ForeignServerError(
            "what the server says of itself can't be read", "see the log of the server"
        ) from None
    return ServerState(moment - asked, cluster if isinstance(cluster, dict) else None, stored, most, is_off)


async def server_problem(connection: Connection, identity: str, *, seconds: float) -> str:
    """Ask the server whose id is ``identity`` what hinders its JetStream; empty if nothing does. Raises LinkError."""
    reply = await connection.request(f"$SYS.REQ.SERVER.{identity}.HEALTHZ", seconds=seconds)
    return problem_in(object_in(parsed_answer(reply).get("data")))


def problem_in(health: Mapping[str, Any]) -> str:
    """What an answer about the health of a server says that hinders it; empty if nothing does."""
    error = health.get("error")
    return printable(error) if isinstance(error, str) and not _DELETING.fullmatch(error) else ""


async def is_leaf_node(connection: Connection, identity: str, seconds: float = 3.0) -> bool:
    """Whether the server whose id is ``identity`` is a leaf node of another one. Raises LinkError."""
    reply = await connection.request(f"$SYS.REQ.SERVER.{identity}.LEAFZ", seconds=seconds)
    leafs = object_in(parsed_answer(reply).get("data")).get("leafs")
    return isinstance(leafs, list) and any(object_in(each).get("is_spoke") for each in leafs)


async def cluster_size(options: Options, seconds: float = 3.0) -> int:
    """Return the number of servers with JetStream; ``options``: for the user of SYS. Raises LinkError.

    A server of the cluster that has no JetStream knows no number, so the leader is asked.
    """
    async with connected(options, seconds=seconds) as connection:
        state = await server_state(connection, seconds=seconds)
        if state.is_off:
            state = await server_state(connection, seconds=seconds, leader=True)
        return state.size


async def usual_copies(js: JetStream, directory: str) -> int:
    """Return the number of copies of the existing streams; without streams, 3 in a cluster of three or more, else 1.

    Raises KeyringError, LinkError.
    """
    for name in wanted_streams():
        try:
            return int((await js.stream_info(name))["config"].get("num_replicas", 1))
        except MissingError:
            continue
    size = await cluster_size(operator_options(directory, SYSTEM_CREDENTIALS))
    return ENOUGH_COPIES if size >= ENOUGH_COPIES else 1
