"""What an apply does to units of a real systemd, and what it says when that can't be done."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from unit_worlds import ETC, VENDOR, Unit, counting, eventually, kill_bus, systemctl

from reactor import ResourceError
from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resources.exec import Exec
from reactor.resources.file import File
from reactor.resources.service import Service
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once, running
from reactor.watchers.dbus import Scope, connect
from reactor.watchers.units import pin

OWNERS = {"owner": "root", "group": "root", "mode": "0644"}


async def apply(*resources, **options):
    """Converge once; the checks of the last resource."""
    _, story = await converge_once(*resources, options=RunOptions(**options))
    return story.checks(resources[-1].ref)


@pytest.fixture
def without_proof(monkeypatch):
    """For units that stay up: it is not waited for long enough to see that."""
    monkeypatch.setattr("reactor.resources.service.systemd_dbus.PROOF", 0.0)


@pytest.fixture
def long_proof(monkeypatch):
    """For units that do not stay up: on a busy machine, it takes them a while to end."""
    monkeypatch.setattr("reactor.resources.service.systemd_dbus.PROOF", 5.0)


@pytest.mark.usefixtures("without_proof")
@pytest.mark.parametrize("is_enabled", [True, False])
@pytest.mark.parametrize("is_running", [True, False])
@pytest.mark.parametrize("enable", [True, False, None])
@pytest.mark.parametrize("ensure", ["running", "stopped"])
async def test_every_state_is_reached_from_every_other(app, ensure, enable, is_running, is_enabled):
    if is_enabled:
        app.ctl("enable", "--no-reload")
    if is_running:
        app.ctl("start")
    service = Service(name=app.name, ensure=ensure, enable=enable)
    await apply(service)
    assert app.active == ("active" if ensure == "running" else "inactive")
    assert app.enabled == ("enabled" if (is_enabled if enable is None else enable) else "disabled")
    assert app.starts <= 1
    (check,) = await apply(service)
    assert check.result is Result.OK


async def test_without_a_bus_a_service_goes_through_all_its_states(monkeypatch):
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nowhere")
    app = Unit(VENDOR).write()
    for properties, active, enabled in [
        ({"enable": True}, "active", "enabled"),
        ({"ensure": "stopped", "enable": False}, "inactive", "disabled"),
        ({"ensure": "stopped", "masked": True}, "inactive", "masked"),
        ({"masked": False}, "active", "disabled"),
    ]:
        (check,) = await apply(Service(name=app.name, **properties))
        assert check.result is Result.CHANGED
        assert (app.active, app.enabled) == (active, enabled)


@pytest.mark.usefixtures("without_proof", "way")
async def test_a_unit_file_that_came_back_after_a_reload_is_read_again(app):
    """Until then, systemd can neither start nor restart the unit: it calls it busy, not stale."""
    app.ctl("start")
    text = app.path.read_text()
    app.path.unlink()
    systemctl("daemon-reload")
    app.path.write_text(text)
    assert (app.show("LoadState"), app.active) == ("error", "active")
    (check,) = await apply(Service(name=app.name))
    assert (check.result, check.actions) == (Result.CHANGED, ("had systemd read the changed unit files",))
    assert (app.show("LoadState"), app.active, app.starts) == ("loaded", "active", 1)
    assert systemctl("restart", app.name) == ""
    assert app.starts == 2


@pytest.mark.usefixtures("without_proof", "way")
async def test_a_unit_file_that_takes_the_place_of_another_is_read():
    vendor = Unit(VENDOR).write(unit="Description=of the package")
    vendor.ctl("start")
    (ETC / vendor.full).write_text(vendor.text(unit="Description=of the administrator"))
    (check,) = await apply(Service(name=vendor.name))
    assert check.actions == ("had systemd read the changed unit files",)
    assert vendor.show("Description") == "of the administrator"
    (check,) = await apply(Service(name=vendor.name))
    assert check.result is Result.OK


async def test_many_units_are_enabled_at_once_without_a_bus(monkeypatch):
    apps = [Unit().write() for _ in range(20)]
    systemctl("start", *(app.full for app in apps))
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nowhere")
    services = [Service(name=app.name, enable=True) for app in apps]
    _, story = await converge_once(*services)
    checks = [check for service in services for check in story.checks(service.ref)]
    assert [check.error for check in checks if check.error] == []
    assert [check.actions for check in checks] == [("enabled",)] * 20
    assert {app.enabled for app in apps} == {"enabled"}


async def test_noop_says_both_and_does_neither(app, way):
    (check,) = await apply(Service(name=app.name, enable=True), noop=True)
    assert check.actions == ("Would have started", "Would have enabled")
    assert (app.active, app.enabled, app.starts) == ("inactive", "disabled", 0)


@pytest.mark.parametrize(
    "row",
    [
        ("restart", True, 2, 0),
        ("reload", True, 1, 1),
        ("reload-or-restart", True, 1, 1),
        ("reload-or-restart", False, 2, 0),
    ],
)
async def test_a_refresh_restarts_or_reloads(row, tmp_path, way):
    on_refresh, reload, starts, reloads = row
    app = Unit().write(f"ExecReload=/bin/sh -c 'echo >>{tmp_path}/reloads'" if reload else "")
    app.ctl("start")
    await eventually(lambda: app.starts)
    trigger = File(name=str(tmp_path / "conf"), ensure="present", content="x", **OWNERS)
    (check,) = await apply(trigger, Service(name=app.name, on_refresh=on_refresh, subscribe=[trigger.ref]))
    assert check.result is Result.CHANGED
    await eventually(lambda: app.starts == starts)
    assert (tmp_path / "reloads").exists() == bool(reloads)


async def test_a_stopped_service_ignores_what_it_subscribes_to(app, tmp_path):
    trigger = File(name=str(tmp_path / "conf"), ensure="present", content="x", **OWNERS)
    (check,) = await apply(trigger, Service(name=app.name, ensure="stopped", subscribe=[trigger.ref]))
    assert check.result is Result.OK
    assert app.starts == 0


async def test_a_unit_file_of_the_same_manifest_is_written_first(way):
    app = Unit()
    service = Service(name=app.name, enable=True)
    unit_file = File(name=str(app.path), ensure="present", content=app.text(), **OWNERS)
    ended, _ = await converge_once(service, unit_file)
    assert ended.counts[Result.CHANGED] == 2
    assert (app.active, app.enabled, app.starts) == ("active", "enabled", 1)


def until_journal_has(word):
    """Commands that wait until the journal has that word of their unit: a busy one takes a while."""
    return f"until journalctl --unit %n | grep -q {word}; do sleep 0.05; done"


NO_PROGRAM = "ExecStart=\nExecStart=/nowhere/program"
TYPE_EXEC = f"Type=exec\n{NO_PROGRAM}\nExecStopPost=/bin/sh -c '{until_journal_has('203/EXEC')}'"


@pytest.mark.usefixtures("long_proof")
@pytest.mark.parametrize(
    ("service", "more", "error", "hint"),
    [
        (
            "",
            {"command": f"echo that is why; {until_journal_has('why')}; exit 3"},
            ["ended with status 3", "that is why"],
            None,
        ),
        (NO_PROGRAM, {}, ["does not run after its start", "ended with status 203"], None),
        (TYPE_EXEC, {}, ["did not start", "203/EXEC"], None),
        ("ExecStartPre=/bin/false", {}, ["did not start: a command beside its main process failed"], None),
        ("ExecStartPost=/bin/false", {}, ["did not start: a command beside its main process failed"], None),
        ("", {"unit": "ConditionPathExists=/nowhere"}, ["ConditionPathExists=/nowhere"], None),
        ("", {"unit": "Requires=nowhere.service"}, ["nowhere.service not found"], "require"),
        ("Type=oneshot", {"command": "true"}, ["does not run after its start"], "RemainAfterExit=yes"),
        ("Type=notify\nTimeoutStartSec=0.2", {}, ["did not start: timeout"], None),
        ("NoSuch=\nExecStart=", {}, ["bad unit file setting"], "systemd-analyze verify"),
        ("", {"unit": "RefuseManualStart=yes"}, ["by dependency only"], "a target"),
    ],
)
async def test_what_does_not_start_is_reported_with_its_reason(service, more, error, hint):
    app = Unit().write(service, **more)
    (check,) = await apply(Service(name=app.name))
    assert check.result is Result.FAILED
    for words in error:
        assert words in check.error
    assert hint is None or hint in check.hint


@pytest.mark.usefixtures("long_proof")
async def test_what_cleans_up_after_itself_does_not_run_any_more(tmp_path):
    (tmp_path / "go").touch()
    cleans = f"ExecStopPost=/bin/sh -c 'while test -e {tmp_path}/go; do sleep 0.01; done'"
    app = Unit().write(cleans, command="exit 3")
    service = Service(name=app.name)
    (start,) = service.plan(await service.observe(), refresh=False)
    with pytest.raises(ResourceError, match="does not run after its start: its process ended with status 3"):
        await start.run()
    assert app.active == "deactivating"
    (tmp_path / "go").unlink()


@pytest.mark.usefixtures("long_proof")
@pytest.mark.parametrize(
    "unit", ["AssertPathExists=/nowhere", "Requires=failing.service\nAfter=failing.service"]
)
async def test_how_a_unit_ended_earlier_is_no_reason_that_it_was_not_tried(unit):
    (ETC / "failing.service").write_text("[Service]\nType=oneshot\nExecStart=false\n")
    app = Unit().write(command="exit 3")
    (check,) = await apply(Service(name=app.name))
    assert "ended with status 3" in check.error
    app.write(unit=unit)
    (check,) = await apply(Service(name=app.name))
    assert "did not start" in check.error
    assert "ended with status 3" not in check.error.splitlines()[0]


async def test_a_failure_is_reported_without_a_bus_too(monkeypatch):
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nowhere")
    app = Unit().write(TYPE_EXEC)
    (check,) = await apply(Service(name=app.name))
    assert "203/EXEC" in check.error


async def test_a_drop_in_that_leads_nowhere_is_reported(app, way):
    """systemd says of such a unit for ever that it should read its files."""
    drop_in = Path(f"{app.path}.d/nowhere.conf")
    drop_in.parent.mkdir()
    drop_in.symlink_to("/nowhere")
    systemctl("daemon-reload")
    (check,) = await apply(Service(name=app.name))
    assert check.error == f"{app.full}: systemd can't read all of its unit file and drop-ins"
    assert "dangling links" in check.hint
    drop_in.unlink()
    (check,) = await apply(Service(name=app.name))
    assert check.result is Result.CHANGED


@pytest.mark.parametrize("properties", [{}, {"ensure": "stopped"}, {"enable": True}])
async def test_a_missing_unit_is_an_error(properties, way):
    (check,) = await apply(Service(name="nowhere", **properties))
    assert check.error == "service nowhere.service not found"


async def test_a_name_that_systemd_does_not_take_is_an_error():
    """CCM takes it, so that a manifest with it is valid."""
    (check,) = await apply(Service(name="no+name"))
    assert "rejects this as a unit name" in check.error
    assert "letters, digits" in check.hint


async def test_a_masked_unit_can_t_be_started_and_the_error_says_how_it_can(way):
    app = Unit(VENDOR).write()
    app.ctl("mask")
    (check,) = await apply(Service(name=app.name))
    assert "masked" in check.error
    assert way == "systemctl" or "masked: false" in check.hint


async def test_a_mask_that_has_no_place_says_what_is_in_the_way(app):
    (check,) = await apply(Service(name=app.name, ensure="stopped", masked=True))
    assert "that file is in the place of a link or mask" in check.hint


async def test_a_unit_file_that_is_none_says_how_to_see_its_error(app, way):
    app.path.write_text("[Service\nExecStart=sleep 1000\n")
    (check,) = await apply(Service(name=app.name, enable=True))
    assert check.error == f"{app.full} has a unit file that systemd can't read"
    assert "systemd-analyze verify" in check.hint


async def test_a_unit_of_a_user_whose_systemd_does_not_run_says_how_it_would(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (check,) = await apply(Service(name="app", scope="user"))
    assert "loginctl enable-linger" in check.hint


@pytest.mark.parametrize("is_link", [False, True], ids=["file", "link"])
async def test_a_unit_is_not_stopped_for_a_mask_that_has_no_place(is_link, tmp_path, way):
    app = Unit(tmp_path if is_link else ETC).write()
    if is_link:
        systemctl("link", str(app.path))
    app.ctl("start")
    wanted = Service(name=app.name, ensure="stopped", masked=True)
    (dry,) = await apply(wanted, noop=True)
    (check,) = await apply(wanted)
    assert (check.result, app.active) == (Result.FAILED, "active")
    assert f"{ETC / app.full} is there" in check.error
    assert (dry.error, dry.hint) == (check.error, check.hint)


async def test_a_link_that_has_no_place_says_what_is_in_the_way(app):
    other = Unit().write()
    alias = ETC / f"{app.name}-alias.service"
    alias.symlink_to(other.path)
    app.path.write_text(f"{app.path.read_text()}Alias={alias.name}\n")
    (check,) = await apply(Service(name=app.name, enable=True))
    assert f"File {alias} already exists" in check.error
    assert "that file is in the place of a link" in check.hint


async def test_a_unit_without_an_install_section_counts_as_enabled():
    app = Unit().write()
    app.path.write_text(app.text().partition("[Install]")[0])
    (check,) = await apply(Service(name=app.name, enable=True))
    assert check.actions == ("started",)
    (check,) = await apply(Service(name=app.name, enable=False))
    assert "is static" in check.error
    assert "masked" not in check.hint  # the mask would be in the place of that file
    assert check.hint.endswith(f"; or remove {app.path}")


@pytest.mark.parametrize("verb", ["enable", "mask"])
async def test_a_link_until_the_next_boot_is_removed_too(verb, way):
    app = Unit(VENDOR).write()
    app.ctl(verb)
    app.ctl(verb, "--runtime")
    wanted = {"enable": False} if verb == "enable" else {"masked": False}
    (check,) = await apply(Service(name=app.name, ensure="running", **wanted))
    assert check.result is Result.CHANGED
    assert app.enabled == "disabled"


async def test_a_mask_until_the_next_boot_becomes_one_for_good(way):
    app = Unit(VENDOR).write()
    app.ctl("mask", "--runtime")
    (check,) = await apply(Service(name=app.name, ensure="stopped", masked=True))
    assert check.actions == ("masked",)
    assert app.enabled == "masked"


async def test_an_alias_is_no_name_to_disable_a_unit_by(way):
    """systemd would remove the link that the name is, and the next check find no unit."""
    app = Unit()
    alias = f"{app.name}-alias.service"
    app.write()
    app.path.write_text(f"{app.path.read_text()}Alias={alias}\n")
    app.ctl("enable")
    (check,) = await apply(Service(name=alias, enable=True))
    assert check.actions == ("started",)
    (check,) = await apply(Service(name=alias, enable=False, ensure="stopped"))
    assert f"{alias} is an alias" in check.error
    assert (app.active, app.enabled) == ("active", "enabled")


async def test_instances_of_a_template_are_units_of_their_own():
    template = Unit()
    path = ETC / f"{template.name}@.service"
    path.write_text(template.text().replace(str(template.log), "/tmp/%p-%i.log"))
    await apply(Service(name=f"{template.name}@one", enable=True))
    assert systemctl("is-active", f"{template.name}@one", f"{template.name}@two").split() == [
        "active",
        "inactive",
    ]
    assert systemctl("is-enabled", f"{template.name}@one") == "enabled"


async def test_units_of_other_types_are_managed_alike():
    app = Unit().write()
    timer, socket = f"{app.name}.timer", f"{app.name}.socket"
    (ETC / timer).write_text("[Timer]\nOnCalendar=yearly\n[Install]\nWantedBy=timers.target\n")
    (ETC / socket).write_text(f"[Socket]\nListenStream=/run/{app.name}\n[Install]\nWantedBy=sockets.target\n")
    async with running(Service(name=timer, enable=True), Service(name=socket)) as story:
        await story.converged()
        assert systemctl("is-active", timer, socket).split() == ["active", "active"]
        systemctl("stop", timer, socket)
        await eventually(lambda: systemctl("is-active", timer, socket).split() == ["active", "active"])
    assert app.starts == 0


async def test_many_units_edited_at_once_are_one_reload():
    apps = [Unit().write() for _ in range(10)]
    services = [Service(name=app.name) for app in apps]
    await converge_once(*services)
    for app in apps:
        app.write("Nice=5")
    async with counting("Reloading") as reloads:
        ended, _ = await converge_once(*services)
        assert ended.counts[Result.OK] + ended.counts[Result.CHANGED] == 10
        await converge_once(*services)
    assert all(app.show("Nice") == "5" for app in apps)
    assert [reload.body for reload in reloads] == [[True], [False]]


@pytest.mark.usefixtures("unhurried")
async def test_many_units_enabled_at_once_are_few_reloads():
    apps = [Unit().write() for _ in range(30)]
    async with counting("Reloading") as reloads:
        await converge_once(*(Service(name=app.name, enable=True) for app in apps))
    assert [reload.body for reload in reloads].count([True]) <= 3
    assert {app.show("UnitFileState") for app in apps} == {"enabled"}, "systemd knows of the last one too"


@pytest.mark.usefixtures("unhurried")
async def test_many_units_enabled_while_their_watches_are_armed_are_few_reloads():
    """One after the other is armed and checked: nobody else is at work when the first is done."""
    apps = [Unit().write() for _ in range(30)]
    systemctl("start", *(app.full for app in apps))
    services = [Service(name=app.name, enable=True) for app in apps]
    async with counting("Reloading") as reloads, running(*services) as story:
        await story.converged()
    assert [reload.body for reload in reloads].count([True]) <= 5
    actions = [
        action for service in services for check in story.checks(service.ref) for action in check.actions
    ]
    assert actions == ["enabled"] * 30, "a link of one is no news of the files of the others"
    assert {app.show("UnitFileState") for app in apps} == {"enabled"}


@pytest.mark.usefixtures("unhurried")
async def test_a_unit_is_started_as_its_file_is_now_also_while_a_link_of_another_is_to_be_reported():
    """The reload for the link waits for the slow one; the unit that was edited can't."""
    enabled, edited, slow = Unit().write(), Unit().write(), Unit().write("ExecStartPre=/bin/sleep 2")
    enabled.ctl("start")
    await pin(await connect(Scope.SYSTEM), edited.full)
    edited.write("Nice=5")
    services = [
        Service(name=slow.name),
        Service(name=enabled.name, enable=True),
        Service(name=edited.name, require=[f"service#{enabled.name}"]),
    ]
    await converge_once(*services)
    # systemd calls it started before the new process has taken its priority.
    await eventually(lambda: os.getpriority(os.PRIO_PROCESS, edited.pid) == 5)


