"""Runs the programs of LVM, and one resource of it, whose rehearsal must tell the truth."""

from __future__ import annotations

import subprocess

import one_shot


def lvm(*words, check=True):
    """The output of a program of LVM that needs no device mapper."""
    program, *rest = map(str, words)
    command = [program, "--driverloaded", "n", *rest]
    return subprocess.run(command, check=check, capture_output=True, text=True).stdout


def run_of(make):
    """A function that runs the resource that ``make`` makes."""

    async def run(*, noop=False):
        return await one_shot.converged(make(), noop=noop)

    return run


async def must_change(make):
    """What was done: foretold, and nothing is left to do."""
    return await one_shot.must_change(run_of(make))


async def must_fail(make, world):
    """The error: foretold, and nothing has changed."""
    return await one_shot.must_fail(run_of(make), seen=world)
