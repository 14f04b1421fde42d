"""The manifest is edited under a running converger: scenarios 21 and 23 of the specification, as a person meets them."""

from __future__ import annotations

import gc
import json
import os
import signal
import threading
import weakref
from functools import partial

import pytest
import trio
import trio.testing
from files_of_cli import put
from processes_of_cli import finish, next_event, spawned, up_to, wait_until

from reactor.cli.running.loaded_files import Generation
from reactor.cli.running.reloading import Reloader
from reactor.console.display import Display
from reactor.engine.engine import Engine
from reactor.engine.events import Ended, EventsLost, WatcherChanged
from reactor.engine.options import RunOptions
from reactor.loading import load
from reactor.resource.diagnostic import Diagnostic, ManifestError
from reactor.resource.gc_control import gc_paused
from reactor.resource.watch import PathWatch, WatchState
from reactor.watchers.inotify import InotifyWatcher


def manifest_text(root, contents, extra=""):
    ids = f"owner: '{os.getuid()}', group: '{os.getgid()}'"
    files = "".join(f"      - {root}/{name}: {{content: {text}}}\n" for name, text in contents.items())
    return (
        f"resources:\n  - file:\n      - defaults: {{{ids}, mode: '0644', ensure: present}}\n{files}{extra}"
    )


def overwrite(path, text):
    path.write_text(text)


@pytest.fixture
def follow(tmp_path):
    """Yields a manifest's path and a way to wait for the next event of a kind of a converger that runs on it."""
    path = tmp_path / "site.yaml"
    path.write_text(manifest_text(tmp_path, {"a": "one", "b": "two"}))
    with spawned("run", "--format", "json", path) as process:
        heard = partial(next_event, process)
        heard("converged")
        yield process, path, heard
        process.send_signal(signal.SIGTERM)
        finish(process)


def test_a_pipe_in_place_of_the_manifest_is_refused_and_keeps_no_later_one_out(follow, tmp_path):
    """To open it would be to wait for somebody who writes."""
    _, path, heard = follow
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "pipe").replace(path)
    assert "the manifest is a pipe" in heard("reloadrejected")["problems"][0]
    put(path, manifest_text(tmp_path, {"a": "one", "b": "changed"}))
    assert heard("reloaded")["changed"] == [f"file#{tmp_path}/b"]
    heard("converged")
    assert (tmp_path / "b").read_text() == "changed"


@pytest.mark.parametrize("edit", [put, overwrite])
def test_an_edit_of_the_manifest_is_in_force_at_once(follow, tmp_path, edit):
    _, path, heard = follow
    edit(path, manifest_text(tmp_path, {"a": "one", "b": "changed", "c": "new"}))
    event = heard("reloaded")
    assert (event["kept"], event["changed"], event["added"], event["gone"]) == (
        1, [f"file#{tmp_path}/b"], [f"file#{tmp_path}/c"], [],
    )  # fmt: skip
    assert heard("checked")["causes"] == ["intent"]
    heard("converged")
    assert (tmp_path / "b").read_text() == "changed"
    assert (tmp_path / "c").read_text() == "new"


@pytest.mark.parametrize(
    ("invalid", "line", "words"),
    [
        ("- exec: [{x: {require: exec#y}}, {y: {require: exec#x}}]", 5, "exec#x requires exec#y"),
        ("- exce: [{x: {command: 'true'}}]", 5, "did you mean 'exec'?"),
        ("- exec: [{x: {require: exec#nowhere}}]", 5, "there is no exec#nowhere in the manifest"),
        ("- exec: [", 6, "bad YAML"),
    ],
    ids=["cycle", "kind", "reference", "syntax"],
)
def test_scenario_23_an_invalid_manifest_changes_nothing_and_is_explained(
    follow, tmp_path, invalid, line, words
):
    process, path, heard = follow
    put(path, manifest_text(tmp_path, {"a": "must not happen"}, f"  {invalid}\n"))
    [problem] = heard("reloadrejected")["problems"]
    assert problem.startswith(f"{path}:{line}:")
    (tmp_path / "a").write_text("drift")
    assert heard("checked")["result"] == "changed", "the old graph goes on"
    assert (tmp_path / "a").read_text() == "one"
    put(path, manifest_text(tmp_path, {"a": "three", "b": "two"}))
    assert heard("reloaded")["changed"] == [f"file#{tmp_path}/a"]
    heard("converged")
    assert (tmp_path / "a").read_text() == "three"
    process.send_signal(signal.SIGTERM)
    assert words in finish(process).err


