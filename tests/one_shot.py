"""A resource in a one-shot run of its own."""

from reactor import RunOptions
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
