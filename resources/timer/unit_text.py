"""Makes the two unit files of a timer. Nothing in a command or a value has a special meaning for systemd."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from reactor.resources.service.unit_syntax import plain, quoted, span, unit_file


class Task(NamedTuple):
    """The command of a timer: its words, its user, its working directory and its variables."""

    description: str
    words: Sequence[str]
    user: str | None
    cwd: str | None
    environment: Mapping[str, str]


class Times(NamedTuple):
    """The times at which a timer runs. ``after_boot`` and ``every`` are in seconds, and so is ``random_delay``."""

    calendar: Sequence[str]
    after_boot: float | None
    every: float | None
    persistent: bool
    random_delay: float


def service_text(task: Task) -> str:
    """The service unit."""
    return unit_file(("Unit", [f"Description={plain(task.description)}"]), ("Service", _service(task)))


def _service(task: Task) -> Iterator[str]:
    yield "Type=oneshot"
    if task.user is not None:
        yield f"User={task.user}"
    if task.cwd is not None:
        yield f"WorkingDirectory={plain(task.cwd)}"
    for name, value in task.environment.items():
        yield f"Environment={quoted(f'{name}={value}')}"
    yield f"ExecStart={' '.join(quoted(word).replace('$', '$$') for word in task.words)}"


def timer_text(description: str, times: Times) -> str:
    """The timer unit."""
    unit = [f"Description={plain(description)}"]
    return unit_file(("Unit", unit), ("Timer", _timer(times)), ("Install", ["WantedBy=timers.target"]))


def _timer(times: Times) -> Iterator[str]:
    for event in times.calendar:
        yield f"OnCalendar={event}"
    if times.after_boot is not None:
        yield f"OnBootSec={span(times.after_boot)}"
    if times.every is not None:
        yield f"OnUnitActiveSec={span(times.every)}"
    if times.persistent:
        yield "Persistent=true"
    if times.random_delay:
        yield f"RandomizedDelaySec={span(times.random_delay)}"
