"""The notifications of one run: a sink of its events, and a task beside its engine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import trio

from reactor.engine.events import (
    AuditFound,
    Checked,
    Event,
    Flapping,
    Reloaded,
    ReloadRejected,
    Result,
    Reversed,
)
from reactor.manifest.notify_channels import Channel
from reactor.notify.alert_file import AlertFile
from reactor.notify.alerts import Alerts
from reactor.notify.errors import SendError
from reactor.notify.message import Message
from reactor.notify.sender import send
from reactor.resource.redaction import redact

MANIFEST = "manifest"
"""The ref of an alert about the manifest itself."""
SAVE_AFTER = 0.5
"""Seconds in which changes of the alerts are written together."""
END_TIMEOUT = 10.0
"""Seconds that the end of a run waits for the last messages."""
_WELL = (Result.OK, Result.CHANGED)


class Notifications:
    """Sends the events of a run through ``channels``. ``warn`` shows a warning; ``manifest`` names the manifest.

    ``may_have`` says whether the manifest in force has a resource, or may have it later: a failure of others that an
    earlier run sent has ended. ``directory`` is the state directory, None without one. ``is_single`` says that the run
    converges once: then the messages are sent at its end, without a wait.
    """

    def __init__(
        self,
        channels: Mapping[str, Channel],
        manifest: str,
        may_have: Callable[[str], bool],
        directory: str | None,
        warn: Callable[[str], None],
        *,
        is_single: bool,
    ) -> None:
        self._manifest = manifest
        self._may_have = may_have
        self._warn = warn
        self._is_single = is_single
        self._kept = AlertFile(directory)
        self._declared = channels
        self._channels: dict[str, Channel] = {}
        self._alerts: dict[str, Alerts] = {}
        self._complaints: dict[str, str] = {}
        self._is_unsaved = False
        self._wanted = trio.Event()
        self._changed = trio.Event()
        self._written, self._restored = self._kept.read()

    def renew(self, channels: Mapping[str, Channel]) -> None:
        """Use ``channels`` from now on. A channel that stays keeps its alerts."""
        now = trio.current_time()
        for name, channel in channels.items():
            if self._channels.get(name) == channel:
                continue
            alerts = Alerts(channel.on, channel.group_wait, channel.group_interval, channel.repeat_interval)
            state = self._alerts[name].state() if name in self._alerts else self._earlier(name)
            with suppress(KeyError, TypeError, ValueError):
                alerts.restore(state, now)
            self._alerts[name] = alerts
        self._alerts = {name: self._alerts[name] for name in channels}
        self._channels = dict(channels)
        self._changed.set()
        self._pulse()

    def __call__(self, event: Event) -> None:
        """Take one event. A check that found all as desired costs a look-up for each channel."""
        if type(event) is Checked:
            if event.result in _WELL:
                self._each(lambda alerts, now: alerts.well(event.ref, event.time, now), quiet=True)
            elif event.result is Result.FAILED:
                reason = event.error or "failed"
                self._each(lambda alerts, now: alerts.failed(event.ref, reason, event.time, now))
        else:
            self._other(event)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Send messages when they are due, until cancelled. Each channel has a task: none waits for another."""
        self.renew(self._declared)
        self._end_gone()
        task_status.started()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._save)
            while True:
                self._changed = trio.Event()
                async with trio.open_nursery() as channels:
                    for name in self._channels:
                        channels.start_soon(self._serve, name)
                    await self._changed.wait()
                    channels.cancel_scope.cancel()

    def _end_gone(self) -> None:
        """End the failures of resources that the manifest has no more."""
        all_alerts = self._alerts.values()
        refs = {
            ref for alerts in all_alerts for ref in (*alerts.lasting, *(ref for _, ref in alerts.waiting))
        }
        for ref in refs:
            if ref != MANIFEST and not self._may_have(ref):
                self._well(ref, time.time())

    async def drain(self) -> None:
        """At the end of a run, send the results of a single run, and store messages that could not be sent."""
        if self._is_single and self._alerts:
            with trio.move_on_after(END_TIMEOUT):
                async with trio.open_nursery() as nursery:
                    for name, alerts in self._alerts.items():
                        alerts.at_once(trio.current_time())
                        if (due := alerts.due()) is not None and due <= trio.current_time():
                            nursery.start_soon(self._send, name)
        self._write()

    def _other(self, event: Event) -> None:
        match event:
            case Flapping(ref=ref, time=at):
                actions = "; ".join(f"{action} ({times} times)" for action, times in event.actions.items())
                self._each(lambda alerts, now: alerts.flapping(ref, actions, at, now))
            case AuditFound(ref=ref, time=at):
                self._each(lambda alerts, now: alerts.drift(ref, at, now))
            case ReloadRejected(problems=problems, time=at):
                reason = "\n".join(problems)
                self._each(lambda alerts, now: alerts.failed(MANIFEST, reason, at, now))
            case Reloaded(time=at):
                for ref in (MANIFEST, *event.gone):
                    self._well(ref, at)
                self._end_gone()
            case Reversed(ref=ref, time=at):
                self._well(ref, at)

    def _well(self, ref: str, at: float) -> None:
        self._each(lambda alerts, now: alerts.well(ref, at, now), quiet=True)

    def _each(self, take: Callable[[Alerts, float], None], *, quiet: bool = False) -> None:
        """Call ``take`` with the alerts of each channel. When ``quiet``, channels without any are left out."""
        now = trio.current_time()
        for alerts in self._alerts.values():
            if quiet and not (alerts.waiting or alerts.lasting):
                continue
            take(alerts, now)
            self._pulse()

    def _earlier(self, name: str) -> dict[str, Any]:
        """Return the state of an earlier run, with its times on the clock of this one."""
        state = dict(self._restored.get(name) or {})
        if isinstance(age := state.get("age"), (int, float)):
            away = max(0.0, time.time() - self._written)
            state["since"] = trio.current_time() - age - away
        else:
            state["since"] = None
        return state

    async def _serve(self, name: str) -> None:
        """Send the messages of one channel when they are due."""
        while True:
            wanted, due = self._wanted, self._alerts[name].due()
            if due is not None and due <= trio.current_time() and not self._is_single:
                await self._send(name)
                continue
            with trio.move_on_at(math.inf if due is None or self._is_single else due):
                await wanted.wait()

    async def _send(self, name: str) -> None:
        """Send one message; if that fails, it stays."""
        alerts = self._alerts[name]
        found, left_out = alerts.batch()
        try:
            refused = await send(self._channels[name], Message(name, self._manifest, found, left_out))
        except SendError as error:
            alerts.refused(trio.current_time())
            hint = f"; {error.hint}" if error.hint else ""
            self._complain(name, error.message, f"{hint}; the message is kept and sent again")
        else:
            alerts.delivered(trio.current_time())
            if refused is not None:
                self._complain(name, refused, "; the others get the message")
            elif self._complaints.pop(name, None) is not None:
                self._warn(f"notify {name}: messages are delivered again")
        self._pulse()

    def _complain(self, name: str, reason: str, more: str) -> None:
        """Warn about a channel that does not work; once for each reason."""
        if self._complaints.get(name) != reason:
            self._complaints[name] = reason
            self._warn(redact(f"notify {name}: {reason}{more}"))

    def _pulse(self) -> None:
        """Wake all tasks: the alerts have changed."""
        self._is_unsaved = True
        self._wanted.set()
        self._wanted = trio.Event()

    async def _save(self) -> None:
        """Write the alerts after each change."""
        while True:
            if not self._is_unsaved:  # an event may have come before this task began
                await self._wanted.wait()
            await trio.sleep(SAVE_AFTER)
            self._write()

    def _states(self) -> dict[str, Any]:
        now = trio.current_time()
        found = {name: alerts.state() for name, alerts in self._alerts.items()}
        for state in found.values():
            since = state.pop("since")
            state["age"] = None if since is None else now - since
        return found

    def _write(self) -> None:
        self._is_unsaved = False
        try:
            self._kept.write(time.time(), self._states())
        except OSError as error:
            self._warn(f"the notifications can't be kept over a restart: {error.strerror}")
