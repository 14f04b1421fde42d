"""A rehearsal says what a resource would do because of what the run would change before it."""

from engine_worlds import managed

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.testing.scripted import Scripted
from reactor.testing.story import converge_once


class Reader(Scripted, kind="reader"):
    """It is as desired, and reads all that is changed before it."""

    def ensuing(self, changed):
        return [f"Would have read {path}" for path in sorted(changed)]


async def test_a_rehearsal_says_what_follows_from_a_change(tmp_path):
    file = managed(tmp_path / "f")
    reader = Reader(name="r", require=[file.ref])
    reader.script.drifted = False
    _, story = await converge_once(file, reader, options=RunOptions(noop=True))
    (check,) = story.checks(reader.ref)
    assert (check.result, check.actions) == (Result.WOULD_CHANGE, (f"Would have read {tmp_path}/f",))


async def test_a_rehearsal_that_changes_nothing_before_says_nothing_of_it(tmp_path):
    file = managed(tmp_path / "f")
    await converge_once(file)
    reader = Reader(name="r", require=[file.ref])
    reader.script.drifted = False
    _, story = await converge_once(managed(tmp_path / "f"), reader, options=RunOptions(noop=True))
    (check,) = story.checks(reader.ref)
    assert (check.result, check.actions) == (Result.OK, ())