def test_a_manifest_that_vanishes_is_no_reason_to_stop(follow, tmp_path):
    _, path, heard = follow
    text = path.read_text()
    path.unlink()
    assert "no such file" in heard("reloadrejected")["problems"][0].lower()
    put(path, text.replace("two", "back"))
    assert heard("reloaded")["changed"] == [f"file#{tmp_path}/b"]


@pytest.mark.parametrize(
    ("uses", "bad", "good"),
    [
        ("content: \"{{ template('t.templ') }}\"", "{{ nope }}", "new"),
        ("content: \"{{ template('t.templ') }}\"", "{{ 1 + }}", "new"),
        ("content: new, control: {if: \"template('t.templ')\"}", "no bool", "${ true }"),
    ],
)
def test_a_manifest_that_a_file_made_invalid_is_in_force_when_that_is_repaired(
    follow, tmp_path, uses, bad, good
):
    _, path, heard = follow
    template, c = tmp_path / "t.templ", f"      - {tmp_path}/c: {{{uses}}}\n"
    template.write_text(bad)
    put(path, manifest_text(tmp_path, {"a": "three", "b": "two"}, c))
    heard("reloadrejected")
    template.write_text(good)
    wait_until((tmp_path / "c").exists)
    assert heard("reloaded")["changed"] == [f"file#{tmp_path}/a"]
    heard("converged")
    assert [(tmp_path / name).read_text() for name in "abc"] == ["three", "two", "new"]


def test_what_an_edit_leaves_out_of_a_part_of_the_manifest_is_said_once(tmp_path):
    path = tmp_path / "site.yaml"
    path.write_text(manifest_text(tmp_path, {"a": "one", "b": "two"}))
    needs_b = f"  - exec:\n      - check: {{command: 'true', require: ['file#{tmp_path}/b']}}\n"
    with spawned("run", "--exclude", "file#*/b", "--format", "json", path) as process:
        said = up_to(process, "converged")
        for contents in ({"a": "other", "b": "two"}, {"a": "one", "b": "two"}):
            put(path, manifest_text(tmp_path, contents, needs_b))
            said += up_to(process, "reloaded")
        process.send_signal(signal.SIGTERM)
        finish(process)
    left_out = [event["left_out"] for event in said if event["event"] == "selection"]
    assert left_out == [[], [{"ref": "exec#check", "because": f"file#{tmp_path}/b"}]]


def test_a_hangup_reloads(follow):
    process, _, heard = follow
    process.send_signal(signal.SIGHUP)
    assert heard("reloaded")["kept"] == 2


def test_an_edit_of_a_source_is_intent_and_a_change_of_its_copy_is_drift(tmp_path):
    source, copy = tmp_path / "source", tmp_path / "copy"
    source.write_text("one\n")
    ids = f"owner: '{os.getuid()}', group: '{os.getgid()}', mode: '0644'"
    site = tmp_path / "site.yaml"
    site.write_text(f"resources:\n  - file:\n      - {copy}: {{ensure: present, source: source, {ids}}}\n")
    with spawned("run", "--format", "json", site) as process:
        repairs = (
            event
            for event in map(json.loads, process.stdout)
            if event["event"] == "checked" and event["result"] == "changed"
        )
        assert next(repairs)["causes"] == ["initial"]
        source.write_text("two\n")
        assert next(repairs)["causes"] == ["intent"]
        assert copy.read_text() == "two\n"
        copy.write_text("three\n")
        assert next(repairs)["causes"] == ["drift"]
        process.send_signal(signal.SIGTERM)
        finish(process)


def test_settings_that_are_edited_are_in_force_without_a_restart(tmp_path):
    """Three commands that wait for one another to have begun: with two jobs they never all end, with three they do."""
    site, here = tmp_path / "site.yaml", tmp_path
    waits = " && ".join(f"until test -e {here}/begun{n}; do sleep 0.01; done" for n in range(3))
    entries = "".join(
        f'      - c{n}: {{provider: shell, command: "touch {here}/begun{n} && {waits}"}}\n' for n in range(3)
    )
    text = f"resources:\n  - exec:\n{entries}settings: {{jobs: "
    site.write_text(f"{text}2}}\n")
    with spawned("run", "--format", "json", site) as process:
        wait_until(lambda: len(list(here.glob("begun?"))) == 2)
        put(site, f"{text}3}}\n")
        for line in process.stdout:
            if json.loads(line)["event"] == "converged":
                break
        process.send_signal(signal.SIGTERM)
        finish(process)
    assert len(list(here.glob("begun?"))) == 3


