"""What health checks make of a run: they follow every check, and what is not ok fails the resource."""

import pytest
from health_worlds import listener, port_check
from ports import free_port

from reactor.engine import health_examination
from reactor.engine.check import AS_DESIRED
from reactor.engine.events import Cause, Converged, Result, as_json
from reactor.engine.options import RunOptions
from reactor.resource.watch import TimerWatch
from reactor.testing.scripted import scripted
from reactor.testing.story import converge_once, running
from reactor.watchers.timers import TimerWatcher

TIMERS = {TimerWatch: TimerWatcher}


def nagios(code, words="", **properties):
    return {"command": f"/bin/sh -c 'echo {words}; exit {code}'", "name": "chk", **properties}


def examined(name, *health_checks, **more):
    return scripted(name, health_checks=health_checks, **more)


async def test_a_resource_that_is_well_is_as_it_would_be_without_checks():
    ended, story = await converge_once(
        examined("changed", nagios(0, "fine")), examined("ok", nagios(0), drifted=False)
    )
    assert (ended.counts["changed"], ended.counts["ok"]) == (1, 1)
    [examination] = story.checks("scripted#changed")[0].health
    assert (examination.name, examination.status, examination.output, examination.tries) == (
        "chk",
        "ok",
        "fine",
        1,
    )
    assert len(story.all(Converged)) == 1


@pytest.mark.parametrize(
    ("code", "status"), [(1, "warning"), (2, "critical"), (3, "unknown"), (127, "unknown")]
)
@pytest.mark.parametrize("drifted", [False, True])
async def test_anything_but_ok_fails_the_resource_whether_it_changed_or_not(code, status, drifted):
    a = examined("a", nagios(code, "it hurts"), drifted=drifted)
    b = examined("b", require=["scripted#a"])
    ended, story = await converge_once(a, b)
    assert (ended.counts["failed"], ended.counts["blocked"]) == (1, 1)
    assert story.checks("scripted#a")[0].error == f"health check 'chk' is {status}: it hurts"
    assert len(a.script.applies) == drifted
    assert not b.script.checks


async def test_every_check_is_made_and_every_complaint_reported():
    _, story = await converge_once(examined("a", nagios(2, "one"), nagios(0, "two"), nagios(1, "three")))
    [checked] = story.checks("scripted#a")
    assert [each.status for each in checked.health] == ["critical", "ok", "warning"]
    assert checked.error.splitlines() == [
        "health check 'chk' is critical: one",
        "health check 'chk' is warning: three",
    ]


async def test_health_is_looked_at_also_when_the_check_failed():
    _, story = await converge_once(examined("a", nagios(2, "one"), failures=1))
    [checked] = story.checks("scripted#a")
    assert checked.error == "the script says so\nhealth check 'chk' is critical: one"


async def test_a_blocked_resource_is_not_looked_at(tmp_path):
    check = {"command": f"/bin/touch {tmp_path}/looked"}
    await converge_once(examined("a", failures=1), examined("b", check, require=["scripted#a"]))
    assert not (tmp_path / "looked").exists()


async def test_tries_end_with_the_first_ok(tmp_path):
    counted = f"/bin/sh -c 'echo x >> {tmp_path}/n; test $(wc -l < {tmp_path}/n) -ge 2'"
    check = {"command": counted, "tries": 5, "try_sleep": "1ms"}
    ended, story = await converge_once(examined("a", check))
    assert ended.counts["changed"] == 1
    assert story.checks("scripted#a")[0].health[0].tries == 2
    assert (tmp_path / "n").read_text() == "x\nx\n"


async def test_all_tries_are_used_before_the_answer_counts():
    _, story = await converge_once(examined("a", nagios(1, tries=3, try_sleep="1ms")))
    assert story.checks("scripted#a")[0].health[0].tries == 3


async def test_a_try_that_takes_too_long_has_no_answer():
    check = {"command": "/bin/sleep 60", "timeout": "50ms"}
    ended, story = await converge_once(examined("a", check))
    assert (
        story.checks("scripted#a")[0].error == "health check 'sleep 60' is unknown: no answer within 0.05 s"
    )
    assert ended.duration < 20


async def test_a_check_that_names_no_timeout_does_not_hold_the_run_for_ever(autojump_clock):
    resource = examined("a", {"command": "/bin/sleep 3600"})
    [found] = (await health_examination.examined(resource, AS_DESIRED)).health
    assert (found.status, found.output) == ("unknown", "no answer within 300 s")


async def test_a_command_that_can_not_run_has_no_answer():
    _, story = await converge_once(examined("a", {"command": "/no/such/program -x"}))
    assert "is unknown: the executable /no/such/program does not exist" in story.checks("scripted#a")[0].error


async def test_no_check_fills_the_reports():
    _, story = await converge_once(examined("a", {"command": "/bin/seq 10000"}))
    assert len(story.checks("scripted#a")[0].health[0].output) == 4096


async def test_a_sick_resource_is_tried_again_until_it_is_well(autojump_clock):
    port = free_port()
    a = examined("a", port_check(port))
    async with running(a) as story:
        await story.until(lambda: len(story.checks("scripted#a")) == 3)
        assert story.result("scripted#a") is Result.FAILED
        assert not story.all(Converged)
        with listener(port=port):
            await story.converged()
    first, *_, last = story.checks("scripted#a")
    assert first.retry_in is not None
    assert Cause.RETRY in last.causes
    assert len(a.script.applies) == 1, "what was applied is not applied again"


