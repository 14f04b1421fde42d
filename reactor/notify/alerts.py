"""Groups the messages of a channel, and decides when to send them. No I/O and no clock: the caller passes the time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

MOST = 1000
"""The most alerts that wait at once; further ones are only counted."""
_LONGEST = 2000
"""The most characters of a reason that are kept."""
FIRST_RETRY, LAST_RETRY = 10.0, 300.0
"""Seconds between the first two attempts to send a message, and the most between any two."""

FAILED: Final = "failed"
FLAPPING: Final = "flapping"
DRIFT: Final = "drift"


@dataclass(slots=True)
class Alert:
    """One event of one resource to report. ``began`` and ``ended`` are seconds since 1970; ``times`` counts events.

    A failure without ``ended`` still exists.
    """

    kind: str
    ref: str
    reason: str
    began: float
    ended: float | None = None
    times: int = 1


class Alerts:
    """The alerts of one channel: the ones that wait to be sent, and the sent failures that still exist.

    ``on`` has the kinds to send. The intervals are in seconds, and so is ``now``, on any clock that does not jump back.
    """

    def __init__(self, on: tuple[str, ...], wait: float, interval: float, repeat: float) -> None:
        self.waiting: dict[tuple[str, str], Alert] = {}
        self.lasting: dict[str, Alert] = {}
        self._left_out: set[tuple[str, str]] = set()
        self._left_out_before = 0  # by an earlier run
        self._reported: set[str] = set()  # the failure was sent, and its end waits
        self._on = frozenset(on)
        self._wait, self._interval, self._repeat = wait, interval, repeat
        self._sent_at: float | None = None
        self._sent: dict[tuple[str, str], float] = {}
        self._retry_at: float | None = None
        self._group_at: float | None = None
        self._attempts = 0
        self._in_flight: dict[tuple[str, str], Alert] = {}
        self._left_out_in_flight: set[tuple[str, str]] = set()

    @property
    def left_out(self) -> int:
        """How many alerts wait beyond `MOST`."""
        return self._left_out_before + len(self._left_out)

    def failed(self, ref: str, reason: str, time: float, now: float) -> None:
        """A check of ``ref`` failed at ``time``, in seconds since 1970."""
        if FAILED not in self._on:
            return
        if (lasting := self.lasting.get(ref)) is not None:
            lasting.reason = reason[:_LONGEST]
            lasting.times += 1
            return
        self._add(FAILED, ref, reason, time, now)

    def well(self, ref: str, time: float, now: float) -> None:
        """A check of ``ref`` found it as desired, or made it so."""
        alert = self.lasting.pop(ref, None)
        if alert is not None:
            if "recovered" in self._on:
                alert.ended = time
                self.waiting[FAILED, ref] = alert
                self._reported.add(ref)
                self._schedule(now)
            return
        self._left_out.discard((FAILED, ref))
        alert = self.waiting.get((FAILED, ref))
        if alert is None or alert.ended is not None:
            return
        was_tried = self._attempts > 0 or self._group_at is None or now >= self._group_at
        if was_tried or ref in self._reported:
            alert.ended = time
        else:
            self._drop(FAILED, ref)

    def flapping(self, ref: str, reason: str, time: float, now: float) -> None:
        """The resource differs again as fast as it is repaired."""
        self._once(FLAPPING, ref, reason, time, now)

    def drift(self, ref: str, time: float, now: float) -> None:
        """The audit repaired drift that no event had announced."""
        self._once(DRIFT, ref, "the audit repaired drift that no event had announced", time, now)

    def due(self) -> float | None:
        """Return when the next message must be sent; None if there is none."""
        if self.waiting or self.left_out:
            return self._retry_at if self._retry_at is not None else self._group_at
        if self.lasting and self._sent_at is not None:
            return self._sent_at + self._repeat if self._retry_at is None else self._retry_at
        return None

    def batch(self) -> tuple[list[Alert], int]:
        """Return copies of the alerts of the next message, oldest first, and how many were left out.

        If nothing waits, these are the failures that last.
        """
        self._in_flight = {key: Alert(**asdict(each)) for key, each in self.waiting.items()}
        self._left_out_in_flight = set(self._left_out)
        found = [*self._in_flight.values()] or [Alert(**asdict(each)) for each in self.lasting.values()]
        return sorted(found, key=lambda each: each.began), self.left_out

    def delivered(self, now: float) -> None:
        """The last `batch` was sent. Alerts that changed meanwhile still wait."""
        for key, sent in self._in_flight.items():
            current = self.waiting.pop(key, None)
            if key[0] != FAILED:
                self._sent[key] = now
            elif sent.ended is None:
                self._still_failed(key, sent, current)
            else:
                self._reported.discard(key[1])
                if current is not None and current.ended is None:  # it failed again meanwhile
                    self.waiting[key] = current
        self._in_flight = {}
        self._left_out -= self._left_out_in_flight
        self._left_out_before = 0
        self._attempts, self._retry_at, self._sent_at = 0, None, now
        self._group_at = now + self._interval
        self._sent = {key: at for key, at in self._sent.items() if now - at < self._repeat}

    def refused(self, now: float) -> None:
        """The last `batch` could not be sent: it stays, and is sent again later, with new alerts."""
        self._in_flight = {}
        self._retry_at = now + min(FIRST_RETRY * 2 ** min(self._attempts, 16), LAST_RETRY)
        self._attempts += 1

    def at_once(self, now: float) -> None:
        """Send waiting alerts without further delay, because the run ends."""
        self._group_at, self._retry_at = now, None

    def state(self) -> dict[str, Any]:
        """Return the state for `restore`, as values for JSON."""
        return {
            "waiting": [asdict(each) for each in self.waiting.values()],
            "lasting": [asdict(each) for each in self.lasting.values()],
            "left_out": self.left_out,
            "since": None if self._sent_at is None else self._sent_at,
        }

    def restore(self, state: Mapping[str, Any], now: float) -> None:
        """Continue with the `state` of an earlier run. ``since`` is then the time of the last message on this clock."""
        self.waiting = {(each["kind"], each["ref"]): Alert(**each) for each in state["waiting"][:MOST]}
        self.lasting = {each["ref"]: Alert(**each) for each in state["lasting"][:MOST]}
        self._left_out_before = int(state["left_out"])
        self._sent_at = state["since"]
        if self.waiting or self.left_out:
            self._attempts = 1  # a recovery is sent now: an earlier run may have tried to send the failure
            self._schedule(now)

    def _still_failed(self, key: tuple[str, str], sent: Alert, current: Alert | None) -> None:
        """A failure was sent. If it has ended meanwhile, the recovery waits; else the failure lasts."""
        if current is not None and current.ended is not None:
            if "recovered" in self._on:
                self.waiting[key] = current
                self._reported.add(key[1])
        else:
            self.lasting[key[1]] = current or sent

    def _once(self, kind: str, ref: str, reason: str, time: float, now: float) -> None:
        sent_at = self._sent.get((kind, ref))
        if kind in self._on and (sent_at is None or now - sent_at >= self._repeat):
            self._add(kind, ref, reason, time, now)

    def _add(self, kind: str, ref: str, reason: str, time: float, now: float) -> None:
        alert = self.waiting.get((kind, ref))
        if alert is not None:
            alert.times += 1
            alert.reason, alert.ended = reason[:_LONGEST], None
        elif len(self.waiting) >= MOST:
            self._left_out.add((kind, ref))
        else:
            self._left_out.discard((kind, ref))
            self.waiting[kind, ref] = Alert(kind, ref, reason[:_LONGEST], time)
        self._schedule(now)

    def _drop(self, kind: str, ref: str) -> None:
        del self.waiting[kind, ref]
        if not self.waiting:
            self._group_at = None

    def _schedule(self, now: float) -> None:
        """Set the time of the next message, unless one waits already."""
        earliest = now + self._wait
        if self._sent_at is not None:
            earliest = max(earliest, self._sent_at + self._interval)
        if self._group_at is None or (self._group_at < now and self._attempts == 0):
            self._group_at = earliest
