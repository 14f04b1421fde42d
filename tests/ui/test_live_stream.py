"""What a page hears while it is open: from a running engine, over real HTTP."""

import math
import socket
from urllib.parse import quote

import h11
import pytest
import trio
from page_worlds import GUARD, TOKEN, paged, reading

from reactor.control import broadcast
from reactor.engine.events import Cause, Checked, Output, Result
from reactor.testing.scripted import scripted
from reactor.ui import event_buffer, page_stream

LOOK = f"GET /stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()


def plain(state="ok", **other):
    return {"state": state, "in_motion": False, "activity": None, "paused": False, "fine": True, **other}


async def test_the_first_word_is_how_everything_stands(tmp_path):
    resources = [scripted("good"), scripted("bad", failures=99), scripted("low", require=["scripted#bad"])]
    async with paged(tmp_path, *resources) as world:
        await world.story.rest()
        async with reading(world.address) as page:
            name, _, told = await page.next()
    assert name == "status"
    assert told["vertices"] == {
        "scripted#good": plain("changed"),
        "scripted#bad": plain("failed", fine=False),
        "scripted#low": plain("blocked", fine=False),
    }
    assert told["edition"] == 1
    assert told["run"]["manifest"] == "/etc/site.yaml"
    assert told["run"]["converged"] is False
    assert told["run"]["pausable"] is True


async def test_drift_is_seen_while_it_is_repaired_and_when_it_is(tmp_path):
    slow = scripted("slow")
    async with paged(tmp_path, slow) as world:
        await world.story.converged()
        async with reading(world.address) as page:
            await page.next()
            slow.script.takes, slow.script.drifted = 3600, True
            world.story.drift("scripted#slow")
            await page.stands("scripted#slow", **plain("changed", activity="running", in_motion=True))
            slow.script.takes = 0
            world.engine.dispatcher.hold(0)
            world.engine.dispatcher.release(0)
            event = await page.event("checked", "scripted#slow")
            await page.runs(converged=True, changes=2)
            await page.stands("scripted#slow", **plain("changed"))
    assert (event["result"], event["actions"], event["causes"]) == ("changed", ["repaired"], ["drift"])


async def test_a_user_who_waits_for_whom_and_what_is_paused_is_seen(tmp_path):
    slow, below = scripted("slow"), scripted("below", require=["scripted#slow"])
    async with paged(tmp_path, slow, below) as world:
        await world.story.converged()
        async with reading(world.address) as page:
            await page.next()
            await world.post("/pause", {"refs": ["scripted#slow"], "for": "1h", "reason": "x"})
            await page.event("paused", "scripted#slow")
            world.story.drift("scripted#slow")
            world.story.drift("scripted#below")
            waiting = {"activity": "waiting", "in_motion": True}
            await page.stands("scripted#slow", **plain("changed", **waiting, paused=True, fine=False))
            await page.stands("scripted#below", **plain("changed", **waiting))
            await world.post("/resume", {"refs": []})
            await page.event("resumed", "scripted#slow")
            await page.stands("scripted#slow", **plain("ok"))
            await page.stands("scripted#below", **plain("ok"))


async def test_what_fails_blocks_and_recovers_is_seen(tmp_path):
    bad, low = scripted("bad"), scripted("low", require=["scripted#bad"])
    async with paged(tmp_path, bad, low) as world:
        await world.story.converged()
        async with reading(world.address) as page:
            await page.next()
            bad.script.failures = math.inf
            world.story.drift("scripted#bad")
            assert (await page.event("blocked"))["culprits"] == ["scripted#bad"]
            await page.stands("scripted#bad", state="failed", fine=False)
            await page.stands("scripted#low", state="blocked", fine=False)
            bad.script.failures = 0
            world.story.drift("scripted#bad")
            assert (await page.event("unblocked"))["ref"] == "scripted#low"
            await page.stands("scripted#low", **plain("changed"))


