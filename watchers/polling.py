"""Says for which vertices the watcher must fall back to polling, and when it need no longer."""

from __future__ import annotations

from reactor import WatchSink, WatchState
from reactor.watchers.directory import Directory


class PollingReport:
    """Reports every change of a vertex's state once. A vertex is armed again when none of its paths is polled."""

    def __init__(self, sink: WatchSink) -> None:
        self._sink = sink
        self._reasons: dict[int, dict[tuple[Directory, bytes], str]] = {}

    def drop(self, vertex: int, directory: Directory, name: bytes) -> None:
        """Forget one path of ``vertex``: it is watched no longer."""
        polled = self._reasons.get(vertex)
        if polled is not None:
            polled.pop((directory, name), None)
            if not polled:
                del self._reasons[vertex]

    def note(self, vertex: int, directory: Directory, name: bytes, reason: str | None) -> None:
        """Note why one path of ``vertex`` must be polled, or that it need not be."""
        if reason is None and not self._reasons:
            return
        polled = self._reasons.setdefault(vertex, {})
        before = polled.pop((directory, name), None)
        if reason is not None:
            polled[directory, name] = reason
            if reason != before:
                self._sink.report(WatchState.POLLING, reason, vertex)
        elif not polled:
            del self._reasons[vertex]
            if before is not None:
                self._sink.report(WatchState.ARMED, "its events can be relied upon again", vertex)
