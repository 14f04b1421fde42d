"""What the live page is told when it asks: from a running engine, over real HTTP."""

import json
import tomllib
from pathlib import Path, PurePath

import pytest
import trio
from control_worlds import CONTINUOUS
from page_worlds import GUARD, KNOWN, paged

from reactor.engine.events import Cause, Checked, Result
from reactor.graph.export.picture import LARGEST
from reactor.journal.state_directory import PAUSES_FILE
from reactor.testing.scripted import scripted
from reactor.ui import drawing, event_buffer
from reactor.ui.event_buffer import Diffs

ROOT = Path(__file__).parents[2]


async def test_the_graph_has_a_box_for_each_resource_and_the_edges_that_matter(tmp_path):
    resources = [
        scripted("a", alias="first"),
        scripted("b", require=["scripted#a"]),
        scripted("c", require=["scripted#b", "scripted#first"], after=["scripted#a"]),
        scripted("d\n<script>", subscribe=["scripted#a"]),
    ]
    async with paged(tmp_path, *resources) as world:
        await world.story.converged()
        graph = (await world.get("/graph")).json()
    boxes = {vertex["ref"]: vertex for vertex in graph["vertices"]}
    assert list(boxes) == ["scripted#a", "scripted#b", "scripted#c", "scripted#d\n<script>"]
    assert boxes["scripted#d\n<script>"]["name"] == "d\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}<script>"
    assert {vertex["kind"] for vertex in boxes.values()} == {"scripted"}
    assert {(edge["from"][-1:], edge["to"][9:10], edge["kind"]) for edge in graph["edges"]} == {
        ("a", "b", "require"),
        ("b", "c", "require"),
        ("a", "d", "subscribe"),
    }
    for edge in graph["edges"]:
        start, end = boxes[edge["from"]], boxes[edge["to"]]
        assert start["x"] + start["width"] < end["x"]
        beginning = f"M{start['x'] + start['width']:g},{start['y'] + start['height'] / 2:g}"
        assert edge["path"].startswith(beginning)
    assert all(box["x"] + box["width"] <= graph["width"] for box in boxes.values())
    assert all(box["y"] + box["height"] <= graph["height"] for box in boxes.values())
    assert graph["status"].keys() == boxes.keys()
    assert graph["run"]["mode"] == "enforce"


async def test_a_graph_is_drawn_once_however_many_ask(tmp_path):
    async with paged(tmp_path, scripted("a")) as world:
        await world.story.converged()
        await world.get("/graph")
        drawn = world.page.drawing._drawn[None]
        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(world.get, "/graph")
        assert world.page.drawing._drawn[None] is drawn
        world.reload(scripted("a"), scripted("b"))
        assert len((await world.get("/graph")).json()["vertices"]) == 2


async def test_a_drawing_that_fails_is_reported_and_tried_again(tmp_path, monkeypatch):
    async with paged(tmp_path, scripted("a")) as world:
        await world.story.converged()
        with monkeypatch.context() as broken:
            broken.setattr(drawing, "_PROGRAM", "reactor.ui.no_such_program")
            failed = await world.get("/graph")
        drawn = await world.get("/graph")
    assert (failed.status_code, drawn.status_code) == (503, 200)
    assert "No module named reactor.ui.no_such_program" in failed.json()["error"]


