"""Two resources that come to be about one file: one is refused and names the other, and nobody writes in turns."""

import os

import pytest
from file_worlds import make, mode_of

from reactor import PathWatch
from reactor.engine.events import Flapping, Result
from reactor.engine.options import RunOptions
from reactor.resources.exec import Exec
from reactor.resources.scaffold import Scaffold
from reactor.testing.story import converge_once, graph_of, running
from reactor.watchers.inotify import InotifyWatcher

WATCHERS = {PathWatch: InotifyWatcher}


@pytest.fixture
def real(tmp_path):
    (tmp_path / "real").mkdir()
    return tmp_path / "real"


@pytest.fixture
def link(tmp_path):
    """A second name of ``real`` that is not there yet."""
    return tmp_path / "ln"


def link_first(link, *resources):
    """A command that makes the symlink before ``resources`` are checked."""
    return Exec(name=f"ln -s real {link}", creates=str(link)), *resources


async def test_a_symlink_that_the_run_makes_is_seen_at_the_first_check(real, link):
    first = make(real / "f", content="first")
    second = make(link / "f", content="second", require=[first.ref])
    _, story = await converge_once(*link_first(link, first, second))
    [check] = story.checks(second.ref)
    assert check.error == f"{link}/f is {real}/f as well: {first.ref} declares another content"
    assert check.hint == "remove one of them, or make both declare the same"
    assert (real / "f").read_text() == "first"


async def test_it_is_seen_too_when_the_second_comes_first_in_the_manifest(real, link):
    first = make(real / "f", content="first")
    second = make(link / "f", content="second", require=[first.ref])
    _, story = await converge_once(*link_first(link, second, first))
    assert story.checks(second.ref)[0].error.endswith(f"{first.ref} declares another content")
    assert (real / "f").read_text() == "first"


async def test_what_was_refused_refuses_nothing(real, link, tmp_path):
    (tmp_path / "also").symlink_to("real")
    first = make(real / "f", content="first")
    refused = make(link / "f", content="second", mode="0600", require=[first.ref])
    drift = Exec(name=f"chmod 0640 {real}/f", after=[refused.ref])
    third = make(tmp_path / "also/f", require=[drift.ref])
    _, story = await converge_once(*link_first(link, first, refused, drift, third))
    assert story.result(refused.ref) is Result.FAILED
    assert story.result(third.ref) is Result.CHANGED
    assert mode_of(real / "f") == 0o644


async def test_two_that_want_the_same_are_both_as_desired(real, link):
    first, second = make(real / "f", content="x"), make(link / "f", content="x", after=[f"file#{real}/f"])
    ended, story = await converge_once(*link_first(link, first, second))
    assert ended.counts[Result.FAILED] == 0
    assert {story.result(first.ref), story.result(second.ref)} == {Result.CHANGED, Result.OK}


async def test_content_and_source_of_one_file_do_not_agree(real, link, tmp_path):
    (tmp_path / "source").write_text("second")
    first = make(real / "f", content="first")
    second = make(link / "f", source=str(tmp_path / "source"), require=[first.ref])
    _, story = await converge_once(*link_first(link, first, second))
    assert story.checks(second.ref)[0].error.endswith("declares another content")


async def test_a_dry_run_reports_it_too(real, link):
    first, second = make(real / "f", content="first"), make(link / "f", content="second")
    graph = graph_of([first, second])
    link.symlink_to("real")
    _, story = await converge_once(graph=graph, options=RunOptions(noop=True))
    results = {story.result(first.ref), story.result(second.ref)}
    assert results == {Result.WOULD_CHANGE, Result.FAILED}


async def test_directories_with_two_names_do_not_fight(real, link):
    first = make(real / "d", ensure="directory", mode="0755")
    second = make(link / "d", ensure="directory", mode="0700", require=[first.ref])
    _, story = await converge_once(*link_first(link, first, second))
    assert story.checks(second.ref)[0].error.endswith(f"{first.ref} declares another mode")
    assert mode_of(real / "d") == 0o755


async def test_a_scaffold_and_a_file_with_its_target_by_another_name_do_not_fight(real, link, tmp_path):
    (tmp_path / "templates").mkdir()
    scaffold = Scaffold(name=str(real / "d"), ensure="present", source=str(tmp_path / "templates"))
    file = make(link / "d", content="x", require=[scaffold.ref])
    _, story = await converge_once(*link_first(link, scaffold, file))
    assert story.checks(file.ref)[0].error.endswith(f"{scaffold.ref} declares another ensure")
    assert (real / "d").is_dir()


async def test_the_attributes_of_hard_links_do_not_fight(real):
    (real / "f").write_text("x")
    (real / "f").chmod(0o644)
    os.link(real / "f", real / "g")
    first = make(real / "f")
    second = make(real / "g", mode="0600", require=[first.ref])
    _, story = await converge_once(first, second)
    assert story.checks(second.ref)[0].error.endswith(f"{first.ref} declares another mode")
    assert mode_of(real / "f") == 0o644


async def test_content_makes_two_files_of_hard_links(real):
    (real / "f").write_text("x")
    os.link(real / "f", real / "g")
    first, second = make(real / "f", content="f"), make(real / "g", content="g", mode="0600")
    ended, _ = await converge_once(first, second)
    assert ended.counts[Result.FAILED] == 0
    assert [(real / name).read_text() for name in "fg"] == ["f", "g"]


async def test_a_directory_that_becomes_a_symlink_starts_no_fight(real, link, tmp_path):
    link.mkdir()
    first, second = make(real / "f", content="first"), make(link / "f", content="second")
    async with running(first, second, watchers=WATCHERS) as story:
        await story.converged()
        link.rename(tmp_path / "away")
        link.symlink_to("real")
        story.drift(second.ref)
        await story.until(lambda: story.result(second.ref) is Result.FAILED)
        assert (real / "f").read_text() == "first"
        (real / "f").write_text("drift")
        await story.until(lambda: (real / "f").read_text() == "first")
        assert story.all(Flapping) == []


async def test_a_user_who_was_refused_goes_on_when_the_other_leaves(real, link):
    first = make(real / "f", content="first")
    second = make(link / "f", content="second", after=[first.ref], meta={"delay": "0.001s"})
    graph = graph_of([first, second])
    link.symlink_to("real")
    async with running(graph=graph) as story:
        await story.until(lambda: story.result(second.ref) is Result.FAILED)
        story.engine.reload(graph_of([make(link / "f", content="second", meta={"delay": "0.001s"})]))
        await story.until(lambda: story.result(second.ref) is Result.CHANGED)
    assert (real / "f").read_text() == "second"


async def test_a_run_does_not_grow_with_the_directories_that_were_in_one_place(tmp_path):
    place, away = tmp_path / "d", tmp_path / "away"
    place.mkdir()
    file = make(place / "f", content="x")
    async with running(file, watchers=WATCHERS) as story:
        await story.until((place / "f").exists)
        for number in range(20):
            (away / str(number)).parent.mkdir(exist_ok=True)
            place.rename(away / str(number))
            place.mkdir()
            await story.until((place / "f").exists)
        await story.rest()
        assert len(story.engine.vertex_table.claimed.directories) == 1
