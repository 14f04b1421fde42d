"""The stream of the page: first the status of every resource, then the changes, at fixed intervals.

All pages share the work: for each interval, the status of the active resources is compared once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import trio

from reactor.control.broadcast import MOST, Subscriber, Subscribers, TooManyReadersError
from reactor.control.run_handle import RunHandle
from reactor.resource.time_slice import TimeSlice
from reactor.ui.drawing import Drawing
from reactor.ui.event_buffer import EventBuffer, text_of
from reactor.ui.status_stream import StatusStream

BEAT = 0.1
"""Seconds between two updates."""

RUN_INTERVAL = 1.0
"""Seconds between two updates of the run as a whole."""

HEARTBEAT = 15.0
"""Seconds after which every resource is compared again, and a keep-alive is sent."""


class PageStream:
    """Sends updates to all `listening` pages. ``warn`` is called for a page that is too slow."""

    def __init__(
        self,
        run_handle: RunHandle,
        resource_statuses: StatusStream,
        drawing: Drawing,
        event_buffer: EventBuffer,
        warn: Callable[[str], None],
    ) -> None:
        self._run_handle = run_handle
        self._resource_statuses = resource_statuses
        self._drawing = drawing
        self._event_buffer = event_buffer
        self._warn = warn
        self._subscribers = Subscribers(warn)
        self._new_subscribers: list[tuple[Subscriber, int]] = []
        self._wanted = trio.Event()
        self._edition = 0
        self._run = ""
        self._run_due = 0.0
        self._round_due = 0.0

    @contextmanager
    def listening(self, drop: Callable[[], None], after: int) -> Iterator[Subscriber]:
        """Send updates to a new page within the block. ``drop`` closes its connection. Raises TooManyReadersError.

        The page has the events up to the number ``after``, and gets the later ones; with 0 it gets no past events.
        """
        if self._subscribers.listeners + len(self._new_subscribers) >= MOST:
            raise TooManyReadersError
        new_subscriber = Subscriber(drop), after
        self._new_subscribers.append(new_subscriber)
        self._wanted.set()
        try:
            yield new_subscriber[0]
        finally:
            if new_subscriber in self._new_subscribers:
                self._new_subscribers.remove(new_subscriber)
            self._subscribers.leave(new_subscriber[0])

    async def run(self) -> None:
        """Send updates while a page is open, until cancelled."""
        while True:
            while not self._new_subscribers:
                self._wanted = trio.Event()
                await self._wanted.wait()
            self._event_buffer.followed = True
            self._round_due = 0.0
            try:
                while self._new_subscribers or self._subscribers.listeners:
                    await self._beat()
                    await trio.sleep(BEAT)
            except Exception as error:  # noqa: BLE001 - a bug in the page must not end the run
                self._warn(f"the live page had to close its connections: {type(error).__name__}: {error}")
                self._dismiss()
            self._event_buffer.followed = False
            self._event_buffer.take_fresh()
            self._event_buffer.take_touched()

    def _dismiss(self) -> None:
        for listener, _ in self._new_subscribers:
            listener.drop()
        self._new_subscribers.clear()
        self._subscribers.dismiss()

    async def end(self) -> None:
        """Send every page its queued updates and the end of the stream; return when all have disconnected."""
        if self._subscribers.listeners:
            await self._beat()
        await self._subscribers.end()

    async def _beat(self) -> None:
        now = trio.current_time()
        if edition_is_new := self._edition != self._drawing.edition:
            self._edition = self._drawing.edition
            self._publish("reloaded", f'{{"edition":{self._edition}}}')
        await self._send_events()
        await self._send_states(whole=edition_is_new or now >= self._round_due)
        if now >= self._round_due:
            self._round_due = now + HEARTBEAT
            self._subscribers.put(": we are still here\n\n")
        self._send_run(now)
        await self._send_snapshots()

    async def _send_states(self, *, whole: bool) -> None:
        touched = self._event_buffer.take_touched()
        changes = await (
            self._resource_statuses.renew() if whole else self._resource_statuses.follow(touched)
        )
        if changes is not None:
            self._publish("states", changes)

    async def _send_events(self) -> None:
        time_slice = TimeSlice()
        for numbered in self._event_buffer.take_fresh():
            await time_slice.step()
            self._subscribers.put(_event(numbered[0], text_of(numbered)))

    def _send_run(self, now: float) -> None:
        if now >= self._run_due and (text := self.run_text()) != self._run:
            self._run, self._run_due = text, now + RUN_INTERVAL
            self._publish("run", text)

    def run_text(self) -> str:
        """The run as a whole, as JSON."""
        record = self._run_handle.run_record()
        del record["readers"], record["readers_dropped"]
        return json.dumps(
            {**record, "pausable": self._run_handle.pause_controller is not None}, separators=(",", ":")
        )

    async def _send_snapshots(self) -> None:
        """Send new pages the status of every resource and the events they missed; then they get the same updates."""
        for new_subscriber in tuple(self._new_subscribers):
            listener, after = new_subscriber
            whole = f'{{"edition":{self._edition},"run":{self.run_text()},"vertices":{self._resource_statuses.whole()}}}'
            listener.put(f"event: status\ndata: {whole}\n\n")
            time_slice = TimeSlice()
            for number, event in self._event_buffer.latest(after=after) if after else ():
                await time_slice.step()
                listener.put(_event(number, text_of((number, event))))
            if new_subscriber in self._new_subscribers:  # the page may have disconnected meanwhile
                self._new_subscribers.remove(new_subscriber)
                self._subscribers.admit(listener)

    def _publish(self, name: str, data: str) -> None:
        self._subscribers.put(f"event: {name}\ndata: {data}\n\n")


def _event(number: int, text: str) -> str:
    return f"event: event\nid: {number}\ndata: {text}\n\n"