async def test_what_requires_a_sick_resource_goes_on_when_it_is_well(autojump_clock):
    port = free_port()
    b = examined("b", subscribe=["scripted#a"], drifted=False)
    async with running(examined("a", port_check(port)), b) as story:
        await story.until(lambda: story.result("scripted#b") is Result.BLOCKED)
        assert not b.script.checks
        with listener(port=port):
            await story.converged()
    assert len(b.script.refreshes) == 1, "a change is told once it is well"


async def test_a_refresh_is_not_made_again_because_health_is_bad(autojump_clock):
    port = free_port()
    b = examined("b", port_check(port), subscribe=["scripted#a"], drifted=False)
    async with running(examined("a"), b) as story:
        await story.until(lambda: len(story.checks("scripted#b")) == 4)
        assert len(b.script.refreshes) == 1
        with listener(port=port):
            await story.converged()
    assert len(b.script.refreshes) == 1


async def test_an_interval_finds_what_no_event_reports(autojump_clock):
    listening = listener()
    port = listening.getsockname()[1]
    a = examined("a", port_check(port, interval="10s"))
    async with running(a, watchers=TIMERS) as story:
        await story.converged()
        listening.close()
        await story.until(lambda: story.result("scripted#a") is Result.FAILED)
        with listener(port=port):
            await story.converged(times=2)
    sick = next(each for each in story.checks("scripted#a") if each.result is Result.FAILED)
    assert sick.causes == Cause.DRIFT
    assert "port tcp:" in sick.error


async def test_the_interval_of_the_run_is_that_of_checks_without_their_own(autojump_clock):
    with listener() as listening:
        port = listening.getsockname()[1]
        a, b, c = (
            examined("a", port_check(port)),
            examined("b", port_check(port, interval="1h")),
            examined("c"),
        )
        options = RunOptions(watch=True, audit_interval=None, health_interval=10.0)
        async with running(a, b, c, options=options, watchers=TIMERS) as story:
            await a.script.begun(5)
    assert len(story.checks("scripted#b")) == 1
    assert len(story.checks("scripted#c")) == 1, "it has no health check"


async def test_without_an_interval_nothing_is_looked_at_again(autojump_clock):
    with listener() as listening:
        a = examined("a", port_check(listening.getsockname()[1]))
        b = examined("b", port_check(listening.getsockname()[1], interval="10s"))
        async with running(a, b, watchers=TIMERS) as story:
            await b.script.begun(5)
    assert len(story.checks("scripted#a")) == 1


async def test_noop_looks_at_what_is_as_desired_and_not_at_what_would_change():
    a, b = examined("a", nagios(2), drifted=False), examined("b", nagios(2))
    ended, story = await converge_once(a, b, options=RunOptions(noop=True))
    assert (ended.counts["failed"], ended.counts["would_change"]) == (1, 1)
    assert story.checks("scripted#b")[0].health == ()
    assert not b.script.applies


async def test_noop_does_not_look_at_what_could_not_be_checked_before_another_change(tmp_path):
    look = {"command": f"/usr/bin/touch {tmp_path}/looked"}
    a, b = examined("a"), examined("b", look, failures=1, require=["scripted#a"])
    ended, story = await converge_once(a, b, options=RunOptions(noop=True))
    [checked] = story.checks("scripted#b")
    assert not (tmp_path / "looked").exists()
    assert checked.actions == ("Can't tell before scripted#a is applied (the script says so)",)
    assert ended.counts["would_change"] == 2


async def test_monitor_only_checks_and_changes_nothing():
    a, b, c = examined("a", nagios(0), failures=1), examined("b", nagios(2)), examined("c")
    ended, story = await converge_once(a, b, c, options=RunOptions(monitor_only=True))
    assert [each.script.checks for each in (a, b, c)] == [[], [], []]
    assert (ended.counts["ok"], ended.counts["failed"]) == (2, 1)
    assert story.checks("scripted#b")[0].error == "health check 'chk' is critical"


async def test_one_resource_may_be_only_monitored():
    a = examined("a", nagios(2), meta={"monitor_only": True})
    b = examined("b")
    ended, _ = await converge_once(a, b)
    assert (ended.counts["failed"], ended.counts["changed"]) == (1, 1)
    assert not a.script.checks


async def test_an_event_reports_health_only_where_there_are_checks():
    _, story = await converge_once(examined("a", nagios(0, "fine")), examined("b"))
    with_checks, without = (as_json(story.checks(f"scripted#{name}")[0]) for name in "ab")
    [told] = with_checks["health"]
    assert {**told, "duration": 0} == {
        "name": "chk", "status": "ok", "output": "fine", "tries": 1, "duration": 0,
    }  # fmt: skip
    assert "health" not in without


async def test_a_runner_with_a_bug_is_no_answer(monkeypatch):
    monkeypatch.setattr("reactor.resources.health.nagios.Nagios.examine", None)
    ended, story = await converge_once(examined("a", nagios(0)))
    assert ended.counts["failed"] == 1
    assert "is unknown: TypeError" in story.checks("scripted#a")[0].error
