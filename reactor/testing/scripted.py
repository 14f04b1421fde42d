"""A kind whose state is a few variables, so that a test can play any sequence of events on the engine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import trio
from pydantic import PrivateAttr

from reactor.resource.base import Resource
from reactor.resource.plan import Action, Plan, ResourceError
from reactor.resource.watch import Watch


@dataclass
class Script:
    """The behaviour of one `Scripted` resource. A test may change any of it at any time.

    ``drifted``: an apply is needed. ``failures``: how many of the next checks fail (infinity: all). ``takes``: the
    seconds that an observe lasts. ``on_refresh``: whether a refresh alone needs an action. ``checks``, ``applies`` and
    ``refreshes`` are the clock times at which these began.
    """

    drifted: bool = True
    failures: float = 0
    takes: float = 0.0
    on_refresh: bool = True
    checks: list[float] = field(default_factory=list)
    applies: list[float] = field(default_factory=list)
    refreshes: list[float] = field(default_factory=list)
    _begun: trio.Event = field(default_factory=trio.Event)

    async def begun(self, times: int = 1) -> None:
        """Wait until ``times`` checks have begun since the start."""
        while len(self.checks) < times:
            await self._begun.wait()

    def begin(self) -> None:
        """A check begins."""
        self.checks.append(trio.current_time())
        self._begun.set()
        self._begun = trio.Event()


class Scripted(Resource[bool], kind="scripted"):
    """Desired: not drifted. The script decides everything else."""

    ensure: str = "present"
    _script: Script = PrivateAttr(default_factory=Script)
    _watches: tuple[Watch, ...] = PrivateAttr(default=())

    @property
    def script(self) -> Script:
        """The script of this resource."""
        return self._script

    def watch_for(self, *watches: Watch) -> Scripted:
        """Declare what could make it drift; return the resource itself."""
        self._watches = watches
        return self

    def watches(self) -> Iterable[Watch]:
        """The watches passed to `watch_for`."""
        return self._watches

    async def observe(self) -> bool:
        """Whether it has drifted. Takes as long, and fails as often, as the script says."""
        script = self._script
        script.begin()
        if script.takes:
            await trio.sleep(script.takes)
        if script.failures > 0:
            script.failures -= 1
            raise ResourceError("the script says so")
        return script.drifted

    def plan(self, state: bool, *, refresh: bool) -> Plan:
        """Refresh it, or repair the drift."""
        if refresh and self._script.on_refresh:
            return (Action.saying("refreshed", self._refresh),)
        return (Action.saying("repaired", self._repair),) if state else ()

    async def verify(self) -> Plan:
        """Observe again, at once and without failing."""
        return self.plan(self._script.drifted, refresh=False)

    async def _repair(self) -> None:
        self._script.applies.append(trio.current_time())
        self._script.drifted = False

    async def _refresh(self) -> None:
        self._script.refreshes.append(trio.current_time())
        self._script.drifted = False


def scripted(
    name: str,
    *,
    drifted: bool = True,
    failures: float = 0,
    takes: float = 0.0,
    on_refresh: bool = True,
    **properties: Any,
) -> Scripted:
    """The resource ``scripted#name`` with these ``properties`` and an initial `Script` with the other arguments."""
    resource = Scripted(name=name, **properties)
    script = resource.script
    script.drifted, script.failures, script.takes, script.on_refresh = drifted, failures, takes, on_refresh
    return resource
