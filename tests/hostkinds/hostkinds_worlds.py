"""What the tests of several kinds do to the host, or ask of it."""

from __future__ import annotations

import subprocess
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from reactor.journal.journal import Journal
from reactor.testing.story import converge_once


def shell(command, *arguments):
    """Somebody else's commands; each must succeed."""
    subprocess.run(["sh", "-ec", command, "sh", *arguments], check=True)


def line(file, name):
    """The line of ``name`` in an account file of /etc, if it has one."""
    return next(
        (found for found in Path("/etc", file).read_text().splitlines() if found.startswith(f"{name}:")), None
    )


async def assert_undone(resource, world):
    """Converge ``resource``, then what undoes it: that brings the world back."""
    before = world()
    reversal = await resource.reversal(await resource.observe())
    written_down = reversal.model_dump_json(exclude_unset=True, by_alias=True)
    with TemporaryDirectory() as state, closing(Journal.open(state, "/etc/site.yaml", print)) as journal:
        await converge_once(resource, run_store=journal)
    assert await resource.verify() == ()
    assert world() != before
    reversal = type(resource).model_validate_json(written_down)
    await converge_once(reversal)
    assert await reversal.verify() == ()
    assert world() == before