async def test_systemd_knows_of_a_link_also_if_what_came_after_it_failed():
    enabled, broken = Unit().write(), Unit().write(command="sleep 0.4; exit 3", service="Type=oneshot")
    ended, _ = await converge_once(Service(name=enabled.name, enable=True), Service(name=broken.name))
    assert (ended.counts[Result.CHANGED], ended.counts[Result.FAILED]) == (1, 1)
    assert enabled.show("UnitFileState") == "enabled"


@pytest.mark.usefixtures("without_proof")
async def test_the_end_of_every_job_is_noticed(app):
    """It may be told before the number of the job is."""
    service = Service(name=app.name)
    for ensure in ["running", "stopped"] * 25:
        (check,) = await apply(service.model_copy(update={"ensure": ensure}))
        assert check.result is Result.CHANGED


async def test_a_transition_under_way_is_waited_for():
    app = Unit().write("ExecStop=/bin/sleep 0.3")
    app.ctl("start")
    app.ctl("stop", "--no-block")
    (check,) = await apply(Service(name=app.name))
    assert check.actions == ("started",)
    assert (app.active, app.starts) == ("active", 2)


async def test_a_start_outlives_the_bus(tmp_path, nursery):
    app = Unit().write(
        "Type=oneshot\nRemainAfterExit=yes", command=f"while ! [ -e {tmp_path}/go ]; do :; done"
    )

    async def kill_then_let_go():
        await eventually(lambda: app.active == "activating")
        kill_bus()
        (tmp_path / "go").touch()

    nursery.start_soon(kill_then_let_go)
    (check,) = await apply(Service(name=app.name, enable=True))
    assert (check.result, check.actions) == (Result.CHANGED, ("started", "enabled"))
    assert (app.active, app.enabled, app.starts) == ("active", "enabled", 1)


