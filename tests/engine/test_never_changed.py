"""Resources that no run changes, by ``mode: warn`` or ``noop``: what a dry run, and others, make of them."""

import os

import pytest
from engine_worlds import managed

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resource.declared import declare
from reactor.resources.apply import Apply
from reactor.resources.file import File
from reactor.testing.scripted import scripted
from reactor.testing.story import converge_once

DRY = RunOptions(noop=True)
READ_ONLY = pytest.mark.parametrize("meta", [{"mode": "warn"}, {"noop": True}], ids=["warn", "noop"])


def directory(path, **properties):
    owner = {"owner": str(os.getuid()), "group": str(os.getgid()), "mode": "0755"}
    return File(name=str(path), ensure="directory", **owner, **properties)


def whole(*members):
    """An `apply` of these."""
    composite = Apply(name="/child.yaml")
    declare(composite, composite.declared._replace(members=tuple(each.ref for each in members)))
    return composite


@READ_ONLY
async def test_a_dry_run_tells_no_refresh_for_what_no_run_changes(autojump_clock, meta):
    a = scripted("a", meta=meta)
    b = scripted("b", drifted=False, subscribe=["scripted#a"])
    c = scripted("c", drifted=False, subscribe=["scripted#a"], meta=meta)
    _, story = await converge_once(a, b, c, options=DRY)
    assert [story.result(each.ref) for each in (a, b, c)] == [
        Result.WOULD_CHANGE,
        Result.OK,
        Result.WOULD_CHANGE,
    ]


@READ_ONLY
async def test_a_dry_run_fails_where_only_what_no_run_changes_could_help(tmp_path, meta):
    d, f = directory(tmp_path / "d", meta=meta), managed(tmp_path / "d/f")
    _, story = await converge_once(d, f, options=DRY)
    (check,) = story.checks(f.ref)[-1:]
    assert (check.result, check.error) == (Result.FAILED, f'"{tmp_path}/d" is not a directory')


@READ_ONLY
async def test_what_no_run_changes_either_counts_on_another_of_its_sort(tmp_path, meta):
    d, f = directory(tmp_path / "d", meta=meta), managed(tmp_path / "d/f", meta=meta)
    for options in (DRY, RunOptions()):
        _, story = await converge_once(d, f, options=options)
        assert story.result(f.ref) is Result.WOULD_CHANGE


@READ_ONLY
async def test_a_member_that_no_run_changes_does_not_keep_back_the_change_of_another(autojump_clock, meta):
    a, b = scripted("a"), scripted("b", meta=meta)
    child = whole(a, b)
    subscriber = scripted("s", drifted=False, subscribe=[child.ref])
    _, story = await converge_once(a, b, child, subscriber)
    assert story.result(child.ref) is Result.CHANGED
    assert len(subscriber.script.refreshes) == 1


@READ_ONLY
async def test_a_dry_run_tells_no_refresh_for_members_that_no_run_changes(autojump_clock, meta):
    b = scripted("b", meta=meta)
    child = whole(b)
    subscriber = scripted("s", drifted=False, subscribe=[child.ref])
    for options in (DRY, RunOptions()):
        _, story = await converge_once(b, child, subscriber, options=options)
        assert [story.result(each.ref) for each in (child, subscriber)] == [Result.WOULD_CHANGE, Result.OK]
