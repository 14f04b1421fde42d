"""The servers of a cluster, as they name themselves and each other: to know when all have answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from reactor.fleet.wire.parser import Message, printable

STATES = "$SYS.REQ.SERVER.PING.JSZ"
"""The question to all servers whose answers `ClusterMembers.take` reads."""
PATIENCE = 3.0
"""Seconds within which the servers must answer."""
_MOST_NAMES = 1000


class ClusterMembers:
    """The names that are known so far, and the number of members of the cluster."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._size = 1

    @property
    def count(self) -> int:
        """The number of members, whether their names are known or not."""
        return max(self._size, len(self.names))

    def take(self, message: Message) -> None:
        """Take the name of the server that answers, and the names that it lists."""
        found = parsed_answer(message)
        cluster = object_in(object_in(found.get("data")).get("meta_cluster"))
        replicas = cluster.get("replicas")
        peers = [object_in(each).get("name") for each in replicas] if isinstance(replicas, list) else []
        names = (server_of(found), cluster.get("leader"), *peers)
        self.names.update(printable(each) for each in names[:_MOST_NAMES] if isinstance(each, str) and each)
        size = cluster.get("cluster_size")
        self._size = max(self._size, size) if isinstance(size, int) else self._size


def parsed_answer(message: Message) -> Mapping[str, Any]:
    """The JSON object of an answer; empty if it is none."""
    try:
        return object_in(json.loads(message.data))
    except (ValueError, RecursionError):
        return {}


def server_of(found: Mapping[str, Any]) -> str:
    """The name of the server that has answered."""
    return str(object_in(found.get("server")).get("name", ""))


def object_in(value: object) -> Mapping[str, Any]:
    """A part of an answer; empty if it is no object."""
    return value if isinstance(value, Mapping) else {}