async def test_two_thousand_resources_are_drawn_while_repairs_go_on(tmp_path):
    names = [f"n{number}" for number in range(LARGEST)]
    resources = [
        scripted(name, require=[f"scripted#{names[number // 3]}"] if number else [])
        for number, name in enumerate(names)
    ]
    async with paged(tmp_path, *resources) as world:
        await world.story.converged()
        answers = []

        async def ask():
            answers.append(await world.get("/graph"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            with trio.fail_after(GUARD):
                while not world.page.drawing._lock.locked():
                    await trio.lowlevel.checkpoint()
            repaired = len(world.story.checks("scripted#n1999")) + 1
            resources[-1].script.drifted = True
            world.story.drift("scripted#n1999")
            await world.story.until(lambda: len(world.story.checks("scripted#n1999")) == repaired)
            assert answers == [], "the drawing was still going on"
    graph = answers[0].json()
    assert len(graph["vertices"]) == LARGEST
    assert len(graph["edges"]) == LARGEST - 1
    assert len({(vertex["x"], vertex["y"]) for vertex in graph["vertices"]}) == LARGEST


async def test_a_resource_is_reported_with_all_that_belongs_to_it(tmp_path):
    a, b = scripted("a"), scripted("b/#?", alias="odd", require=["scripted#a"])
    below = scripted("c", subscribe=["scripted#odd"])
    async with paged(tmp_path, a, b, below) as world:
        await world.story.converged()
        diff = ("--- x\n+++ x\n",)
        world.engine.emit(Checked(5.0, b.ref, Result.CHANGED, Cause.DRIFT, 0.0, ("did",), diff))
        told = (await world.get("/resource", params={"ref": "scripted#odd"})).json()
        same = (await world.get("/resource", params={"ref": b.ref})).json()
        events = told.pop("events")
    assert told["ref"] == same["ref"] == "scripted#b/#?"
    assert (told["kind"], told["name"], told["alias"], told["place"]) == ("scripted", "b/#?", "odd", None)
    assert told["properties"] == {"name": "b/#?", "alias": "odd", "require": ["scripted#a"]}
    assert told["status"]["changed"]["actions"] == ["did"]
    assert told["edges"] == {
        "before": [{"ref": "scripted#a", "kind": "require", "reason": "require in scripted#b/#?"}],
        "after": [{"ref": "scripted#c", "kind": "subscribe", "reason": "subscribe in scripted#c"}],
    }
    assert told["diff"] == {"time": 5.0, "text": "--- x\n+++ x\n"}
    assert told["why"] is None, "there is no journal in this world"
    assert [event["actions"] for event in events] == [["repaired"], ["did"]]


async def test_the_last_events_are_reported_the_newest_last(tmp_path):
    async with paged(tmp_path, scripted("a"), scripted("b")) as world:
        await world.story.converged()
        everything = (await world.get("/events")).json()["events"]
        last = (await world.get("/events?limit=1")).json()["events"]
    assert [event["ref"] for event in everything] == ["scripted#a", "scripted#b"]
    assert last == everything[-1:]


async def test_pauses_go_the_way_of_the_commands(tmp_path):
    async with paged(tmp_path, scripted("a"), scripted("b"), scripted("c")) as world:
        await world.story.converged()
        asked = {"refs": ["scripted#a", "scripted#[ab]"], "for": "2h", "reason": "ask Ada"}
        paused = await world.post("/pause", asked)
        kept = json.loads((tmp_path / PAUSES_FILE).read_text())
        status = await world.ask("resource", "scripted#b")
        resumed = await world.post("/resume", {"refs": ["scripted#b"]})
        everything = await world.post("/pause", {"refs": [], "for": "10m", "reason": "all"})
        world.story.drift("scripted#c")
        last = await world.post("/resume", {"refs": []})
        await world.story.until(lambda: len(world.story.checks("scripted#c")) == 2)
    assert paused.json() == {"paused": ["scripted#a", "scripted#b"]}
    assert [(pause["pattern"], pause["reason"]) for pause in kept] == [
        ("scripted#a", "ask Ada"),
        ("scripted#[ab]", "ask Ada"),
    ]
    assert kept[1]["until"] - kept[1]["since"] == pytest.approx(7200)
    assert status["paused"]["reason"] == "ask Ada"
    assert resumed.json() == {"resumed": ["scripted#b"]}
    assert everything.json() == {"paused": ["scripted#a", "scripted#b", "scripted#c"]}
    assert sorted(last.json()["resumed"]) == ["scripted#a", "scripted#b", "scripted#c"]


PAUSE = {"refs": [], "for": "1h", "reason": "x"}


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/nothing", None, 404, "Not Found"),
        ("/page/nothing.js", None, 404, "Not Found"),
        ("/page/..%2Flive.py", None, 404, "Not Found"),
        ("/page/%2E%2E%2F%2E%2E%2F__init__.py", None, 404, "Not Found"),
        ("/pause", None, 405, "Method Not Allowed"),
        ("/graph", {}, 405, "Method Not Allowed"),
        ("/resource", None, 400, "'ref' is missing"),
        ("/resource?ref=scripted%23z", None, 404, "no resource matches scripted#z"),
        ("/events?limit=0", None, 400, "limit=0 is not a number of events"),
        ("/events?limit=1001", None, 400, "limit=1001 is not a number"),
        ("/events?limit=%C2%B2", None, 400, "is not a number of events"),
        ("/pause", [], 400, "not a JSON object"),
        ("/pause", {**PAUSE, "match": "*"}, 400, "the body has the unknown key 'match'"),
        ("/pause", {**PAUSE, "refs": "*"}, 400, "'refs' must be a list of strings"),
        ("/pause", {**PAUSE, "reason": "\ud800"}, 400, "surrogates not allowed"),
        ("/pause", {**PAUSE, "refs": [""]}, 400, "'refs' must be a list of strings"),
        ("/pause", {"for": "1h", "reason": "x"}, 400, "'refs' must be a list of strings"),
        ("/pause", {**PAUSE, "for": "soon"}, 400, "'soon' is not a duration"),
        ("/pause", {**PAUSE, "for": 60}, 400, "a duration needs a unit"),
        ("/pause", {**PAUSE, "for": "0"}, 400, "'for' must be a duration"),
        ("/pause", {**PAUSE, "for": "3y"}, 400, "'for' must be a duration"),
        ("/pause", {**PAUSE, "reason": "  "}, 400, "'reason' must be a string"),
        ("/pause", {**PAUSE, "refs": ["scripted#a", "scripted#z"]}, 404, "no resource matches scripted#z"),
        ("/resume", {"refs": ["scripted#z"]}, 404, "no resource matches scripted#z"),
        ("/resume", {"refs": [], "for": "1h"}, 400, "the body has the unknown key 'for'"),
        ("/pause", {**PAUSE, "reason": "x" * 100_000}, 413, "the body is longer than"),
    ],
)
async def test_bad_requests_are_answered_with_what_is_wrong_and_change_nothing(
    tmp_path, path, body, status, words
):
    async with paged(tmp_path, scripted("a")) as world:
        await world.story.converged()
        answer = await (world.get(path) if body is None else world.post(path, body))
    assert (answer.status_code, words in answer.json()["error"]) == (status, True), answer.text
    assert answer.json().keys() == {"error", "hint", "code"}
    assert not (tmp_path / PAUSES_FILE).exists()
    assert world.told == []


