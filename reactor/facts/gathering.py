"""Gathers facts from sources that may hang, with a timeout; and reads small files of the kernel and the system."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from threading import Thread
from typing import Any


def read(path: str) -> str:
    """Return the text at ``path`` without surrounding white space. Raises OSError."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().strip()


def read_if_there(path: str) -> str:
    """Return the text at ``path``, empty if there is no such file. Raises OSError for an unreadable file."""
    try:
        return read(path)
    except (FileNotFoundError, NotADirectoryError):
        return ""


def read_if_allowed(path: str) -> str:
    """Return the text at ``path``, empty if it can't be read for any reason."""
    try:
        return read(path)
    except OSError:
        return ""


def numbers(path: str, separator: str | None = None) -> dict[str, int]:
    """Parse the lines ``name: 42 unit`` of ``path``, such as /proc/meminfo, to numbers by name. Raises OSError."""
    found = {}
    for line in read(path).splitlines():
        name, _, rest = line.partition(separator or " ")
        value = rest.split()
        if value and value[0].isdecimal():
            found[name.strip()] = int(value[0])
    return found


Jobs = Mapping[str, Callable[[], Any]]


class Gatherer:
    """Runs each job in a daemon thread: a statvfs on a dead mount can't be interrupted, only abandoned.

    ``timeout`` is in seconds, for all jobs of one call together. A job that still hangs is not started again, so
    repeated calls do not accumulate threads. ``notes`` has the reason for each source that failed, until that source
    succeeds.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._hanging: dict[str, Thread] = {}
        self.notes: dict[str, str] = {}

    def __call__(self, jobs: Jobs) -> dict[str, Any]:
        """Return the results by job name, in the order of the jobs, without failed jobs."""
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
            except Exception as error:  # noqa: BLE001 - on any failure, these facts are missing
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
