"""Runs the programs of LVM, and one resource of it, whose rehearsal must tell the truth."""

from __future__ import annotations

import subprocess

from one_shot import converged

from reactor.engine.events import Result


def lvm(*words, check=True):
    """The output of a program of LVM that needs no device mapper."""
    program, *rest = map(str, words)
    command = [program, "--driverloaded", "n", *rest]
    return subprocess.run(command, check=check, capture_output=True, text=True).stdout


async def must_change(make):
    """What was done: foretold, and nothing is left to do."""
    foretold = await converged(make(), noop=True)
    result, did = await converged(make())
    assert (foretold[0], result) == (Result.WOULD_CHANGE, Result.CHANGED), (foretold, did)
    assert foretold[1].replace("Would have ", "") == did
    assert await converged(make()) == (Result.OK, "")
    return did


async def must_fail(make, world):
    """The error: foretold, and nothing has changed."""
    before = world()
    foretold = await converged(make(), noop=True)
    result, words = await converged(make())
    assert foretold[0] is result is Result.FAILED, (foretold, words)
    assert world() == before
    return words
