"""A resource in a one-shot run of its own."""

from reactor import RunOptions
from reactor.testing.story import converge_once


async def converged(resource, *, noop=False):
    """The result of the resource, with what was done to it or why it failed."""
    _, story = await converge_once(resource, options=RunOptions(noop=noop))
    check = story.checks(resource.ref)[-1]
    return story.result(resource.ref), "; ".join((*check.actions, check.error or "")).strip("; ")
