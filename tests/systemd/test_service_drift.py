"""What others do to a unit behind our back, on a real systemd, and what becomes of it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import trio
from unit_worlds import ETC, VENDOR, Unit, eventually, kill_bus, systemctl

from reactor.engine.events import Cause, EventsLost, Result
from reactor.resources.file import File
from reactor.resources.service import Service
from reactor.testing.story import running

OWNERS = {"owner": "root", "group": "root", "mode": "0644"}


def last(story, ref):
    """How the last check of ``ref`` ended."""
    return story.checks(ref)[-1].result


def done(story, ref, since=0):
    """What was done to ``ref`` since its check of that number."""
    return [action for check in story.checks(ref)[since:] for action in check.actions]


async def test_a_stopped_unit_is_running_again(app):
    async with running(Service(name=app.name)) as story:
        await story.converged()
        before = len(story.checks(f"service#{app.name}"))
        app.ctl("stop")
        await eventually(lambda: app.starts == 2)
        await story.rest()
        assert app.active == "active"
        assert app.starts == 2
        assert done(story, f"service#{app.name}", before) == ["started"]


async def test_a_started_unit_is_stopped_again(app):
    async with running(Service(name=app.name, ensure="stopped")) as story:
        await story.converged()
        app.ctl("start")
        await eventually(lambda: app.active == "inactive")
        assert app.starts <= 1


async def test_a_unit_whose_process_was_killed_is_started_once(app):
    async with running(Service(name=app.name)) as story:
        await story.converged()
        before = len(story.checks(f"service#{app.name}"))
        os.kill(app.pid, signal.SIGKILL)
        await eventually(lambda: app.starts == 2)
        await story.rest()
        assert app.active == "active"
        assert app.starts == 2
        assert done(story, f"service#{app.name}", before) == ["started"]


@pytest.mark.parametrize("wait", ["100ms", "500ms"])
async def test_a_unit_that_systemd_restarts_is_left_to_it(wait):
    app = Unit().write(f"Restart=always\nRestartSec={wait}")
    async with running(Service(name=app.name)) as story:
        await story.converged()
        before = len(story.checks(f"service#{app.name}"))
        os.kill(app.pid, signal.SIGKILL)
        await eventually(lambda: (app.starts, app.active) == (2, "active"))
        await story.rest()
        assert app.show("NRestarts") == "1"
        assert done(story, f"service#{app.name}", before) == []
        assert not [check for check in story.checks(f"service#{app.name}") if check.error]


async def test_a_disabled_unit_is_enabled_again(app):
    async with running(Service(name=app.name, enable=True)) as story:
        await story.converged()
        app.ctl("disable")
        await eventually(lambda: app.enabled == "enabled")
        assert app.starts == 1


async def test_a_link_removed_by_hand_is_there_again(app):
    """systemd sends no signal for that."""
    link = Path(f"/etc/systemd/system/multi-user.target.wants/{app.full}")
    async with running(Service(name=app.name, enable=True)) as story:
        await story.converged()
        link.unlink()
        await eventually(link.is_symlink)
        assert app.starts == 1


async def test_a_unit_linked_by_hand_is_disabled_again(app):
    link = Path(f"/etc/systemd/system/late{app.name}.target.wants/{app.full}")
    async with running(Service(name=app.name, enable=False)) as story:
        await story.converged()
        link.parent.mkdir()
        link.symlink_to(app.path)
        await eventually(lambda: not link.is_symlink())


async def test_a_masked_unit_is_unmasked_where_that_is_asked_for():
    app = Unit(VENDOR).write()
    async with running(Service(name=app.name, masked=False, enable=True)) as story:
        await story.converged()
        app.ctl("mask")
        await eventually(lambda: app.enabled == "enabled")
        app.ctl("mask", "--now")
        await eventually(lambda: app.enabled == "enabled" and app.active == "active")
        await story.rest()
        assert app.starts == 2


async def test_a_masked_unit_fails_and_says_how_to_repair_it():
    app = Unit(VENDOR).write()
    ref = f"service#{app.name}"
    async with running(Service(name=app.name, enable=True)) as story:
        await story.converged()
        app.ctl("mask")
        await story.until(lambda: last(story, ref) is Result.FAILED)
        assert "masked: false" in story.checks(ref)[-1].hint
        app.ctl("unmask")
        app.ctl("enable")
        await story.until(lambda: last(story, ref) is Result.OK)
        assert app.starts == 1


async def test_a_unit_is_kept_masked():
    app = Unit(VENDOR).write()
    app.ctl("enable", "--now")
    async with running(Service(name=app.name, ensure="stopped", masked=True)) as story:
        await story.converged()
        assert done(story, f"service#{app.name}") == ["stopped", "masked"]
        app.ctl("unmask")
        await eventually(lambda: app.enabled == "masked")
        assert app.active == "inactive"


async def test_an_edited_unit_file_is_read_and_nothing_is_restarted(app):
    async with running(Service(name=app.name)) as story:
        await story.converged()
        app.write("Nice=5")
        await eventually(lambda: app.show("Nice") == "5")
        await story.rest()
        assert app.show("NeedDaemonReload") == "no"
        assert done(story, f"service#{app.name}", 1) == ["had systemd read the changed unit files"]
        assert app.starts == 1


async def test_a_drop_in_is_read(app):
    drop_in = Path(f"{app.path}.d/nice.conf")
    async with running(Service(name=app.name)) as story:
        await story.converged()
        drop_in.parent.mkdir()
        drop_in.write_text("[Service]\nNice=7\n")
        await eventually(lambda: app.show("Nice") == "7")
        drop_in.write_text("[Service]\nNice=8\n")
        await eventually(lambda: app.show("Nice") == "8")
        assert app.starts == 1


@pytest.mark.parametrize("directory", ["{full}.d", "drop-.service.d", "service.d"])
async def test_a_drop_in_that_hides_another_is_read(directory):
    """systemd itself says of none that is in a new directory that it should read it."""
    app = Unit(VENDOR, prefix="drop-in").write()
    hidden = VENDOR / "service.d/nice.conf" if directory == "service.d" else Path(f"{app.path}.d/nice.conf")
    hidden.parent.mkdir(exist_ok=True)
    hidden.write_text("[Service]\nNice=2\n")
    systemctl("daemon-reload")
    drop_in = ETC / directory.format(full=app.full) / "nice.conf"
    async with running(Service(name=app.name)) as story:
        await story.converged()
        assert app.show("Nice") == "2"
        drop_in.parent.mkdir()
        drop_in.write_text("[Service]\nNice=7\n")
        await eventually(lambda: app.show("Nice") == "7")
        await story.rest()
        assert app.starts == 1
    for path in (drop_in, hidden):
        path.unlink()
        path.parent.rmdir()


async def test_a_unit_that_subscribes_to_its_file_is_restarted_after_the_file_is_repaired(app):
    unit_file = File(name=str(app.path), ensure="present", content=app.text("Nice=3"), **OWNERS)
    service = Service(name=app.name, subscribe=[unit_file.ref])
    async with running(unit_file, service) as story:
        await story.converged()
        assert app.starts == 1, "what the plan itself starts owes no restart"
        before = len(story.checks(service.ref))
        app.write("Nice=9")
        await eventually(lambda: app.starts == 2)
        await story.rest()
        assert app.show("Nice") == "3"
        assert [a for a in done(story, service.ref, before) if "unit files" not in a] == [
            "restarted via subscribe"
        ]


async def test_a_removed_unit_runs_on_and_is_said_to_be_missing(app):
    ref = f"service#{app.name}"
    async with running(Service(name=app.name, enable=True)) as story:
        await story.converged()
        app.path.unlink()
        await story.until(lambda: last(story, ref) is Result.FAILED)
        assert "not found" in story.checks(ref)[-1].error
        assert app.active == "active"
        app.write()
        await story.until(lambda: last(story, ref) in (Result.OK, Result.CHANGED))
        await story.rest()
        assert app.starts == 1


async def test_ten_units_stopped_at_once_are_each_started_once():
    apps = [Unit().write() for _ in range(10)]
    async with running(*(Service(name=app.name) for app in apps)) as story:
        await story.converged()
        systemctl("stop", *(app.full for app in apps))
        await eventually(lambda: all(app.starts == 2 for app in apps))
        await story.rest()
        assert all(app.active == "active" for app in apps)
        assert [app.starts for app in apps] == [2] * 10
        for app in apps:
            assert done(story, f"service#{app.name}", 1) == ["started"]


@pytest.fixture
def long_proof(monkeypatch):
    """On a busy machine, it takes a unit a while to end."""
    monkeypatch.setattr("reactor.resources.service.systemd_dbus.PROOF", 2.0)


@pytest.mark.usefixtures("long_proof")
async def test_a_unit_that_does_not_stay_up_is_tried_with_growing_waits():
    """systemd's own start limit is respected: nobody lifts it but time.

    The waits are long beside a start on a busy machine: the time of a start counts as calm, after which they grow less.
    """
    app = Unit().write(unit="StartLimitBurst=2\nStartLimitIntervalSec=60", command="exit 3")
    ref = f"service#{app.name}"
    async with running(Service(name=app.name, meta={"delay": "2s"})) as story:
        await story.until(lambda: "start-limit-hit" in str([check.error for check in story.checks(ref)]))
        assert app.starts == 2
        failed = [check for check in story.checks(ref) if check.error]
        assert "ended with status 3" in failed[0].error
        assert "reset-failed" in failed[-1].hint
        waits = [check.retry_in for check in failed if check.causes & Cause.RETRY]
        assert waits == sorted(waits)


@pytest.mark.parametrize("lifted_by", ["reset-failed", "a limit of its unit file"])
async def test_a_unit_that_was_started_too_often_runs_as_soon_as_it_can(lifted_by):
    """However many starts were refused before: nobody waits for the next retry."""
    limit = "StartLimitBurst=1\nStartLimitIntervalSec=3600"
    app = Unit().write(unit=limit, command="exit 3")
    ref = f"service#{app.name}"
    async with running(Service(name=app.name, meta={"delay": "1h"})) as story:
        await story.until(lambda: "start-limit-hit" in str([check.error for check in story.checks(ref)]))
        await story.rest()
        if lifted_by == "reset-failed":
            app.write(unit=limit)
            app.ctl("reset-failed")
        else:
            app.write(unit="StartLimitIntervalSec=0")
        await story.until(lambda: last(story, ref) is Result.CHANGED)
        assert app.active == "active"


@pytest.mark.usefixtures("long_proof")
async def test_the_signals_of_its_own_starts_make_no_unit_begin_again_that_does_not_stay_up():
    """Each may be somebody's who mended it, so none is lost: another attempt follows, after a wait that grows."""
    app = Unit().write(command="exit 3")
    ref = f"service#{app.name}"
    async with running(Service(name=app.name, meta={"retry": 2, "delay": "50ms"})) as story:
        await story.until(lambda: len(story.checks(ref)) >= 6)
        waits = [check.retry_in for check in story.checks(ref)[3:]]
        assert all(wait > 0.049 * 2**number for number, wait in enumerate(waits, 2)), waits
        app.write()
        await story.until(lambda: last(story, ref) is Result.CHANGED)
        assert app.active == "active"


