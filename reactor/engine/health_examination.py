"""The health checks of one resource, and what they make of the result of its check."""

from __future__ import annotations

import math

import trio

from reactor.engine.check import CheckResult
from reactor.engine.outcome import Outcome
from reactor.resource.base import Resource
from reactor.resource.health import Examination, Health, HealthCheck, HealthResult, HealthStatus, find_runner
from reactor.resource.plan import ResourceError

MOST_OUTPUT = 4096
"""How many characters of a health check's output are kept.

Nagios plugins may write as much, and every report includes it.
"""


async def examined(resource: Resource, result: CheckResult) -> CheckResult:
    """``result`` with the results of the health checks of ``resource``. Any bad result makes the result a failure.

    Health checks also run when the check failed, but not when a change was only planned: that would test a state which
    is about to be replaced. Raises nothing except trio's Cancelled.
    """
    if result.outcome is Outcome.WOULD_CHANGE:
        return result
    health = await _examine_all(resource)
    problem = _complaint(health)
    if problem is None:
        return result._replace(health=health)
    outcome = Outcome.FAILED if result.outcome is Outcome.FAILED else Outcome.UNHEALTHY
    error = problem if result.error is None else f"{result.error}\n{problem}"
    return result._replace(outcome=outcome, error=error, health=health, code=result.code or "R0507")


async def _examine_all(resource: Resource) -> Health:
    """Run the health checks of ``resource``, one after the other. Raises nothing but trio's Cancelled."""
    return tuple([await _examine(check) for check in resource.health_checks])


def _complaint(health: Health) -> str | None:
    """The health checks that are not ok, each with a line or more; None when all are ok."""
    return "\n".join(_words(each) for each in health if each.status is not HealthStatus.OK) or None


def _words(bad: Examination) -> str:
    output = f": {bad.output}" if bad.output else ""
    return f"health check {bad.name!r} is {bad.status}{output}"


async def _examine(check: HealthCheck) -> Examination:
    began = trio.current_time()
    tries = 1
    while (finding := await _probe(check)).status is not HealthStatus.OK and tries < check.tries:
        await trio.sleep(check.try_sleep)
        tries += 1
    duration = trio.current_time() - began
    return Examination(check.label, finding.status, finding.output[:MOST_OUTPUT], tries, duration)


async def _probe(check: HealthCheck) -> HealthResult:
    """One attempt of ``check``. When it can't give an answer, the result is UNKNOWN."""
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
