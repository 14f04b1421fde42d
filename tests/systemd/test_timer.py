"""The kind timer on a real systemd: two unit files and a timer that is on, as one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from unit_worlds import ETC, VENDOR, eventually, systemctl

from reactor import ManifestError, ResourceError, load
from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resources.process import run
from reactor.resources.timer import Timer, calendar
from reactor.resources.timer.calendar import check
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once, running

NAME = "matrixtimer"
SERVICE, UNIT = ETC / f"{NAME}.service", ETC / f"{NAME}.timer"


@pytest.fixture(autouse=True)
def no_timer():
    yield
    systemctl("disable", "--now", UNIT.name)
    for path in (SERVICE, UNIT):
        path.unlink(missing_ok=True)
    systemctl("daemon-reload")


def a_timer(**more):
    return Timer(name=NAME, **({"command": "/bin/true", "on_calendar": "*-*-* 03:00:00"} | more))


def world():
    texts = [path.read_text() if path.exists() else None for path in (SERVICE, UNIT)]
    return *texts, systemctl("is-active", UNIT.name), systemctl("is-enabled", UNIT.name)


def present(spoil):
    return Case(a_timer, world, spoil)


SPOILS = {
    "stopped": lambda: systemctl("stop", UNIT.name),
    "disabled": lambda: systemctl("disable", UNIT.name),
    "timer changed": lambda: UNIT.write_text("[Timer]\nOnCalendar=hourly\n"),
    "service changed": lambda: SERVICE.write_text("[Service]\nExecStart=/bin/false\n"),
    "service removed": SERVICE.unlink,
}


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_a_timer_keeps_the_contract(promise):
    await promise(present(SPOILS["stopped"]))


@pytest.mark.parametrize("spoil", SPOILS)
async def test_what_is_changed_by_hand_is_changed_back(spoil):
    async with running(a_timer()) as story:
        await story.converged()
        await story.rest()
        desired = world()
        SPOILS[spoil]()
        await eventually(lambda: world() == desired)
        await story.rest()
        assert systemctl("show", "--value", "--property=NeedDaemonReload", UNIT.name) == "no"
        assert systemctl("show", "--value", "--property=NeedDaemonReload", SERVICE.name) == "no"


async def test_a_timer_is_on_and_its_command_runs_as_it_stands():
    out = Path("/tmp/out-of-the-timer")
    command = f'/bin/sh -c \'printf "%%s|" "$@" "$A" "$(id -un)" >{out}\' sh 50% $HOME \'a "b" \\ c\''
    command = command.replace("%%s", "%s")
    environment = {"A": 'x %h "y" $Z'}
    await converge_once(a_timer(command=command, user="nobody", environment=environment, cwd="/tmp"))
    assert world()[2:] == ("active", "enabled")
    subprocess.run(["systemctl", "start", SERVICE.name], check=True)
    assert out.read_text() == '50%|$HOME|a "b" \\ c|x %h "y" $Z|nobody|'
    subprocess.run(["systemd-analyze", "verify", UNIT], check=True, capture_output=True)


async def test_a_shell_reads_the_command_if_asked(tmp_path):
    await converge_once(a_timer(command=f"echo $((1+1))% | tr 2 3 >{tmp_path}/out", shell=True))
    subprocess.run(["systemctl", "start", SERVICE.name], check=True)
    assert (tmp_path / "out").read_text() == "3%\n"


async def test_a_unit_that_failed_before_its_file_was_removed_is_read_again(tmp_path):
    await converge_once(a_timer(command="/bin/false"))
    systemctl("start", SERVICE.name)
    for path in (SERVICE, UNIT):
        path.unlink()
    systemctl("daemon-reload")
    await converge_once(a_timer(command=f"touch {tmp_path}/ran"))
    subprocess.run(["systemctl", "start", SERVICE.name], check=True)
    assert (tmp_path / "ran").exists()


async def test_another_time_is_in_force_at_once_and_runs_nothing(tmp_path):
    run = f"touch {tmp_path}/ran"
    await converge_once(
        a_timer(command=run, after_boot="1s", every="1000h", on_calendar="daily", description="one")
    )
    first = systemctl("show", "--value", "--property=NextElapseUSecRealtime", UNIT.name)
    (tmp_path / "ran").unlink(missing_ok=True)
    more = {"after_boot": "1s", "every": "1000h", "persistent": True, "random_delay": "1ms"}
    await converge_once(a_timer(command=run, on_calendar=["*-*-* 03:00:00", "Mon *-*-* 04:00"], **more))
    assert systemctl("show", "--value", "--property=NextElapseUSecRealtime", UNIT.name) != first
    assert "Persistent=true" in UNIT.read_text()
    ended, _ = await converge_once(
        a_timer(command=run, on_calendar=["*-*-* 03:00:00", "Mon *-*-* 04:00"], **more)
    )
    assert ended.changes == 0


async def test_absent_stops_and_removes_all_of_it():
    await converge_once(a_timer())
    await converge_once(Timer(name=NAME, ensure="absent"))
    assert world() == (None, None, "inactive", "")
    assert not (ETC / "timers.target.wants" / UNIT.name).is_symlink()
    ended, _ = await converge_once(Timer(name=NAME, ensure="absent"))
    assert ended.changes == 0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"on_calendar": "*-02-31 03:00"}, "never comes again"),
        ({"on_calendar": "2001-01-01 03:00"}, "never comes again"),
        ({"on_calendar": "*-13-01"}, "systemd refuses the calendar event"),
        ({"user": "nobody-there"}, 'could not lookup user "nobody-there"'),
    ],
)
async def test_what_systemd_would_refuse_is_refused_before_anything_is_written(more, words):
    for noop in (True, False):
        ended, story = await converge_once(a_timer(**more), options=RunOptions(noop=noop))
        assert ended.counts[Result.FAILED] == 1
        assert words in story.checks(f"timer#{NAME}")[-1].error
    assert world()[:2] == (None, None)


async def test_systemd_is_asked_once_about_events_that_many_timers_have(monkeypatch):
    asked = []

    async def overhear(command, *more):
        asked.append(command.arguments[-1])
        return await run(command, *more)

    monkeypatch.setattr(calendar, "run", overhear)
    for _ in range(3):
        await calendar.refuse_misread(("Mon *-*-* 03:17:00",))
        with pytest.raises(ResourceError):
            await calendar.refuse_misread(("2001-01-01 03:17",))
    assert asked == ["Mon *-*-* 03:17:00", *["2001-01-01 03:17"] * 3]


async def test_a_unit_of_a_package_is_not_replaced():
    ended, story = await converge_once(Timer(name="dbus", command="/bin/true", on_calendar="daily"))
    assert ended.counts[Result.FAILED] == 1
    assert "there is a unit dbus.service already" in story.checks("timer#dbus")[-1].error
    assert (VENDOR / "dbus.service").exists()
    assert not (ETC / "dbus.timer").exists()


async def test_it_is_undone():
    before = world()
    resource = a_timer()
    reversal = await resource.reversal(await resource.observe())
    await converge_once(resource)
    await converge_once(reversal)
    assert world() == before


@pytest.mark.parametrize(
    "event",
    ["daily", "*-*-* 03:00:00", "Mon..Fri 07:30", "Sat,Sun 12:00 Europe/Berlin", "*:0/15", "2030-12-31", "*-*~1",
     "Mon,Wed *-05..08-01,15 08:00:00 UTC", "03:00", "weekly UTC", "*-*-* 00/6:30:00.5", "Monday"],
)  # fmt: skip
def test_calendar_events_are_accepted_here_as_by_systemd(event):
    assert check(event) == event
    subprocess.run(["systemd-analyze", "calendar", "--", event], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("a.timer: {command: x, on_calendar: daily}", "the name is that of both units"),
        ('"a b": {command: x, on_calendar: daily}', "invalid characters"),
        ("a: {on_calendar: daily}", "command is required"),
        ("a: {command: x}", "nothing says when it runs"),
        ("a: {command: x, every: 5m}", "nothing says when it runs first"),
        ("a: {command: x, on_calendar: often}", "'often' is not part of a calendar event"),
        ("a: {command: x, on_calendar: '25:00'}", "there is no hour 25"),
        ("a: {command: x, on_calendar: '3am daily'}", "'3am' is not part"),
        ("a: {command: x, after_boot: 5m, persistent: true}", "only runs of on_calendar can be made up for"),
        ('a: {command: "x\\nExecStart=y", on_calendar: daily}', "one line of text"),
        ('a: {command: "x \'y", on_calendar: daily}', "a: "),
        ("a: {command: -x, on_calendar: daily}", "a command begins with the path of a program"),
        ('a: {command: x, on_calendar: "daily\\nUnit=b"}', "one line of text"),
        ('a: {command: x, on_calendar: daily, description: "b\\n[X]"}', "one line of text"),
        ('a: {command: x, on_calendar: daily, environment: {A: "b\\nc"}}', "one line of text"),
    ],
)
def test_what_is_wrong_is_an_error_with_its_place(entry, message, tmp_path):
    (tmp_path / "site.yaml").write_text(f"resources:\n  - timer:\n      - {entry}\n")
    with pytest.raises(ManifestError) as raised:
        load(str(tmp_path / "site.yaml"))
    (found,) = raised.value.diagnostics
    assert message in found.message or message == "a: "
    assert found.place.line == 3


@pytest.mark.parametrize(
    "more",
    [
        f"file: [{{{UNIT}: {{ensure: present, content: x, owner: root, group: root, mode: '0644'}}}}]",
        f"service: [{{{NAME}.timer: {{ensure: stopped}}}}]",
    ],
)
def test_contradictions_are_found_when_the_manifest_is_loaded(more, tmp_path):
    text = f"resources:\n  - timer: [{{{NAME}: {{command: x, on_calendar: daily}}}}]\n  - {more}\n"
    (tmp_path / "site.yaml").write_text(text)
    with pytest.raises(ManifestError, match="do not agree"):
        load(str(tmp_path / "site.yaml"))


async def test_a_drop_in_that_leaves_no_time_is_named_as_that():
    drop_in = ETC / f"{UNIT.name}.d/none.conf"
    drop_in.parent.mkdir()
    try:
        drop_in.write_text("[Timer]\nOnCalendar=\n")
        _, story = await converge_once(a_timer())
        check = story.checks(f"timer#{NAME}")[-1]
        assert check.error == f"{UNIT.name} has a bad unit file setting"
        assert "systemd-analyze verify" in check.hint
    finally:
        drop_in.unlink()
        drop_in.parent.rmdir()
