"""When the host is rebooted, and that it is rebooted once. The reboot itself is that of a systemd in namespaces."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.hostfs import read_record
from reactor.resource.backup_store import state_directory_for
from reactor.resource.plan import ResourceError
from reactor.resources.file import File
from reactor.resources.reboot import Reboot, kind
from reactor.resources.reboot.kind import RebootState
from reactor.resources.reboot.windows import parse_window
from reactor.testing.story import converge_once, running

ROOT = Path(__file__).parents[2]
MONDAY = 5  # the 5th of January 2026
NEVER = time.strftime("%a", time.localtime(time.time() + 3 * 86400)) + " 03:00-03:01"


def at(day, clock):
    return time.strptime(f"2026-01-{MONDAY + day:02d} {clock}", "%Y-%m-%d %H:%M")


@pytest.mark.parametrize(
    ("window", "inside", "outside"),
    [
        ("03:00-05:00", [(0, "03:00"), (6, "04:59")], [(0, "02:59"), (0, "05:00")]),
        ("Sun 03:00-05:00", [(6, "03:00")], [(0, "03:00"), (5, "03:00")]),
        (
            "Mon-Fri 22:00-04:00",
            [(0, "22:00"), (1, "03:59"), (5, "03:59")],
            [(0, "03:00"), (5, "22:00"), (6, "03:00")],
        ),
        ("Sat,Sun 00:00-24:00", [(5, "00:00"), (6, "23:59")], [(4, "23:59"), (7, "00:00")]),
        ("Sat-Mon 01:00-02:00", [(5, "01:00"), (7, "01:30")], [(8, "01:00"), (4, "01:00")]),
    ],
)
def test_a_window_holds_its_times(window, inside, outside):
    parsed = parse_window(window)
    assert [day for day in inside if not parsed.holds(at(*day))] == []
    assert [day for day in outside if parsed.holds(at(*day))] == []


@pytest.mark.parametrize(
    "text", ["", "Sun", "3:00-5:00", "Sun 25:00-26:00", "Son 03:00-05:00", "03:00-03:00", "03:60-04:00"]
)
def test_what_is_no_window_is_found_at_load(text):
    with pytest.raises(ValueError, match=r"window|time of day|day: they"):
        Reboot(name="x", windows=[text])


def said(resource, *, refresh=False, **state):
    return [action.did for action in resource.plan(RebootState("boot", **state), refresh=refresh)]


def test_the_table_of_decisions():
    now, later = Reboot(name="x"), Reboot(name="x", windows=["03:00-05:00"])
    ordered = ["ordered a reboot in 60 s"]
    assert said(now) == []
    assert said(now, is_required=True) == ordered
    assert said(now, refresh=True) == ordered
    assert said(now, is_pending=True) == ordered
    assert said(later, is_required=True, is_in_window=False) == []
    assert said(later, refresh=True, is_in_window=False) == [
        "noted that a reboot is pending, and waits for its window"
    ]
    assert said(later, refresh=True, is_pending=True, is_in_window=False) == []
    assert said(later, is_pending=True) == ordered
    for more in ({"is_required": True}, {"is_pending": True}, {"refresh": True}):
        assert said(now, ordered=time.monotonic(), **more) == []
        with pytest.raises(ResourceError, match="has not happened"):
            said(now, ordered=time.monotonic() - 2000, **more)
        with pytest.raises(ResourceError, match="no systemd"):
            said(now, has_systemd=False, **more)
    gone = Reboot(name="x", ensure="absent")
    assert said(gone, is_required=True, refresh=True) == []
    assert said(gone, is_pending=True) == ["forgot the pending reboot"]


@pytest.fixture
def host(tmp_path, monkeypatch):
    """A host whose file that asks for a reboot, and whose boot, are the test's own."""
    monkeypatch.setattr(kind, "REQUIRED", str(tmp_path / "required"))
    monkeypatch.setattr(kind, "_BOOT_ID", str(tmp_path / "boot"))
    monkeypatch.setattr(kind, "_SYSTEMD", str(tmp_path))
    (tmp_path / "boot").write_text("first\n")
    with state_directory_for(str(tmp_path / "state")):
        yield tmp_path


async def converge(host, *, change=None, noop=False, **properties):
    """Run once; with ``change``, what it subscribes to gets that content."""
    owners = {"owner": str(os.getuid()), "group": str(os.getgid()), "mode": "0644"}
    content = change if change is not None else "0"
    file = File(name=str(host / "file"), ensure="present", content=content, **owners)
    resource = Reboot(name="x", subscribe=[file.ref], **properties)
    _, story = await converge_once(file, resource, options=RunOptions(noop=noop))
    checks = story.checks("reboot#x")
    return story.result("reboot#x"), "; ".join((*checks[-1].actions, checks[-1].error or "")).strip("; ")