async def test_another_generation_is_reported_and_so_is_its_status(tmp_path):
    a, b = scripted("a"), scripted("b")
    async with paged(tmp_path, a) as world:
        await world.story.converged()
        async with reading(world.address) as page:
            await page.next()
            world.reload(b)
            assert await page.until("reloaded") == {"edition": 2}
            await page.stands("scripted#b", **plain("changed"))
            graph = (await world.get("/graph")).json()
            async with reading(world.address) as other:
                _, _, told = await other.next()
    assert [vertex["ref"] for vertex in graph["vertices"]] == ["scripted#b"]
    assert graph["edition"] == told["edition"] == 2
    assert graph["status"] == told["vertices"] == {"scripted#b": plain("changed")}


async def test_events_have_growing_numbers_and_no_diffs(tmp_path):
    async with paged(tmp_path, scripted("a")) as world:
        await world.story.converged()
        async with reading(world.address) as page:
            await page.next()
            for _ in range(3):
                diff = ("--- a\n+++ b\n",)
                world.engine.emit(
                    Checked(0.0, "scripted#a", Result.CHANGED, Cause.DRIFT, 0.0, ("did",), diff)
                )
            events = [await page.event("checked", "scripted#a") for _ in range(3)]
            ids = [number for name, number, _ in page.heard if name == "event"]
    numbers = [event["id"] for event in events]
    assert [str(number) for number in numbers] == ids
    assert numbers == sorted(set(numbers))
    assert [event["diffs"] for event in events] == [[], [], []]


@pytest.mark.parametrize("says", ["since", "last-event-id"])
async def test_a_user_who_lost_the_connection_notices_what_it_missed(tmp_path, says):
    a = scripted("a")
    async with paged(tmp_path, a) as world:
        await world.story.converged()
        async with reading(world.address) as page:
            await page.next()
            a.script.drifted = True
            world.story.drift("scripted#a")
            seen = (await page.event("checked"))["id"]
            await page.event("converged")
        a.script.drifted = True
        world.story.drift("scripted#a")
        await world.story.until(lambda: len(world.story.checks("scripted#a")) == 3)
        again = f"/stream?since={seen}" if says == "since" else "/stream"
        headers = {} if says == "since" else {"Last-Event-ID": str(seen)}
        async with reading(world.address, again, **headers) as page:
            assert (await page.next())[0] == "status"
            missed = await page.event("checked")
    assert missed["id"] > seen
    assert missed["result"] == "changed"


@pytest.mark.parametrize("since", ["", "x", "-1", "\N{SUPERSCRIPT TWO}", "9" * 500])
async def test_a_number_that_is_none_is_nothing_missed(tmp_path, since):
    async with paged(tmp_path, scripted("a")) as world:
        await world.story.converged()
        async with reading(world.address, f"/stream?since={quote(since)}") as page:
            assert (await page.next())[0] == "status"
            world.story.drift("scripted#a")
            await page.event("checked")


async def test_a_flood_of_checks_that_found_all_well_is_not_passed_on_whole(tmp_path):
    async with paged(tmp_path, scripted("a")) as world:
        await world.story.converged()
        async with reading(world.address) as page:
            await page.next()
            for _ in range(5000):
                world.engine.emit(Checked(0.0, "scripted#a", Result.OK, Cause.AUDIT, 0.0))
            world.engine.emit(Checked(0.0, "scripted#a", Result.FAILED, Cause.DRIFT, 0.0, error="broken"))
            await page.until("event", lambda event: event.get("error") == "broken")
    assert len([data for name, _, data in page.heard if name == "event"]) == event_buffer.QUIET + 1


