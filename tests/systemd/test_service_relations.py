"""Units and what is around them: masks before there is a unit, links from elsewhere, aliases, presets, conflicts, sockets."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from unit_worlds import ETC, VENDOR, Unit, converge, systemctl

from reactor.engine.events import Noted, Result
from reactor.engine.options import RunOptions
from reactor.resources.exec import Exec
from reactor.resources.file import File
from reactor.resources.service import Service
from reactor.testing.story import converge_once, running

OWNERS = {"owner": "root", "group": "root"}
INIT_SCRIPT = """\
#!/bin/sh
### BEGIN INIT INFO
# Provides: {name}
# Required-Start: $remote_fs
# Required-Stop: $remote_fs
# Default-Start: {levels}
# Default-Stop: 0 1 6
# Short-Description: a test
### END INIT INFO
exit 0
"""


@pytest.fixture
def init_script():
    """Writes a script in /etc/init.d; systemd is not told."""
    written = []

    def write(name, levels="2 3 4 5"):
        path = Path(f"/etc/init.d/{name}")
        path.write_text(INIT_SCRIPT.format(name=name, levels=levels))
        path.chmod(0o755)
        written.append(path)

    yield write
    for path in written:
        path.unlink(missing_ok=True)
        subprocess.run(["update-rc.d", path.name, "remove"], check=True)
    systemctl("daemon-reload")


async def is_settled(service):
    check, _ = await converge(service)
    return check.result is Result.OK


# ---- masked before it is there ----


@pytest.mark.usefixtures("way")
async def test_a_unit_is_masked_before_it_exists():
    unit = Unit(VENDOR)
    service = Service(name=unit.name, ensure="stopped", masked=True)
    check, _ = await converge(service, noop=True)
    assert check.actions == ("Would have masked",)
    assert unit.enabled != "masked"
    check, _ = await converge(service)
    assert (check.result, check.actions) == (Result.CHANGED, ("masked",))
    assert await is_settled(service)
    unit.write()
    systemctl("daemon-reload")
    assert unit.ctl("start") == ""
    assert (unit.enabled, unit.active, unit.starts) == ("masked", "inactive", 0), (
        "what comes later is not started"
    )


@pytest.mark.usefixtures("way")
async def test_a_unit_is_masked_and_not_enabled_before_it_exists():
    unit = Unit(VENDOR)
    check, _ = await converge(Service(name=unit.name, ensure="stopped", enable=False, masked=True))
    assert check.actions == ("masked",)


async def test_a_unit_that_is_not_there_can_t_be_unmasked():
    check, _ = await converge(Service(name=Unit().name, ensure="stopped", masked=False))
    assert "not found" in check.error


# ---- linked from elsewhere ----


@pytest.mark.usefixtures("way")
async def test_a_linked_unit_is_disabled_and_keeps_its_link(tmp_path):
    unit = Unit(tmp_path).write()
    systemctl("enable", str(unit.path))
    assert unit.enabled == "enabled"
    service = Service(name=unit.name, enable=False)
    check, _ = await converge(service)
    assert check.error is None
    assert check.actions == ("started", "disabled")
    assert (unit.active, unit.enabled) == ("active", "linked")
    assert (ETC / unit.full).resolve() == unit.path.resolve()
    assert await is_settled(service)
    check, _ = await converge(Service(name=unit.name, enable=True))
    assert unit.enabled == "enabled"


@pytest.mark.usefixtures("way")
async def test_a_unit_linked_until_the_next_boot_is_disabled_and_stays_so(tmp_path):
    unit = Unit(tmp_path).write()
    systemctl("enable", "--runtime", str(unit.path))
    check, _ = await converge(Service(name=unit.name, ensure="stopped", enable=False))
    assert (check.error, unit.enabled) == (None, "linked-runtime")


# ---- other names ----


@pytest.mark.usefixtures("way")
async def test_an_alias_names_the_real_unit():
    unit = Unit(VENDOR).write()
    alias = f"nick-{unit.name}"
    (VENDOR / f"{alias}.service").symlink_to(unit.full)
    systemctl("daemon-reload")
    check, noted = await converge(Service(name=alias, ensure="stopped", enable=True))
    assert noted == [f"alias: it is another name of {unit.full}, enable that"]
    check, _ = await converge(Service(name=alias, ensure="stopped", enable=False))
    assert f"{alias}.service is an alias of {unit.full}" in check.error
    assert check.hint == f"write service#{unit.name} instead"
    shown = await Service(name=alias).describe()
    assert shown["unit"] == unit.full


# ---- scripts of System V ----


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("levels", ["2 3 4 5", "2 3", "3", "S"])
async def test_a_script_is_enabled_and_disabled_in_whatever_runlevels_it_starts(init_script, levels):
    unit = Unit(ETC, "levels")
    init_script(unit.name, levels)
    subprocess.run(["update-rc.d", unit.name, "defaults"], check=True)
    systemctl("daemon-reload")
    starts = lambda: sorted(Path("/etc").glob(f"rc[S2345].d/S*{unit.name}"))  # noqa: E731
    assert starts()
    disabled = Service(name=unit.name, ensure="stopped", enable=False)
    check, _ = await converge(disabled)
    assert (check.error, check.actions) == (None, ("disabled",))
    assert starts() == []
    assert await is_settled(disabled)
    enabled = Service(name=unit.name, ensure="stopped", enable=True)
    check, _ = await converge(enabled)
    assert (check.error, check.actions) == (None, ("enabled",))
    assert starts()
    assert await is_settled(enabled)


@pytest.mark.usefixtures("way")
async def test_a_script_whose_name_ends_in_sh_is_disabled(init_script):
    unit = Unit(ETC, "shell")
    init_script(f"{unit.name}.sh")
    subprocess.run(["update-rc.d", f"{unit.name}.sh", "defaults"], check=True)
    systemctl("daemon-reload")
    check, _ = await converge(Service(name=unit.name, ensure="stopped", enable=False))
    assert (check.error, check.actions) == (None, ("disabled",))
    assert list(Path("/etc").glob(f"rc[2345].d/S*{unit.name}.sh")) == []


async def test_a_script_of_the_same_manifest_is_known_after_a_reload(init_script, way):
    unit = Unit(ETC, "fresh")
    path = Path(f"/etc/init.d/{unit.name}")
    text = INIT_SCRIPT.format(name=unit.name, levels="2 3 4 5")
    script = File(name=str(path), ensure="present", content=text, mode="0755", **OWNERS)
    try:
        service = Service(name=unit.name, enable=True)
        _, story = await converge_once(service, script)
        (check,) = story.checks(service.ref)
        assert check.error is None
        assert check.actions == ("had systemd read the changed unit files", "started", "enabled")
        assert unit.active == "active"
    finally:
        path.unlink()
        subprocess.run(["update-rc.d", unit.name, "remove"], check=True)
        systemctl("daemon-reload")


# ---- presets ----


@pytest.fixture
def presets():
    path = Path("/etc/systemd/system-preset/10-test.preset")
    path.parent.mkdir(exist_ok=True)
    yield path
    path.unlink()


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("verb", "before", "after"), [("enable", "disable", "enabled"), ("disable", "enable", "disabled")]
)
async def test_a_unit_is_enabled_or_disabled_as_the_presets_say(presets, app, verb, before, after):
    app.ctl(before)
    presets.write_text(f"{verb} {app.full}\n")
    service = Service(name=app.name, ensure="stopped", preset=True)
    check, _ = await converge(service, noop=True)
    assert check.actions == (f"Would have {after}, as the presets say",)
    check, _ = await converge(service)
    assert (check.error, check.actions) == (None, (f"{after}, as the presets say",))
    assert app.enabled == after
    assert await is_settled(service)


# ---- conflicts ----


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("says_so", ["new", "old"])
async def test_a_start_says_which_unit_it_stops(says_so):
    old, new = Unit(), Unit()
    old.write(unit=f"Conflicts={new.full}" if says_so == "old" else "")
    new.write(unit=f"Conflicts={old.full}" if says_so == "new" else "")
    systemctl("daemon-reload")
    old.ctl("start")
    service = Service(name=new.name)
    check, _ = await converge(service, noop=True)
    assert check.actions == (f"Would have started, which stops {old.full} (they conflict)",)
    check, _ = await converge(service)
    assert check.actions == (f"started, which stops {old.full} (they conflict)",)
    assert (old.active, new.active) == ("inactive", "active")
    assert await is_settled(service)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("is_first", [True, False], ids=["at once", "after the stop"])
async def test_a_start_that_a_conflicting_unit_ends_says_so(monkeypatch, is_first):
    monkeypatch.setattr("reactor.resources.service.systemd_dbus.PROOF", 5.0)
    other, unit = Unit(), Unit()
    # Ordered after the unit, the other one waits in the queue while the unit stops.
    other.write(unit="" if is_first else f"After={unit.full}")
    unit.write(
        "Type=oneshot\nRemainAfterExit=yes\nTimeoutStopSec=1s",
        unit=f"Conflicts={other.full}",
        command=f"trap '' TERM; systemctl start --no-block {other.full}; sleep 100",
    )
    systemctl("daemon-reload")
    check, _ = await converge(Service(name=unit.name))
    assert check.result is Result.FAILED
    assert f"{other.full} conflicts with it, and was started" in check.error
    assert "ensure: stopped for one of them" in check.hint


async def test_a_run_that_ends_does_not_call_two_that_conflict_converged():
    first, second = Unit(), Unit()
    first.write()
    second.write(unit=f"Conflicts={first.full}")
    systemctl("daemon-reload")
    services = Service(name=first.name), Service(name=second.name, after=(f"service#{first.name}",))
    _, story = await converge_once(*services)
    assert (first.active, second.active) == ("inactive", "active")
    check = story.checks(services[0].ref)[-1]
    assert check.result is Result.FAILED
    assert check.error == (
        f"as desired at first, but no longer, since {services[1].ref} was changed: "
        f"Would have started, which stops {second.full} (they conflict)"
    )
    assert second.starts == 1


# ---- what comes later ----


async def test_a_dry_run_does_not_fail_a_service_whose_unit_comes_by_what_need_not_go_first():
    unit = Unit()
    service = Service(name=unit.name)
    brings = Exec(
        name="brings",
        command=f"cp /nowhere {unit.path}",
        creates=str(unit.path),
        meta={"automatic_edges": False},
    )
    ended, story = await converge_once(service, brings, options=RunOptions(noop=True))
    assert story.checks(service.ref)[-1].actions == (
        f"Can't tell before exec#brings is applied (service {unit.full} not found)",
    )
    assert ended.counts["failed"] == 0


# ---- what starts it again ----


def socket_for(unit):
    path = ETC / f"{unit.name}.socket"
    path.write_text(f"[Socket]\nListenStream=/run/{unit.name}.sock\n[Install]\nWantedBy=sockets.target\n")
    return path.name


@pytest.mark.usefixtures("way")
async def test_a_stopped_service_whose_socket_listens_says_what_starts_it_again(app):
    socket = socket_for(app)
    systemctl("daemon-reload")
    systemctl("start", socket, app.full)
    service = Service(name=app.name, ensure="stopped")
    told = f"{socket} is active, and starts it again: have service#{socket} stopped, too"
    _, noted = await converge(service, noop=True)
    assert noted == [told]
    check, noted = await converge(Service(name=app.name, ensure="stopped"))
    assert (check.actions, noted, app.active) == (("stopped",), [told], "inactive")
    systemctl("stop", socket)
    _, noted = await converge(Service(name=app.name, ensure="stopped"))
    assert noted == []


@pytest.mark.usefixtures("way")
async def test_a_masked_service_that_runs_says_that_nothing_can_start_it_again():
    unit = Unit(VENDOR).write()
    systemctl("daemon-reload")
    systemctl("start", unit.full)
    systemctl("mask", unit.full)
    told = "it is masked: it runs, and nothing can start it again; write masked: false to unmask it"
    for noop in (True, False):
        check, noted = await converge(Service(name=unit.name), noop=noop)
        assert (check.result, noted, unit.active) == (Result.OK, [told], "active")
    check, noted = await converge(Service(name=unit.name, masked=False))
    assert (check.actions, noted, unit.active) == (("unmasked",), [], "active")


async def test_a_refresh_of_a_masked_service_fails_in_a_dry_run_as_in_a_run():
    unit = Unit(VENDOR).write()
    systemctl("daemon-reload")
    systemctl("start", unit.full)
    systemctl("mask", unit.full)
    service = Service(name=unit.name)
    for noop in (True, False):
        options = RunOptions(noop=noop, pending_refreshes=frozenset((service.ref,)))
        _, story = await converge_once(service, options=options)
        assert (
            story.checks(service.ref)[-1].error
            == f"{unit.full} is masked, and can't be restarted or reloaded"
        )
    assert unit.active == "active"


async def test_a_masked_service_is_not_started_by_its_socket():
    unit = Unit(VENDOR).write()
    socket = socket_for(unit)
    systemctl("daemon-reload")
    systemctl("start", socket)
    _, noted = await converge(Service(name=unit.name, ensure="stopped", masked=True))
    assert noted == []


async def test_what_starts_it_again_is_said_once_in_a_run_that_stays(app):
    socket = socket_for(app)
    systemctl("daemon-reload")
    systemctl("start", socket)
    service = Service(name=app.name, ensure="stopped")
    async with running(service) as story:
        await story.converged()
        app.ctl("start")
        await story.converged()
        assert len(story.all(Noted)) == 1
    assert os.path.exists(ETC / socket)
