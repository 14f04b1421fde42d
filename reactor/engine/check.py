"""One check of one resource: observe, plan, apply, verify. The same code for noop and for real."""

from __future__ import annotations

from dataclasses import dataclass

import trio

from reactor.engine.scheduler import Outcome
from reactor.resource.base import Resource
from reactor.resource.plan import Plan, ResourceError


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check found and did: ``actions`` and ``diffs`` are texts for people."""

    outcome: Outcome
    actions: tuple[str, ...] = ()
    diffs: tuple[str, ...] = ()
    error: str | None = None
    hint: str | None = None


AS_DESIRED = Verdict(Outcome.OK)


async def check(resource: Resource, *, refresh: bool, noop: bool, diff: bool) -> Verdict:
    """Bring ``resource`` to its desired state, or with ``noop`` say what that would take.

    Never raises for what the world or the kind did wrong: that is a FAILED verdict. Lets trio's Cancelled through.
    """
    done: list[str] = []
    try:
        timeout = resource.meta.timeout
        if timeout is None:
            return await _check(resource, refresh, noop, diff, done)
        with trio.fail_after(timeout):
            return await _check(resource, refresh, noop, diff, done)
    except trio.TooSlowError:
        return Verdict(
            Outcome.FAILED, tuple(done), error=f"the check took longer than its timeout of {timeout:g} s"
        )
    except ResourceError as error:
        return Verdict(Outcome.FAILED, tuple(done), error=error.message, hint=error.hint)
    except OSError as error:
        return Verdict(Outcome.FAILED, tuple(done), error=_os_error_text(error))
    except Exception as error:  # noqa: BLE001 - a bug in one kind must not end the others' run
        text = f"the kind {resource.kind} failed unexpectedly: {type(error).__name__}: {error}"
        return Verdict(
            Outcome.FAILED, tuple(done), error=text, hint="this is a bug in the kind; please report it"
        )


async def _check(resource: Resource, refresh: bool, noop: bool, diff: bool, done: list[str]) -> Verdict:
    plan = resource.plan(await resource.observe(), refresh=refresh)
    if not plan:
        return AS_DESIRED
    diffs = await _diffs(plan) if diff else ()
    if noop:
        return Verdict(Outcome.WOULD_CHANGE, tuple(action.would for action in plan), diffs)
    for action in plan:
        await action.run()
        done.append(action.did)
    if left := await resource.verify():
        wanted = "; ".join(action.would for action in left)
        text = f"the desired state was not reached; checked again: {wanted}"
        return Verdict(
            Outcome.FAILED, tuple(done), diffs, text, "something else may be changing it at the same time"
        )
    return Verdict(Outcome.CHANGED, tuple(done), diffs)


async def _diffs(plan: Plan) -> tuple[str, ...]:
    return tuple([await action.diff() for action in plan if action.diff is not None])


def _os_error_text(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename is not None else reason