async def test_what_a_command_says_need_be_no_text(tmp_path):
    async with paged(tmp_path, scripted("a")) as world:
        await world.story.converged()
        world.engine.emit(Checked(5.0, "scripted#a", Result.FAILED, Cause.DRIFT, 0.0, error="no \udcff text"))
        told = (await world.get("/resource?ref=scripted%23a")).json()
    assert told["status"]["error"] == "no \udcff text"


async def test_our_own_bug_is_reported_to_both_ends(tmp_path, monkeypatch):
    async with paged(tmp_path, scripted("a"), options=CONTINUOUS) as world:
        await world.story.converged()
        monkeypatch.setattr(world.page.event_buffer, "latest", None)
        answer = await world.get("/events")
        fine = await world.get("/graph")
    assert (answer.status_code, fine.status_code) == (500, 200)
    assert "this is a bug in reactor" in answer.json()["hint"]
    assert "a request to the live page failed: TypeError" in world.told[0]


async def test_the_files_of_the_page_have_types_that_browsers_believe(tmp_path):
    kinds = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
    async with paged(tmp_path, scripted("a")) as world, world.browser(headers=KNOWN) as browser:
        index = await browser.get("/")
        pulled_in = [part.split('"')[0] for part in index.text.split('="page/')[1:]]
        found = [index, *[await browser.get(f"/page/{name}") for name in pulled_in]]
    assert pulled_in
    for answer in found:
        assert answer.status_code == 200
        wanted = kinds[PurePath(answer.url.path).suffix or ".html"]
        assert answer.headers["content-type"].partition(";")[0] == wanted


def test_the_files_of_the_page_are_part_of_the_package():
    with (ROOT / "pyproject.toml").open("rb") as file:
        data = tomllib.load(file)["tool"]["setuptools"]["package-data"]
    packages = [path.parent for path in (ROOT / "reactor").rglob("__init__.py")]
    paths = [*(ROOT / "reactor/ui/page").rglob("*")]
    assert paths
    for path in paths:
        home = max((each for each in packages if each in path.parents), key=lambda each: len(each.parts))
        patterns = [*data["*"], *data[".".join(home.relative_to(ROOT).parts)]]
        assert any(path.relative_to(home).match(pattern) for pattern in patterns), path


# ---- diffs ----


def test_of_each_resource_the_last_diff_is_kept_and_of_all_the_latest():
    kept = Diffs(room=10)
    kept.keep("a", 1.0, ("aaaa",))
    kept.keep("b", 2.0, ("bbbb",))
    kept.keep("a", 3.0, ("AA", "A"))
    assert kept.of("a") == (3.0, "AA\nA")
    kept.keep("c", 4.0, ("cccc",))
    assert kept.of("b") is None
    assert kept.of("a") == (3.0, "AA\nA")
    assert kept.of("c") == (4.0, "cccc")


def test_a_long_diff_is_cut():
    kept = Diffs()
    kept.keep("a", 1.0, ("x" * (event_buffer.LONGEST + 5),))
    assert kept.of("a").text.endswith("x\n… (5 characters more)\n")