async def test_a_lost_bus_is_found_again_and_what_drifted_meanwhile_is_repaired(app):
    ref = f"service#{app.name}"
    async with running(Service(name=app.name, enable=True)) as story:
        await story.converged()
        before = len(story.checks(ref))
        kill_bus()
        app.ctl("stop")  # root's systemctl needs no bus
        await eventually(lambda: story.all(EventsLost) and app.starts == 2)
        await story.rest()
        assert app.active == "active"
        assert len(story.checks(ref)) - before < 10
        app.ctl("stop")
        await eventually(lambda: app.starts == 3)


async def test_drift_while_systemd_is_executed_again_is_repaired(app):
    ref = f"service#{app.name}"
    async with running(Service(name=app.name)) as story:
        await story.converged()
        before = len(story.checks(ref))
        systemctl("daemon-reexec")
        await story.until(lambda: story.all(EventsLost))
        await story.rest()
        assert app.starts == 1
        app.ctl("stop")
        await eventually(lambda: app.starts == 2)
        await story.rest()
        assert len(story.checks(ref)) - before < 12
        assert all(check.causes & (Cause.DRIFT | Cause.RETRY) for check in story.checks(ref)[1:])


async def test_what_another_process_enables_and_starts_is_undone_without_a_failure(app):
    service = Service(name=app.name, ensure="stopped", enable=False)
    async with running(service) as story:
        await story.converged()
        for _ in range(5):
            await trio.to_thread.run_sync(lambda: app.ctl("enable", "--now"))
            await eventually(lambda: (app.active, app.enabled) == ("inactive", "disabled"))
            await story.rest()
    assert not [check.error for check in story.checks(service.ref) if check.error]
    assert {check.result for check in story.checks(service.ref)} <= {Result.OK, Result.CHANGED}