def test_a_new_version_reports_the_warnings_that_the_last_one_had_not(follow, tmp_path):
    _, path, heard = follow
    resources = manifest_text(tmp_path, {"a": "one"})
    put(path, f"data:\n  x: 1 # @requird\n{resources}")
    assert "unknown annotation @requird" in heard("warning")["text"]
    heard("reloaded")
    put(path, f"data:\n  x: 1 # @requird\n  y: 1 # @scret\n{resources}")
    assert "unknown annotation @scret" in heard("warning")["text"]


class Asked(Reloader):
    """Counts how often it was asked for a reload."""

    requests = 0

    def request(self, *, again=False):
        self.requests += 1


@pytest.mark.parametrize(("edited", "requests"), [("before it was read", 0), ("while it was loaded", 1)])
async def test_an_edit_that_no_one_could_notice_yet_is_found_when_listening_begins(
    tmp_path, edited, requests
):
    path = tmp_path / "site.yaml"
    path.write_text(manifest_text(tmp_path, {"a": "one"}))
    second = 10**9 if edited == "before it was read" else -(10**9)
    program, armed = load(str(path)), trio.Event()
    generation = Generation(program.graph, RunOptions(), (str(path),))
    reloader = Asked(str(path), generation, None, read_at=path.stat().st_ctime_ns + second)

    def note(event):
        if type(event) is WatcherChanged and event.state is WatchState.ARMED:
            armed.set()

    engine = Engine(program.graph, RunOptions(watch=True, audit_interval=None), note)
    reloader.attach(engine, Display("json", resources=1, continuous=True))
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(engine.run)
            await armed.wait()
            engine.cancel()
    assert reloader.requests == requests


class Losing(InotifyWatcher):
    """Loses the events of what ``edit`` does once all is watched."""

    edit = staticmethod(lambda: None)

    async def arm(self, watch, vertex):
        await super().arm(watch, vertex)
        if self.edit is not None:
            self.edit()
        type(self).edit = None
        self.sink.mark(vertex)
        self.sink.mark_all("the inotify queue overflowed")


@pytest.mark.parametrize(("edit", "is_changed"), [("no edit", False), ("another", True), ("gone", True)])
async def test_lost_events_reload_only_a_manifest_that_has_changed(tmp_path, monkeypatch, edit, is_changed):
    path, older, lost = tmp_path / "site.yaml", tmp_path / "older", trio.Event()
    older.write_text(manifest_text(tmp_path, {"a": "two"}))
    path.write_text(manifest_text(tmp_path, {"a": "one"}))
    program = load(str(path))
    generation = Generation(program.graph, RunOptions(), (str(path),))
    reloader = Asked((str(path),), generation, None, read_at=path.stat().st_ctime_ns + 10**12)
    edits = {"no edit": lambda: None, "another": partial(os.replace, older, path), "gone": path.unlink}
    monkeypatch.setattr(Losing, "edit", staticmethod(edits[edit]))

    def note(event):
        if type(event) is EventsLost:
            lost.set()

    watchers = {PathWatch: Losing}
    engine = Engine(program.graph, RunOptions(watch=True, audit_interval=None), note, watchers=watchers)
    reloader.attach(engine, Display("json", resources=1, continuous=True))
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(engine.run)
            await lost.wait()
            engine.cancel()
    assert bool(reloader.requests) is is_changed


async def test_of_two_reloads_at_once_the_one_that_read_the_manifest_last_is_in_force(tmp_path):
    path = tmp_path / "site.yaml"
    path.write_text(manifest_text(tmp_path, {"a": "old"}))
    program, begun, may_end = load(str(path)), threading.Event(), threading.Event()

    def read():
        return Generation(load(str(path)).graph, RunOptions(), (str(path),))

    def slowly_at_first():
        first, generation = not begun.is_set(), read()
        begun.set()
        if first:
            assert may_end.wait(60)
        return generation

    reloader = Reloader((str(path),), Generation(program.graph, RunOptions()), slowly_at_first, read_at=0)
    engine = Engine(program.graph, RunOptions(watch=True, audit_interval=None), str)
    reloader.attach(engine, Display("json", resources=1, continuous=True))
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            await nursery.start(engine.run)
            async with trio.open_nursery() as reloads:
                reloads.start_soon(engine.manifest_follower.renew)
                await trio.to_thread.run_sync(begun.wait)
                path.write_text(manifest_text(tmp_path, {"a": "new"}))
                reloads.start_soon(engine.manifest_follower.renew)
                await trio.testing.wait_all_tasks_blocked(0.3)
                may_end.set()
            await trio.testing.wait_all_tasks_blocked()
            engine.stop()
    (resource,) = engine.vertex_table.resources
    assert resource.content == "new"


