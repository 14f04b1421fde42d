"""A resource in a one-shot run of its own, and what a dry run must say before it."""

from reactor import Result, RunOptions
from reactor.testing.story import converge_once


async def checked(resource, **options):
    """The one check of the resource."""
    _, story = await converge_once(resource, options=RunOptions(**options))
    [check] = story.checks(resource.ref)
    return check


async def converged(resource, *, noop=False):
    """The result of the resource, with what was done to it or why it failed."""
    check = await checked(resource, noop=noop)
    return check.result, "; ".join((*check.actions, check.error or "")).strip("; ")


async def must_change(converge, *words, seen=lambda: None, is_literal=True, **properties):
    """What ``converge`` does. A dry run says so before, and changes nothing that is ``seen``; another run has nothing to do.

    With ``is_literal``, the dry run says it in the same words.
    """
    before = seen()
    foretold, would = await converge(*words, noop=True, **properties)
    assert seen() == before
    result, did = await converge(*words, **properties)
    assert (foretold, result) == (Result.WOULD_CHANGE, Result.CHANGED), (would, did)
    assert not is_literal or would.split("; ") == [f"Would have {each}" for each in did.split("; ")]
    assert await converge(*words, **properties) == (Result.OK, "")
    return did


async def must_fail(converge, *words, seen=lambda: None, **properties):
    """The error of ``converge``. A dry run fails, too, and nothing changes that is ``seen``."""
    before = seen()
    foretold, would = await converge(*words, noop=True, **properties)
    result, said = await converge(*words, **properties)
    assert foretold is result is Result.FAILED, (would, said)
    assert seen() == before
    return said
