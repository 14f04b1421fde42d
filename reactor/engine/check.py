"""One check of one resource: observe, plan, apply, verify.

Dry and real runs use the same code.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

import trio

from reactor.engine.outcome import Outcome
from reactor.named_tuple import NamedTuple
from reactor.resource.base import Resource
from reactor.resource.health import Health
from reactor.resource.mount_health import fragile_mounts
from reactor.resource.plan import Action, Diff, Plan, ResourceError
from reactor.resource.redaction import LONG, can_mask_all, redact, without_removed_lines
from reactor.resource.threads import in_thread
from reactor.resource.watch import PathWatch


class CheckResult(NamedTuple):
    """What a check found and did. ``actions`` and ``diffs`` are text for people to read.

    ``declined`` is the reason why this resource is not managed on this host; None if it is managed.
    """

    outcome: Outcome
    actions: tuple[str, ...] = ()
    diffs: tuple[str, ...] = ()
    error: str | None = None
    hint: str | None = None
    declined: str | None = None
    health: Health = ()
    missing: str | None = None
    """What was missing and made the check fail, as in a `ResourceError`."""
    drifted_again: str | None = None
    """What differs again because another program changed it after all actions were done."""
    code: str | None = None
    """The error code of ``error``."""
    waits_for: str | None = None
    """What blocks the resource and is no resource, as in a `ResourceError`."""

    @classmethod
    def failed(cls, error: ResourceError, actions: tuple[str, ...] = ()) -> CheckResult:
        """The result for a check that ended with ``error``."""
        return cls(
            Outcome.FAILED,
            actions,
            error=error.message,
            hint=error.hint,
            missing=error.missing,
            code=error.code,
            waits_for=error.waits_for,
        )


Apply = Callable[[Resource, Plan, list[str]], Awaitable[None]]
"""Replaces `perform`: applies the plan of a resource, and adds to the list what was done."""

AS_DESIRED = CheckResult(Outcome.OK)
MOST_PLANS = 5
"""How many different plans one check carries out while other programs keep changing the resource."""


BeforeApply = Callable[[Any], Awaitable[None]]
"""Called with the observed state before the first action of a plan, or in a dry run before the plan is described."""


def check(
    resource: Resource,
    *,
    refresh: bool,
    noop: bool,
    diff: bool,
    before_apply: BeforeApply,
    apply: Apply | None = None,
    done: list[str] | None = None,
) -> Coroutine[Any, Any, CheckResult]:
    """Bring ``resource`` to its desired state, or with ``noop`` describe what that would take.

    ``apply`` replaces `perform`. ``done`` gets a sentence about each action as it is carried out. Errors of the host or
    of the kind are not raised: they give a FAILED result. Only trio's Cancelled is raised.
    """
    how, done = (noop, diff, before_apply, apply), [] if done is None else done
    if resource.meta.timeout is None:
        return _checked(resource, refresh, how, done)
    return _checked_in_time(resource, resource.meta.timeout, refresh, how, done)


_How = tuple[bool, bool, BeforeApply, Apply | None]
"""The arguments of `check` that matter once there is a plan: ``noop``, ``diff``, ``before_apply`` and ``apply``."""


async def _checked_in_time(
    resource: Resource, seconds: float, refresh: bool, how: _How, done: list[str]
) -> CheckResult:
    try:
        with trio.fail_after(seconds):
            return await _checked(resource, refresh, how, done)
    except trio.TooSlowError:
        error = f"the check took longer than its timeout of {seconds:g} s"
        hint = "find out what it waits for, or allow more time: meta: {timeout: ...}"
        return CheckResult(Outcome.FAILED, tuple(done), error=error, hint=hint, code="R0503")


async def _checked(resource: Resource, refresh: bool, how: _How, done: list[str]) -> CheckResult:
    try:
        state = await resource.observe()
        if not (plan := resource.plan(state, refresh=refresh)):
            return AS_DESIRED
        return await _carried_out(resource, state, plan, how, done)
    except ResourceError as failure:
        return CheckResult.failed(failure, tuple(done))
    except OSError as failure:
        error, hint, code = _os_error_text(failure), None, "R0502"
    except Exception as failure:  # noqa: BLE001 - a bug in one kind must not end the others' run
        error = f"the kind {resource.kind} failed unexpectedly: {type(failure).__name__}: {failure}"
        hint, code = "this is a bug in the kind; please report it", "R0506"
    return CheckResult(Outcome.FAILED, tuple(done), error=error, hint=hint, code=code)


async def _carried_out(resource: Resource, state: Any, plan: Plan, how: _How, done: list[str]) -> CheckResult:
    """Carry out ``plan``, or with ``noop`` only describe it, and return the result. Adds to ``done`` what was done."""
    noop, diff, before_apply, apply = how
    seen = [await action.diff() for action in plan if action.diff is not None] if diff else []
    await before_apply(state)
    if noop:
        would = tuple([await action.planned() for action in plan])
        return CheckResult(Outcome.WOULD_CHANGE, would, await _texts(resource, seen))
    left, tried = await _carry_out(resource, plan, apply, done)
    return _judged(left, tried, _shared(tuple(done)), await _texts(resource, seen) if seen else ())


@lru_cache(maxsize=256)
def _shared(done: tuple[str, ...]) -> tuple[str, ...]:
    """``done``; one object for all checks that did the same, because events are kept."""
    return done


def inspected_paths(resource: Resource) -> Iterator[str]:
    """The paths that a check of ``resource`` reads."""
    yield from (watch.path for watch in resource.watches() if isinstance(watch, PathWatch))
    if (deferred := resource.declared.deferred) is not None:
        yield from deferred.reads


async def perform(plan: Plan, done: list[str]) -> None:
    """Carry out the actions of ``plan`` in order, and add a sentence about each to ``done``.

    Raises what the actions raise.
    """
    for action in plan:
        if await action.run():
            action.is_proof = True
        done.append(action.did if action.happened is None else action.made())


async def _carry_out(
    resource: Resource, plan: Plan, apply: Apply | None, done: list[str]
) -> tuple[Plan, Plan]:
    """Apply ``plan``, then whatever `verify` says is still to do, as long as all of it is new.

    Another program may change the same thing at the same time: a difference that was not in the plan is not a failure
    of the plan. Returns what is still to do, and all that was carried out.
    """
    tried: Plan = ()
    left = plan
    for _ in range(MOST_PLANS):
        tried += left
        await (perform(left, done) if apply is None else apply(resource, left, done))
        if (fragile := fragile_mounts()).by_point:  # a change may take long, and mounts die meanwhile
            await fragile.ask_all(inspected_paths(resource))
        if unsure := [action for action in left if action.reads_back and not action.is_proof]:
            await _read_back(resource, unsure)
        left = await resource.verify()
        if not left or any(action in tried for action in left):
            break
    return left, tried


async def _read_back(resource: Resource, unsure: list[Action]) -> None:
    """Observe which of the actions ``unsure`` took effect, and mark these as proved."""
    still_due = resource.plan(await resource.observe(), refresh=False)
    for action in unsure:
        action.is_proof = action not in still_due


def _judged(left: Plan, tried: Plan, done: tuple[str, ...], diffs: tuple[str, ...]) -> CheckResult:
    """The result when ``left`` is still to do after ``tried`` was carried out.

    If every action left was proved to have taken effect, or was never tried, something else has changed the resource
    since.
    """
    if not left:
        return CheckResult(Outcome.CHANGED, done, diffs)
    wanted = "; ".join(action.would for action in left)
    proved = [action for action in tried if action.is_proof]
    if all(action in proved or action not in tried for action in left):
        return CheckResult(Outcome.CHANGED, done, diffs, drifted_again=wanted)
    text = f"the desired state was not reached; checked again: {wanted}"
    hint = "something else may be changing it at the same time"
    return CheckResult(Outcome.FAILED, done, diffs, text, hint, code="R0504")


async def _texts(resource: Resource, diffs: Sequence[Diff]) -> tuple[str, ...]:
    if resource.secrets:
        diffs = [partial(without_secrets, resource, diff) for diff in diffs]
    return tuple([await redact_aside(await text()) for text in diffs])


def _os_error_text(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename is not None else reason


async def without_secrets(resource: Resource, diff: Diff) -> str:
    """The text of ``diff`` with secrets masked; just a sentence if a secret is too short to be masked."""
    if not can_mask_all():
        return f"not shown: {', '.join(sorted(resource.secrets))} of {resource.ref} is secret\n"
    return await redact_aside(without_removed_lines(await diff()))


async def redact_aside(text: str) -> str:
    """``text`` with every secret masked. Uses a thread for a long text: a million characters take seconds.

    Raises OSError when no thread can be started.
    """
    return redact(text) if len(text) <= LONG else await in_thread(redact, text)
