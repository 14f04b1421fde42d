"""What a check changed may be the manifest itself: then its new version must be usable, or the check has failed."""

from __future__ import annotations

import pytest

from reactor.engine.events import Result
from reactor.testing.scripted import Scripted
from reactor.testing.story import running


class Changed:
    """An origin whose one file every change has changed."""

    rejected = ()

    def concerns(self, paths):
        return True

    async def changed(self):
        return ["/m.yaml"]


@pytest.mark.parametrize("is_usable", [True, False])
async def test_who_writes_a_manifest_has_failed_unless_it_can_be_used(autojump_clock, is_usable):
    writer = Scripted(name="a")
    writer.script.drifted = False
    loaded = []

    async def renew():
        loaded.append(len(writer.script.applies))
        return is_usable

    async with running(writer) as story:
        await story.converged()
        follower = story.engine.manifest_follower
        follower.origin, follower.renew = Changed(), renew
        writer.script.drifted = True
        story.drift(writer.ref)
        await story.until(lambda: len(story.checks(writer.ref)) == 2)
    check = story.checks(writer.ref)[1]
    assert loaded == [1], "it was loaded once, after the change"
    assert check.result is (Result.CHANGED if is_usable else Result.FAILED)
    assert is_usable or "/m.yaml" in check.error
