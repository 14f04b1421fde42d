"""Looks at the health of a resource that was checked, and says what that means for it."""

from __future__ import annotations

import math

import trio

from reactor.resource.base import Resource
from reactor.resource.health import Examination, Health, HealthCheck, HealthResult, HealthStatus, find_runner
from reactor.resource.plan import ResourceError

MOST_OUTPUT = 4096
"""Characters kept of what a check says: so much a Nagios plugin may write, and it goes into every report."""


async def examine(resource: Resource) -> Health:
    """Run the health checks of ``resource``, one after the other. Raises nothing but trio's Cancelled."""
    return tuple([await _examine(check) for check in resource.health_checks])


def complaint(health: Health) -> str | None:
    """What is not ok, a line or more for each such check; None when all is well."""
    return "\n".join(_words(each) for each in health if each.status is not HealthStatus.OK) or None


def _words(bad: Examination) -> str:
    said = f": {bad.output}" if bad.output else ""
    return f"health check {bad.name!r} is {bad.status}{said}"


async def _examine(check: HealthCheck) -> Examination:
    began = trio.current_time()
    tries = 1
    while (finding := await _look(check)).status is not HealthStatus.OK and tries < check.tries:
        await trio.sleep(check.try_sleep)
        tries += 1
    duration = trio.current_time() - began
    return Examination(check.label, finding.status, finding.output[:MOST_OUTPUT], tries, duration)


async def _look(check: HealthCheck) -> HealthResult:
    """One try. What keeps it from an answer is an answer too: unknown."""
    name, value = check.method
    try:
        with trio.move_on_after(check.timeout or math.inf):
            return await find_runner(name).examine(value)
        problem = f"no answer within {check.timeout:g} s"
    except ResourceError as error:
        problem = error.message if error.hint is None else f"{error.message}; {error.hint}"
    except Exception as error:  # noqa: BLE001 - a bug in one runner must not end the others' run
        problem = f"{type(error).__name__}: {error}"
    return HealthResult(HealthStatus.UNKNOWN, problem)