async def test_another_user_s_start_is_waited_for_and_not_repeated(way):
    app = Unit().write("ExecStartPre=/bin/sleep 0.3")
    app.ctl("start", "--no-block")
    (check,) = await apply(Service(name=app.name))
    assert check.result is Result.OK
    assert (app.active, app.starts) == ("active", 1)


def test_the_command_line_manages_services(app, tmp_path):
    manifest = tmp_path / "site.yaml"
    manifest.write_text(f"resources:\n  - service:\n      - {app.name}: {{enable: true}}\n")
    command = [sys.executable, "-m", "reactor", "run", "--converge-once"]
    noop = subprocess.run([*command, "--noop", manifest], check=True, capture_output=True, text=True)
    assert "Would have started, Would have enabled" in noop.stdout
    done = subprocess.run([*command, manifest], check=True, capture_output=True, text=True)
    assert f"service#{app.name}  changed  started, enabled" in done.stdout
    assert not done.stderr
    again = subprocess.run([*command, manifest], check=True, capture_output=True, text=True)
    assert "ok 1  changed 0" in again.stdout


async def test_a_user_who_may_not_is_reported_what_would_help(app, tmp_path):
    manifest = tmp_path / "site.yaml"
    manifest.write_text(f"resources:\n  - service:\n      - {app.name}: {{}}\n")
    for directory in (tmp_path, *tmp_path.parents, Path.cwd(), *Path.cwd().parents):
        if directory != Path("/"):
            directory.chmod(directory.stat().st_mode | 0o055)
    state = tmp_path / "state"
    state.mkdir()
    os.chown(state, 65534, 65534)
    command = [sys.executable, "-m", "reactor", "run", "--converge-once", "--state-dir", state, manifest]
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command],
        capture_output=True, text=True, check=False, env={"PATH": os.environ["PATH"], "PYTHONPATH": os.getcwd()},
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "polkit" in done.stdout
    assert app.starts == 0


