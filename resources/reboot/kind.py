"""The kind `reboot`: its properties, state and plan."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from reactor import (
    Action,
    Duration,
    PathWatch,
    Plan,
    Resource,
    ResourceError,
    SandboxAccess,
    TimerWatch,
    Watch,
    emit_note,
)
from reactor.hostfs import ErrorContext, forget_record, read_record, write_record
from reactor.resources.process import ENVIRONMENT, Command, perform, run
from reactor.resources.reboot.windows import WindowText, parse_window

REQUIRED = "/run/reboot-required"
"""The file by which packages of Debian and Ubuntu say that a reboot is needed."""
_NEEDS_RESTARTING = "needs-restarting"
"""The program that says the same on systems with dnf: it ends with 1."""
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_SYSTEMD = "/run/systemd/system"
_ORDERED, _PENDING = "reboot ordered", "reboot pending"
"""The kinds of our records: of the host, and of each resource."""
_HOST = "host"
_TICK = 60.0
_PATIENCE = 900.0
"""Seconds after which a reboot that was ordered, and did not happen, is an error."""
_ON_DEBIAN = "/var/lib/dpkg/status"


class RebootState(NamedTuple):
    """What is known of the need for a reboot."""

    boot: str
    """The id of this boot."""
    is_required: bool = False
    """Whether the system says that it needs a reboot."""
    is_pending: bool = False
    """Whether something that this subscribes to has changed since the boot."""
    ordered: float | None = None
    """When a reboot was ordered in this boot, by the clock of the boot, which nobody can set; None if it was not."""
    is_in_window: bool = True
    has_systemd: bool = True


class Reboot(Resource[RebootState], kind="reboot"):
    """Reboot the host when something needs it: at most once, and only in a window of time."""

    example = "updates"

    ensure: Literal["present", "absent"] = "present"
    """`absent`: never reboot, and forget that a reboot is pending."""
    when: Literal["required", "changed"] | None = None
    """`changed`: only when something that this subscribes to has changed; by default `required`: when the system says so, too."""
    windows: tuple[WindowText, ...] = ()
    """The local times at which the host may reboot: `Sun 03:00-05:00`, `Mon-Fri 22:00-04:00`, `03:00-05:00`; by default any."""
    grace: Annotated[Duration, Field(ge=1)] = 60.0
    """The time from the order to the reboot, in which this run can end."""
    interval: Annotated[Duration, Field(gt=0)] = 3600.0
    """The interval at which `needs-restarting` is asked on systems with dnf."""

    def watches(self) -> Iterable[Watch]:
        """The file that asks for a reboot; a timer for the windows, and one for systems where a program must be asked."""
        if self.ensure == "absent":
            return
        if self.windows:
            yield TimerWatch(_TICK)
        if self.when != "changed":
            yield PathWatch(REQUIRED)
            if not os.path.exists(_ON_DEBIAN):
                yield TimerWatch(self.interval)

    def sandbox_access(self) -> Iterable[SandboxAccess | str]:
        """None: systemd reboots."""
        return ()

    async def observe(self) -> RebootState:
        """Whether a reboot is needed, pending, or ordered; and whether this is the time for it. Raises ResourceError."""
        with ErrorContext(f"read {_BOOT_ID}"), open(_BOOT_ID, encoding="ascii") as file:  # noqa: ASYNC230 - in memory
            boot = file.read().strip()
        pending = read_record(_PENDING, self.name) or {}
        ordered = read_record(_ORDERED, _HOST) or {}
        is_in_window = not self.windows or any(
            parse_window(each).holds(time.localtime()) for each in self.windows
        )
        return RebootState(
            boot,
            self.when != "changed" and self.ensure == "present" and await _is_required(),
            pending.get("boot") == boot,
            ordered.get("at") if ordered.get("boot") == boot else None,
            is_in_window,
            os.path.isdir(_SYSTEMD),  # noqa: ASYNC240 - in memory
        )

    def plan(self, state: RebootState, *, refresh: bool) -> Plan:
        """Order a reboot if it is due, in a window; else note that it is pending.

        Raises ResourceError when systemd is missing, or a reboot that was ordered has not happened.
        """
        if self.ensure == "absent":
            forget = _step("forgotten the pending reboot", "forgot the pending reboot", self._forget)
            return (forget,) if state.is_pending else ()
        if not (refresh or state.is_pending or state.is_required):
            return ()
        if not state.has_systemd:
            hint = "remove it from the manifest where systemd is not the first process, as in a container"
            raise ResourceError("this host has no systemd that could reboot it", hint)
        return self._due(state, refresh=refresh) if state.ordered is None else self._under_way(state.ordered)

    def _due(self, state: RebootState, *, refresh: bool) -> Plan:
        if state.is_in_window:
            words = f"ordered a reboot in {self.grace:.0f} s"
            return (_step(words, words, partial(self._order, state.boot)),)
        if refresh and not state.is_pending:
            words = "noted that a reboot is pending, and waits for its window"
            return (_step(words, words, partial(self._note, state.boot)),)
        return ()

    def _under_way(self, ordered: float) -> Plan:
        """Nothing to do while a reboot is under way. Raises ResourceError when it should have happened."""
        if time.monotonic() - ordered <= self.grace + _PATIENCE:
            return ()
        words = "a reboot was ordered, and has not happened: it is not ordered twice in one boot"
        raise ResourceError(
            words,
            "find what blocks the reboot with systemctl list-jobs and systemd-inhibit; or reboot by hand",
        )

    async def describe(self) -> Mapping[str, Any]:
        """Whether a reboot is needed, pending, or ordered."""
        state = await self.observe()
        return {
            "ensure": "present",
            "required": state.is_required,
            "pending": state.is_pending,
            "ordered": state.ordered is not None,
        }

    async def _note(self, boot: str) -> None:
        _record(_PENDING, self.name, {"boot": boot})

    async def _forget(self) -> None:
        forget_record(_PENDING, self.name)

    async def _order(self, boot: str) -> None:
        """Let systemd reboot after the time of grace. It is recorded before, so that it is not ordered twice."""
        _record(_ORDERED, _HOST, {"boot": boot, "at": time.monotonic()})
        emit_note(f"a reboot was ordered, {self.grace:.0f} s from now")
        timer = (f"--on-active={round(self.grace * 1000)}ms", "--timer-property=AccuracySec=100ms")
        what = ("--description=Reboot for reactor", "--", "systemctl", "--no-block", "reboot")
        try:
            await perform("systemd-run", "--quiet", "--collect", *timer, *what)
        except ResourceError:
            forget_record(_ORDERED, _HOST)
            raise


async def _is_required() -> bool:
    """Whether the system says that it needs a reboot. Raises ResourceError."""
    if os.path.exists(REQUIRED):  # noqa: ASYNC240 - in memory
        return True
    if shutil.which(_NEEDS_RESTARTING, path=ENVIRONMENT["PATH"]) is None:
        return False
    done = await run(Command((_NEEDS_RESTARTING, "--reboothint"), "/", ENVIRONMENT))
    return done.exit_code == 1 and "required" in done.stdout.lower()


def _record(kind: str, name: str, record: Mapping[str, Any]) -> None:
    """Store the record. Raises ResourceError when it can't be stored: a host would reboot again and again."""
    with ErrorContext("record the reboot"):
        write_record(kind, name, record)
    if read_record(kind, name) != record:
        raise ResourceError("the reboot can't be recorded: there is no state directory", "write --state-dir")


def _step(would: str, did: str, run_it: Callable[[], Awaitable[None]]) -> Action:
    return Action(f"Would have {would}", did, run_it)
