"""Gathers from sources that may hang. Whoever asks waits no longer than the timeout."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from threading import Thread
from typing import Any

Jobs = Mapping[str, Callable[[], Any]]


class Gatherer:
    """Runs each job in a daemon thread: a statvfs on a dead mount can't be interrupted, only left behind.

    ``timeout`` is in seconds, for all jobs of one call together. A job that hung is not started again while
    it still hangs, so asking often does not pile up threads. ``notes`` says of each source that gave nothing
    why, and is replaced by the next answer of that source.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._hanging: dict[str, Thread] = {}
        self.notes: dict[str, str] = {}

    def __call__(self, jobs: Jobs) -> dict[str, Any]:
        """The results by the name of their job, in the order of the jobs, without those that failed."""
        results: dict[str, Any] = {}
        failures: dict[str, str] = {}
        started = {
            name: self._start(name, job, results, failures)
            for name, job in jobs.items()
            if name not in self._hanging or not self._hanging[name].is_alive()
        }
        deadline = time.monotonic() + self._timeout
        for thread in started.values():
            thread.join(max(0.0, deadline - time.monotonic()))
        self._hanging.update(started)
        self._note(jobs, results, failures)
        return {name: results[name] for name in jobs if name in results}

    @staticmethod
    def _start(
        name: str, job: Callable[[], Any], results: dict[str, Any], failures: dict[str, str]
    ) -> Thread:
        def run() -> None:
            try:
                results[name] = job()
            except Exception as error:  # noqa: BLE001 - however it fails, its facts are missing
                failures[name] = str(error) or type(error).__name__

        thread = Thread(target=run, name=f"facts: {name}", daemon=True)
        thread.start()
        return thread

    def _note(self, jobs: Jobs, results: dict[str, Any], failures: dict[str, str]) -> None:
        for name in jobs:
            if name in results:
                self.notes.pop(name, None)
            else:
                hang = f"no answer within {self._timeout:g} s; what hangs is left alone until it answers"
                self.notes[name] = failures.get(name, hang)
