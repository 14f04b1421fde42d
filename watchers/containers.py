"""Watches containers by the events of docker or podman."""

from __future__ import annotations

import json
from collections.abc import Callable, Container
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import quote

import trio

from reactor import Watch, Watcher, WatchSink, WatchState

if TYPE_CHECKING:
    from reactor.watchers.container_api import ApiAnswer

_FILTERS = json.dumps({"type": ["container", "image", "network"]}, separators=(",", ":"))
_EVENTS = f"/events?filters={quote(_FILTERS)}"
_OF_IMAGES = frozenset(("tag", "untag", "delete", "remove", "import", "load", "pull"))
_NO_CHANGE = (
    "exec_",
    "exec",
    "health_status",
    "attach",
    "top",
    "resize",
    "export",
    "archive-path",
    "cleanup",
    "sync",
)


class Link:
    """Informs the watcher that the daemon has answered a check: one that lost its events then connects again."""

    def __init__(self) -> None:
        self._reached: Callable[[], None] | None = None

    def reached(self) -> None:
        """The daemon has answered."""
        if self._reached is not None:
            self._reached()

    def listen(self, reached: Callable[[], None] | None) -> None:
        """Call ``reached`` whenever the daemon has answered."""
        self._reached = reached


@dataclass(frozen=True, slots=True)
class ContainerWatch(Watch):
    """Any change of the container ``name`` of the daemon at the unix socket ``socket``, of images and of networks.

    With ``kind`` network, any change of the network ``name`` alone.
    """

    socket: str
    name: str
    link: Link
    kind: Literal["container", "network"] = "container"

    def concerns(self, kind: str, action: str, names: Container[str]) -> bool:
        """Whether an event of a thing of ``kind`` with one of these ``names`` may mean a change."""
        if self.kind == "network":
            return kind == "network" and self.name in names
        return kind != "container" or action == "rename" or self.name in names


class ContainerWatcher(Watcher):
    """Marks vertices when a daemon announces a change. One connection serves all containers of a daemon."""

    serves = ContainerWatch

    def __init__(self, sink: WatchSink) -> None:
        super().__init__(sink)
        self._vertices: dict[str, dict[int, ContainerWatch]] = {}
        self._streams: dict[str, tuple[AsyncExitStack, ApiAnswer]] = {}
        self._fresh: list[str] = []
        self._has_fresh = trio.Event()

    async def arm(self, watch: Watch, vertex: int) -> None:
        """Listen for a ContainerWatch. A daemon that does not run is asked again when it has answered a check."""
        declared = cast("ContainerWatch", watch)
        self._vertices.setdefault(declared.socket, {})[vertex] = declared
        declared.link.listen(lambda: self._reached(declared.socket))
        if declared.socket not in self._streams and not await self._connect(declared.socket):
            reason = f"there is no daemon at {declared.socket} that could announce changes"
            self.sink.report(WatchState.DOWN, reason, vertex)

    def disarm(self, watch: Watch, vertex: int) -> None:
        """Stop listening for a ContainerWatch."""
        declared = cast("ContainerWatch", watch)
        vertices = self._vertices.get(declared.socket, {})
        if vertices.get(vertex) == declared:
            declared.link.listen(None)
            del vertices[vertex]

    async def run(self) -> None:
        """Read the events of all daemons, until cancelled."""
        async with trio.open_nursery() as nursery:
            while True:
                while self._fresh:
                    nursery.start_soon(self._follow, self._fresh.pop())
                self._has_fresh = trio.Event()
                await self._has_fresh.wait()

    def close(self) -> None:
        """Do nothing: the connections end with `run`."""

    def _reached(self, path: str) -> None:
        if path not in self._streams and path not in self._fresh:
            self._fresh.append(path)
            self._has_fresh.set()

    async def _connect(self, path: str) -> bool:
        """Open the stream of events, which `run` then reads. Returns whether there is one."""
        from reactor.watchers.container_api import ApiError, answer_of  # noqa: PLC0415 - few hosts have containers

        stack = AsyncExitStack()
        try:
            answer = await stack.enter_async_context(answer_of(path, "GET", _EVENTS))
        except ApiError:
            await stack.aclose()
            return False
        self._streams[path] = stack, answer
        self._fresh.append(path)
        self._has_fresh.set()
        return True

    async def _follow(self, path: str) -> None:
        """Read the events of one daemon until it ends."""
        from reactor.watchers.container_api import ApiError  # noqa: PLC0415

        if path not in self._streams:
            if await self._connect(path):
                for vertex in self._vertices[path]:
                    self.sink.report(WatchState.ARMED, "", vertex)
                    self.sink.mark(vertex)
            return  # the new stream is in the list of fresh ones
        stack, answer = self._streams[path]
        try:
            async with stack, aclosing(answer.lines()) as lines:
                async for event in lines:
                    self._mark(path, event)
        except ApiError:
            pass
        finally:
            self._streams.pop(path, None)
        for vertex in self._vertices.get(path, ()):
            self.sink.report(WatchState.DOWN, f"the daemon at {path} has ended", vertex)
            self.sink.mark(vertex)

    def _mark(self, path: str, event: dict[str, Any]) -> None:
        action = str(event.get("Action") or event.get("status") or "")
        kind = event.get("Type")
        if action.startswith(_NO_CHANGE) or (kind == "image" and action not in _OF_IMAGES):
            return
        attributes = (event.get("Actor") or {}).get("Attributes") or {}
        # podman tells the name of a network as `network`, beside an empty `name`
        names = {attributes.get("name"), attributes.get("network"), attributes.get("oldName", "").lstrip("/")}
        for vertex, watch in self._vertices.get(path, {}).items():
            if watch.concerns(str(kind), action, names):
                self.sink.mark(vertex)
