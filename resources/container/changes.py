"""Creates, replaces, starts, stops and removes containers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import trio

from reactor import ResourceError
from reactor.hostfs import ErrorContext, forget_record, write_record
from reactor.resources.container.daemon import NOT_FOUND, Daemon
from reactor.resources.container.declaration import Declaration, form_of
from reactor.watchers.container_api import ApiError

KIND = "container"
NEW, FORMER = ".reactor-new", ".reactor-former"
"""What is appended to the name of a container that is not in its place yet, or not any more."""
_SLACK = 30.0
"""Seconds that the daemon may take to stop a container, besides the time that it gives the container."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of one container. ``stop_timeout`` is in seconds."""

    daemon: Daemon
    name: str
    stop_timeout: float

    @property
    def record_name(self) -> str:
        """The name of its record in the state directory."""
        return f"{self.daemon.socket} {self.name}"

    async def create(self, wanted: Declaration, *, start: bool) -> None:
        """Create the container, and start it. Raises ResourceError."""
        made = await self._create(self.name, wanted)
        if start:
            try:
                await self.start()
            except BaseException:
                with trio.CancelScope(shield=True):
                    await self._remove(made)
                raise
        await self._remove(f"{self.name}{FORMER}")
        await self._record()

    async def replace(self, wanted: Declaration, *, start: bool) -> None:
        """Create another container, and put it in the place of the one that is there.

        If it can't be started, the former one is started again. Raises ResourceError.
        """
        new, former = f"{self.name}{NEW}", f"{self.name}{FORMER}"
        # What the daemon refuses is known before the former one is stopped.
        made = await self._create(new, wanted)
        await self._remove(former)
        was_running = bool((await self._state()).get("Running"))
        await self.stop()
        await self._rename(self.name, former)
        try:
            await self._rename(new, self.name)
            if start:
                await self.start()
        except BaseException:
            with trio.CancelScope(shield=True):
                await self._remove(made)
                await self._rename(former, self.name)
                if was_running:
                    await self.start()
            raise
        await self._remove(former)
        await self._record()

    async def start(self) -> None:
        """Start it. Raises ResourceError."""
        await self.daemon.act("POST", f"/containers/{quote(self.name)}/start", seconds=self.daemon.timeout)

    async def resume(self) -> None:
        """Resume it after a pause. Raises ResourceError."""
        await self.daemon.act("POST", f"/containers/{quote(self.name)}/unpause")

    async def stop(self) -> None:
        """Stop it; podman can't do that to a paused one. Raises ResourceError."""
        if (await self._state()).get("Status") == "paused":
            await self.resume()
        target = f"/containers/{quote(self.name)}/stop?t={self.stop_timeout:.0f}"
        await self.daemon.act("POST", target, seconds=self.stop_timeout + _SLACK)

    async def remove(self) -> None:
        """Stop and remove it, and the containers that a killed run left.

        Its named volumes stay. Raises ResourceError.
        """
        if (await self.daemon.inspect(self.name)) is not None:
            await self.stop()
        await self.clear()
        await self._remove(self.name)
        forget_record(KIND, self.record_name)

    async def clear(self) -> None:
        """Remove the containers that a killed run left. Raises ResourceError."""
        for suffix in (NEW, FORMER):
            await self._remove(f"{self.name}{suffix}")

    async def _create(self, name: str, wanted: Declaration) -> str:
        """Create a container that is not started; return its id."""
        await self._remove(f"{self.name}{NEW}")
        made = await self.daemon.act("POST", f"/containers/create?name={quote(name)}", wanted.body())
        identity = str((made or {}).get("Id"))
        for network in wanted.networks[1:]:
            await self.daemon.act("POST", f"/networks/{quote(network)}/connect", {"Container": identity})
        return identity

    async def _state(self) -> Mapping[str, Any]:
        """The part of its inspection that tells whether it runs; empty if there is no container."""
        found: Mapping[str, Any] = (await self.daemon.inspect(self.name) or {}).get("State") or {}
        return found

    async def _rename(self, name: str, new: str) -> None:
        await self.daemon.act("POST", f"/containers/{quote(name)}/rename?name={quote(new)}")

    async def _remove(self, name: str) -> None:
        """Remove a container. Its volumes stay, also those without a name: they may hold data."""
        try:
            await self.daemon.ask(
                "DELETE", f"/containers/{quote(name)}?force=true", seconds=self.daemon.timeout
            )
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise ResourceError(f"the daemon did not remove {name}: {error}") from None

    async def _record(self) -> None:
        """Record the form in which the daemon reads back the declaration."""
        inspected = await self.daemon.inspect(self.name)
        if inspected is not None:
            with ErrorContext("record the container"):
                write_record(KIND, self.record_name, {"id": inspected.get("Id"), "form": form_of(inspected)})
