"""The connections of this process: one to each bus, opened when it is first needed, and reopened after a loss."""

from __future__ import annotations

import os
from enum import StrEnum

import trio

from reactor.watchers.dbus.bus import Bus
from reactor.watchers.dbus.transport import DEFAULT, NoBusError


class Scope(StrEnum):
    """The bus and the systemd of the machine, or those of the user who runs this process."""

    SYSTEM = "system"
    USER = "user"

    @property
    def address(self) -> str:
        """The address of the bus."""
        if self is Scope.SYSTEM:
            return os.environ.get("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/run/dbus/system_bus_socket")
        runtime = os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
        return os.environ.get("DBUS_SESSION_BUS_ADDRESS", f"unix:path={runtime}/bus")


async def connect(scope: Scope) -> Bus:
    """The connection to the bus of ``scope``, which all callers share. Raises NoBusError when there is no bus.

    It lasts until the bus ends the connection, or the trio run ends. A run without watchers can use it too.
    """
    try:
        connections = _connections.get()
    except LookupError:
        connections = {scope: _Connection(scope) for scope in Scope}
        _connections.set(connections)
    return await connections[scope].bus()


class _Connection:
    """The shared connection to one bus: at most one live `Bus`."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._bus: Bus | None = None
        self._opening = trio.Lock()
        self._hopeless: tuple[float, NoBusError] | None = None
        """The time of the next attempt, and the last error: a bus that does not answer must not delay each caller."""

    async def bus(self) -> Bus:
        if self._bus is not None and self._bus.is_connected:
            return self._bus
        async with self._opening:
            if self._bus is None or not self._bus.is_connected:
                self._bus = await self._open()
            return self._bus

    async def _open(self) -> Bus:
        began = trio.current_time()
        if self._hopeless is not None and began < self._hopeless[0]:
            raise NoBusError(str(self._hopeless[1]))
        bus = Bus(self._scope.address, DEFAULT)
        nursery = await _nursery_of_the_run()
        try:
            await nursery.start(bus.run)
        except NoBusError as error:
            now = trio.current_time()
            self._hopeless = (now + (now - began), error)  # for as long as it took to find out
            raise
        return bus


async def _nursery_of_the_run() -> trio.Nursery:
    """A nursery that is cancelled when the main task of the trio run has ended."""
    try:
        return _nursery.get()
    except LookupError:
        opened: trio.Event = trio.Event()
        trio.lowlevel.spawn_system_task(_hold_nursery, opened)
        await opened.wait()
        return _nursery.get()


async def _hold_nursery(opened: trio.Event) -> None:
    async with trio.open_nursery() as nursery:
        _nursery.set(nursery)
        opened.set()
        await trio.sleep_forever()


_connections: trio.lowlevel.RunVar[dict[Scope, _Connection]] = trio.lowlevel.RunVar("connections")
_nursery: trio.lowlevel.RunVar[trio.Nursery] = trio.lowlevel.RunVar("nursery")