async def test_a_pending_reboot_survives_the_process_and_ends_with_the_boot(host):
    (host / "file").write_text("0")
    assert (await converge(host, windows=[NEVER]))[0] is Result.OK
    foretold, would = await converge(host, change="1", windows=[NEVER], noop=True)
    assert (foretold, would) == (
        Result.WOULD_CHANGE,
        "Would have noted that a reboot is pending, and waits for its window",
    )
    result, did = await converge(host, change="1", windows=[NEVER])
    assert (result, did) == (Result.CHANGED, "noted that a reboot is pending, and waits for its window")
    assert (await converge(host, change="1", windows=[NEVER]))[0] is Result.OK
    assert (await Reboot(name="x").observe()).is_pending
    foretold, would = await converge(host, change="1", noop=True)
    assert (foretold, would) == (Result.WOULD_CHANGE, "Would have ordered a reboot in 60 s")
    (host / "boot").write_text("second\n")
    assert (await converge(host, change="1"))[0] is Result.OK
    assert not (await Reboot(name="x").observe()).is_pending


async def test_a_reboot_that_was_ordered_is_not_ordered_again_in_this_boot(host, monkeypatch):
    (host / "required").touch()
    resource = Reboot(name="x")
    kind._record("reboot ordered", "host", {"boot": "first", "at": time.monotonic()})
    assert resource.plan(await resource.observe(), refresh=True) == ()
    monkeypatch.setattr(time, "time", lambda: 4e9)  # the clock of the host was set
    assert resource.plan(await resource.observe(), refresh=True) == ()
    (host / "boot").write_text("second\n")
    assert len(resource.plan(await resource.observe(), refresh=False)) == 1


async def test_without_systemd_a_dry_run_says_so(host, monkeypatch):
    (host / "file").write_text("0")
    (host / "required").touch()
    monkeypatch.setattr(kind, "_SYSTEMD", str(host / "none"))
    for noop in (True, False):
        result, words = await converge(host, noop=noop)
        assert result is Result.FAILED
        assert "no systemd" in words
    assert read_record("reboot ordered", "host") is None


async def test_an_order_that_fails_is_no_order(host, monkeypatch):
    (host / "required").touch()
    (host / "systemd-run").write_text("#!/bin/sh\nexit 1\n")
    (host / "systemd-run").chmod(0o755)
    monkeypatch.setitem(kind.ENVIRONMENT, "PATH", str(host))
    resource = Reboot(name="x")
    [action] = resource.plan(await resource.observe(), refresh=False)
    with pytest.raises(ResourceError):
        await action.run()
    assert read_record("reboot ordered", "host") is None


async def test_without_a_state_directory_nothing_is_ordered(tmp_path, monkeypatch):
    with pytest.raises(ResourceError, match="no state directory"):
        await Reboot(name="x")._order("first")


async def test_the_file_that_asks_for_a_reboot_is_noticed(host):
    resource = Reboot(name="x", windows=[NEVER])
    async with running(resource) as story:
        await story.converged()
        checks = len(story.checks(resource.ref))
        (host / "required").touch()
        await story.until(lambda: len(story.checks(resource.ref)) > checks)
        assert story.result(resource.ref) is Result.OK


SCRIPT = """
set -eu
touch /run/reboot-required
"$1" -m reactor run --converge-once --noop "$2"
test "$(systemctl list-units --plain --no-legend 'run-*.timer')" = ""
"$1" -m reactor run --converge-once "$2"
"$1" -m reactor run --converge-once "$2"
timers=$(systemctl list-units --plain --no-legend 'run-*.timer')
echo "timers: $(echo "$timers" | wc -l)"
timer=${timers%% *}
systemctl show --property=TimersMonotonic "$timer"
systemctl start --no-block "$(systemctl show --value --property=Unit "$timer")" || exit 0
exec sleep 600
"""
"""The time of grace, which a slow machine would need for the second run, is not waited for: it is read, and cut short."""


@pytest.mark.skipif(os.geteuid() != 0, reason="boots a systemd")
def test_a_real_systemd_reboots_once_after_the_run_has_ended(tmp_path):
    site = tmp_path / "site.yaml"
    site.write_text("resources:\n  - reboot:\n      - updates: {grace: 90s}\n")
    world = [ROOT / "tests/systemd/with-systemd", "bash", "-c", SCRIPT, "sh", sys.executable, site]
    done = subprocess.run(world, capture_output=True, text=True, check=False, timeout=300)
    assert "would change  Would have ordered a reboot in 90 s" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("changed  ordered a reboot in 90 s") == 1
    assert "timers: 1\n" in done.stdout
    assert "OnActiveUSec=1min 30s " in done.stdout
    assert done.returncode != 0