async def test_what_a_rejected_version_was_loaded_into_is_freed_at_once(tmp_path):
    """The next valid version exempts from the collector what is there: a cycle would stay for 255 more."""
    path = tmp_path / "site.yaml"
    path.write_text(manifest_text(tmp_path, {"a": "one"}))
    program, loaded = load(str(path)), []

    def rejected():
        whole = {"the manifest"}
        loaded.append(weakref.ref(whole))
        raise ManifestError([Diagnostic("R0102", "it is not valid", None, None)])

    reloader = Reloader((str(path),), Generation(program.graph, RunOptions()), rejected, read_at=0)
    engine = Engine(program.graph, RunOptions(watch=True, audit_interval=None), str)
    reloader.attach(engine, Display("json", resources=1, continuous=True))
    with trio.fail_after(60), gc_paused():
        async with trio.open_nursery() as nursery:
            await nursery.start(engine.run)
            gc.disable()
            assert not await engine.manifest_follower.renew()
            assert [each() for each in loaded] == [None]
            engine.stop()


@pytest.mark.parametrize("text", ["resources: []", "resources: {"], ids=["valid", "invalid"])
async def test_a_manifest_loaded_only_after_the_run_has_ended_is_not_put_into_force(tmp_path, text):
    path = tmp_path / "site.yaml"
    path.write_text(manifest_text(tmp_path, {"a": "old"}))
    program, begun, may_end = load(str(path)), threading.Event(), threading.Event()

    def read():
        begun.set()
        assert may_end.wait(60)
        return Generation(load(str(path)).graph, RunOptions(), (str(path),))

    reloader = Reloader((str(path),), Generation(program.graph, RunOptions()), read, read_at=0)
    events = []
    engine = Engine(program.graph, RunOptions(watch=True, audit_interval=None), events.append)
    reloader.attach(engine, Display("json", resources=1, continuous=True))
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(reloader.run)
            reloader.request()
            async with trio.open_nursery() as run:
                await run.start(engine.run)
                await trio.to_thread.run_sync(begun.wait)
                path.write_text(text)
                engine.stop()
            may_end.set()
            await trio.testing.wait_all_tasks_blocked(0.3)
            nursery.cancel_scope.cancel()
    assert isinstance(events[-1], Ended)
    assert engine.vertex_table.refs == [f"file#{tmp_path}/a"]


async def test_a_run_that_ends_does_not_wait_for_a_manifest_that_is_being_loaded(tmp_path):
    """It may be behind a URL that takes a minute not to answer."""
    begun, may_end, loaded = threading.Event(), threading.Event(), threading.Event()

    def load_for_long():
        begun.set()
        may_end.wait(60)
        loaded.set()
        raise ManifestError([])

    (tmp_path / "site.yaml").write_text("resources: []")
    generation = Generation(load(str(tmp_path / "site.yaml")).graph, RunOptions())
    reloader = Reloader((str(tmp_path),), generation, load_for_long, read_at=0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reloader.run)
        reloader.request()
        await trio.to_thread.run_sync(begun.wait)
        nursery.cancel_scope.cancel()
    assert not loaded.is_set()
    may_end.set()


def test_a_file_of_variables_that_comes_or_goes_is_in_force_at_once(tmp_path):
    path = tmp_path / "site.yaml"
    path.write_text(manifest_text(tmp_path, {"a": '"<${ Environ.WORD_OF_A_TEST ?? `` }>"'}))
    with spawned("run", path, cwd=tmp_path) as process:
        for setting, content in ((None, "<>"), ("one", "<one>"), (None, "<>"), ("two", "<two>")):
            if setting:
                put(tmp_path / ".env", f"WORD_OF_A_TEST={setting}\n")
            else:
                (tmp_path / ".env").unlink(missing_ok=True)
            wait_until(
                lambda content=content: (tmp_path / "a").exists() and (tmp_path / "a").read_text() == content
            )
        process.send_signal(signal.SIGTERM)
        finish(process)
