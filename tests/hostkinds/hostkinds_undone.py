"""What undoes a resource brings the world back."""

from __future__ import annotations

from contextlib import closing
from tempfile import TemporaryDirectory

from reactor.journal.journal import Journal
from reactor.testing.story import converge_once


async def assert_undone(resource, world):
    """Converge ``resource``, then what undoes it."""
    before = world()
    reversal = await resource.reversal(await resource.observe())
    written_down = reversal.model_dump_json(exclude_unset=True, by_alias=True)
    with TemporaryDirectory() as state, closing(Journal.open(state, "/etc/site.yaml", print)) as journal:
        await converge_once(resource, memory=journal)
    assert await resource.verify() == ()
    assert world() != before
    reversal = type(resource).model_validate_json(written_down)
    await converge_once(reversal)
    assert await reversal.verify() == ()
    assert world() == before
