"""A dry run reports what a resource would do because of earlier changes."""

from engine_worlds import managed

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.testing.scripted import Scripted
from reactor.testing.story import converge_once


class Reader(Scripted, kind="reader"):
    """It is as desired, and reads all that is changed before it."""

    def consequences(self, changed):
        return [f"Would have read {path}" for path in sorted(changed)]


async def test_a_dry_run_reports_the_consequences_of_a_change(tmp_path):
    file = managed(tmp_path / "f")
    reader = Reader(name="r", require=[file.ref])
    reader.script.drifted = False
    _, story = await converge_once(file, reader, options=RunOptions(noop=True))
    (check,) = story.checks(reader.ref)
    assert (check.result, check.actions) == (Result.WOULD_CHANGE, (f"Would have read {tmp_path}/f",))


async def test_a_dry_run_without_an_earlier_change_reports_no_consequences(tmp_path):
    file = managed(tmp_path / "f")
    await converge_once(file)
    reader = Reader(name="r", require=[file.ref])
    reader.script.drifted = False
    _, story = await converge_once(managed(tmp_path / "f"), reader, options=RunOptions(noop=True))
    (check,) = story.checks(reader.ref)
    assert (check.result, check.actions) == (Result.OK, ())
