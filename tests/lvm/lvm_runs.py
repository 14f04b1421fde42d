"""Runs the programs of LVM, and one resource of it, whose rehearsal must tell the truth."""

from __future__ import annotations

import subprocess

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.testing.story import converge_once


def lvm(*words, check=True):
    """The output of a program of LVM that needs no device mapper."""
    program, *rest = map(str, words)
    command = [program, "--driverloaded", "n", *rest]
    return subprocess.run(command, check=check, capture_output=True, text=True).stdout


async def converge(resource, *, noop=False):
    """The result of a check, with what it did or its error."""
    _, story = await converge_once(resource, options=RunOptions(noop=noop))
    check = story.checks(resource.ref)[-1]
    return story.result(resource.ref), "; ".join((*check.actions, check.error or "")).strip("; ")


async def must_change(make):
    """What was done: foretold, and nothing is left to do."""
    foretold = await converge(make(), noop=True)
    result, did = await converge(make())
    assert (foretold[0], result) == (Result.WOULD_CHANGE, Result.CHANGED), (foretold, did)
    assert foretold[1].replace("Would have ", "") == did
    assert await converge(make()) == (Result.OK, "")
    return did


async def must_fail(make, world):
    """The error: foretold, and nothing has changed."""
    before = world()
    foretold = await converge(make(), noop=True)
    result, words = await converge(make())
    assert foretold[0] is result is Result.FAILED, (foretold, words)
    assert world() == before
    return words