async def test_while_no_one_looks_nothing_is_prepared_for_anybody(tmp_path):
    async with paged(tmp_path, scripted("a")) as world:
        await world.story.converged()
        assert not world.page.event_buffer.followed
        async with reading(world.address) as page:
            await page.next()
            assert world.page.event_buffer.followed
        with trio.fail_after(GUARD):
            while world.page.event_buffer.followed:
                await trio.lowlevel.checkpoint()
        world.engine.emit(Output(0.0, "scripted#a", "a line"))
        world.story.drift("scripted#a")
        await world.story.until(lambda: len(world.story.checks("scripted#a")) == 2)
        assert world.page.event_buffer.take_fresh() == []
        assert world.page.event_buffer.take_touched() == set()


async def test_a_page_that_does_not_read_holds_up_no_one_and_is_dropped_loudly(tmp_path):
    a = scripted("a")
    async with paged(tmp_path, a) as world:
        await world.story.converged()
        stalled = trio.socket.socket()
        stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        await stalled.connect(("127.0.0.1", world.address.port))
        await stalled.send(LOOK)
        async with reading(world.address) as page:
            await page.next()
            with trio.fail_after(GUARD):
                while not world.told:
                    for error in [*("x" * 1900 for _ in range(200)), f"the last of {len(page.heard)}"]:
                        world.engine.emit(
                            Checked(0.0, "scripted#a", Result.FAILED, Cause.DRIFT, 0.0, error=error)
                        )
                    await page.until("event", lambda event, last=error: event.get("error") == last)
            a.script.drifted = True
            world.story.drift("scripted#a")
            await page.until("event", lambda event: event.get("result") == "changed")
        stalled.close()
    assert "a reader of the event stream was dropped" in world.told[0]
    assert len(world.told) == 1


async def test_a_bug_of_ours_costs_those_who_look_their_connection_and_no_more(tmp_path, monkeypatch):
    async with paged(tmp_path, scripted("a")) as world:
        await world.story.converged()
        async with reading(world.address) as page:
            await page.next()
            with monkeypatch.context() as broken:
                broken.setattr(world.page.resource_statuses, "follow", None)
                with pytest.raises(h11.RemoteProtocolError):
                    await page.until("nothing that ever comes")
        async with reading(world.address) as page:
            await page.next()
            world.story.drift("scripted#a")
            await page.event("checked")
    assert "the live page had to close its connections: TypeError" in world.told[0]


async def test_while_as_many_look_as_may_others_are_answered(tmp_path):
    async with paged(tmp_path, scripted("a")) as world:
        pages = [
            await trio.open_tcp_stream(world.address.host, world.address.port)
            for _ in range(page_stream.MOST)
        ]
        for page in pages:
            await page.send_all(LOOK)
        for page in pages:
            assert b" 200 " in await page.receive_some()
        with trio.fail_after(GUARD):
            assert (await world.get("/")).status_code == 200
            assert (await world.get("/stream")).status_code == 503
        for page in pages:
            await page.aclose()


async def test_more_pages_than_are_served_are_reported_so(tmp_path, monkeypatch):
    monkeypatch.setattr(page_stream, "MOST", 1)
    monkeypatch.setattr(broadcast, "MOST", 1)
    async with paged(tmp_path, scripted("a")) as world:
        async with reading(world.address) as page:
            await page.next()
            refused = await world.get("/stream")
        assert refused.status_code == 503
        assert refused.json()["error"] == "there are already 1 readers of the events"
        with trio.fail_after(GUARD):
            while (
                await world.get("/events")
            ).status_code != 200 or world.page.page_stream._subscribers.listeners:
                pass
        async with reading(world.address) as page:
            await page.next()


async def test_the_end_of_the_run_is_noticed(tmp_path):
    async with paged(tmp_path, scripted("a")) as world:
        await world.story.converged()
        async with reading(world.address) as page:
            await page.next()
            world.engine.stop()
            await world.story.until(lambda: world.story.events[-1].__class__.__name__ == "Ended")
            await world.page.drain()
            ended = await page.event("ended")
    assert ended["reason"] == "stopped"
