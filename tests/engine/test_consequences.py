"""A dry run reports what a resource would do because of earlier changes."""

from engine_worlds import Late, managed

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resource.declared import declare
from reactor.testing.scripted import Scripted, scripted
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


async def test_in_a_dry_run_what_is_not_managed_here_has_no_consequences_and_refreshes_nothing(tmp_path):
    file = managed(tmp_path / "f")
    reader = Reader(name="r", require=[file.ref])
    declare(reader, reader.declared._replace(deferred=Late("not on this host")))
    subscriber = scripted("s", drifted=False, subscribe=[reader.ref])
    ended, story = await converge_once(file, reader, subscriber, options=RunOptions(noop=True))
    assert story.result(reader.ref) is Result.SKIPPED
    assert story.result(subscriber.ref) is Result.OK
    assert ended.counts[Result.WOULD_CHANGE] == 1