def world(app):
    return app.active, app.enabled


def stopped_and_enabled():
    app = Unit().write()
    return Case(lambda: Service(name=app.name, enable=True), lambda: world(app), lambda: app.ctl("stop"))


def started_by_others():
    app = Unit().write()
    app.ctl("enable", "--now")
    return Case(
        lambda: Service(name=app.name, ensure="stopped", enable=False),
        lambda: world(app),
        lambda: app.ctl("enable"),
    )


def masked():
    app = Unit(VENDOR).write()
    return Case(
        lambda: Service(name=app.name, ensure="stopped", masked=True),
        lambda: world(app),
        lambda: app.ctl("unmask"),
    )


@pytest.mark.usefixtures("without_proof")
@pytest.mark.parametrize(
    "case", [stopped_and_enabled, started_by_others, masked], ids=lambda case: case.__name__
)
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_the_service_kind_keeps_the_contract(promise, case):
    await promise(case())


@pytest.mark.usefixtures("without_proof")
async def test_a_service_is_started_though_what_brings_its_unit_is_later_and_says_nothing_of_it(tmp_path):
    app = Unit()
    text = app.text().replace("'", "'\\''")
    looked = f"until test -e {tmp_path}/looked; do sleep 0.01; done"
    brings = Exec(name="brings", provider="shell", command=f"{looked}; printf %s '{text}' > {app.path}")
    service = Service(name=app.name, enable=True)
    plan = service.plan

    def note_and_plan(state, *, refresh):
        (tmp_path / "looked").touch()
        return plan(state, refresh=refresh)

    service.__dict__["plan"] = note_and_plan
    ended, story = await converge_once(service, brings)
    assert [check.result for check in story.checks(f"service#{app.name}")] == [Result.FAILED, Result.CHANGED]
    assert ended.counts["failed"] == 0
    assert world(app) == ("active", "enabled")
    assert app.starts == 1
