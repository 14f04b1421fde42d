"""Whether a unit really starts at boot: what `enable` makes of units that are neither enabled nor disabled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from unit_worlds import ETC, VENDOR, Unit, converge, systemctl

from reactor.engine.events import Result
from reactor.resource.declared import Form, declare
from reactor.resources.service import Service

REASONS = {
    "static": "static: it has no [Install], others start it",
    "alias": "alias: it is another name of a unit, enable that",
}


def in_ccm(service):
    form = Form(is_ccm=True, allow_automatic_edges=False)
    declare(service, service.declared._replace(form=form))
    return service


def stopped(unit, *, enable=True):
    return Service(name=unit.name, ensure="stopped", enable=enable)


def without_install(unit):
    unit.write()
    unit.path.write_text(unit.path.read_text().partition("[Install]")[0])
    systemctl("daemon-reload")
    return unit


@pytest.fixture
def indirect():
    """A unit that names two others in its [Install], and nothing else."""
    unit, *others = Unit(), Unit().write(), Unit().write()
    unit.write()
    text = unit.path.read_text().partition("[Install]")[0]
    unit.path.write_text(f"{text}[Install]\nAlso={others[0].full}\nAlso={others[1].full}\n")
    systemctl("daemon-reload")
    assert unit.enabled == "indirect"
    return unit, others


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("form", ["native", "ccm"])
async def test_a_static_unit_is_ok_and_the_first_check_says_why(form):
    unit = without_install(Unit())
    service = stopped(unit) if form == "native" else in_ccm(stopped(unit))
    check, said = await converge(service)
    assert (check.result, said) == (Result.OK, [REASONS["static"]])
    _, again = await converge(service)
    assert again == []
    shown = await service.describe()
    assert (shown["enable"], shown["at_boot"]) == (True, REASONS["static"])


async def test_what_is_not_asked_for_is_not_said():
    unit = without_install(Unit())
    _, said = await converge(Service(name=unit.name, ensure="stopped"))
    assert said == []


@pytest.mark.usefixtures("way")
async def test_what_is_enabled_until_the_next_boot_becomes_so_for_good_and_is_undone_whole(app):
    app.ctl("enable", "--runtime")
    assert app.enabled == "enabled-runtime"
    check, _ = await converge(stopped(app))
    assert check.actions == ("enabled",)
    assert os.path.lexists(f"/etc/systemd/system/multi-user.target.wants/{app.full}")
    assert app.enabled == "enabled"
    check, _ = await converge(stopped(app))
    assert check.result is Result.OK
    await converge(stopped(app, enable=False))
    assert app.enabled == "disabled"


async def test_in_the_ccm_form_what_is_enabled_until_the_next_boot_counts_and_is_reported(app):
    app.ctl("enable", "--runtime")
    check, said = await converge(in_ccm(stopped(app)))
    assert (check.result, said) == (Result.OK, ["enabled-runtime: it is enabled until the next boot only"])
    assert app.enabled == "enabled-runtime"


@pytest.mark.usefixtures("way")
async def test_an_indirect_unit_is_enabled_by_enabling_all_that_it_names(indirect):
    unit, others = indirect
    others[1].ctl("enable")
    check, _ = await converge(stopped(unit), noop=True)
    assert check.actions == (f"Would have enabled what it names: {others[0].full}",)
    check, _ = await converge(stopped(unit))
    assert check.actions == (f"enabled what it names: {others[0].full}",)
    assert [other.enabled for other in others] == ["enabled", "enabled"]
    check, _ = await converge(stopped(unit))
    assert check.result is Result.OK
    check, _ = await converge(stopped(unit, enable=False))
    assert check.actions == (f"disabled what it names: {others[0].full} and {others[1].full}",)
    assert [other.enabled for other in others] == ["disabled", "disabled"]
    check, _ = await converge(stopped(unit, enable=False))
    assert check.result is Result.OK


async def test_in_the_ccm_form_an_indirect_unit_counts_as_enabled_and_is_reported(indirect):
    unit, others = indirect
    check, said = await converge(in_ccm(stopped(unit)))
    names = f"{others[0].full} and {others[1].full}"
    assert (check.result, said) == (Result.OK, [f"indirect: its [Install] only names {names}"])
    assert [other.enabled for other in others] == ["disabled", "disabled"]


def with_install(text, directory=ETC):
    """A unit with these lines in its [Install]."""
    unit = Unit(directory).write()
    unit.path.write_text(unit.path.read_text().partition("[Install]")[0] + f"[Install]\n{text}\n")
    systemctl("daemon-reload")
    return unit


IDLE = {
    "WantedBy=nosuch.target": "only nosuch.target starts it, and nothing starts that at boot",
    "WantedBy=rescue.target nosuch.target": (
        "only nosuch.target and rescue.target start it, and nothing starts these at boot"
    ),
    "Alias=nosuch.service": "its [Install] only gives it other names (nosuch.service), others start it",
}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("install", IDLE)
async def test_what_is_enabled_and_not_started_at_boot_is_reported(install):
    unit = with_install(install)
    service = stopped(unit)
    check, said = await converge(service)
    assert (check.actions, said) == (("enabled",), [f"enabled: {IDLE[install]}"])
    check, said = await converge(stopped(unit))
    assert (check.result, said) == (Result.OK, [f"enabled: {IDLE[install]}"])
    assert (await service.describe())["at_boot"] == f"enabled: {IDLE[install]}"
    await converge(stopped(unit, enable=False))


@pytest.mark.usefixtures("way")
async def test_what_a_managed_target_or_another_name_has_started_at_boot_is_not_reported():
    """A link that systemd has not read yet counts."""
    target = ETC / "mine.target"
    target.write_text("[Install]\nWantedBy=multi-user.target\n")
    alias = with_install("Alias=display-manager.service")  # graphical.target wants it
    for name, unit in (("mine.target", with_install("WantedBy=mine.target")), (alias.name, alias)):
        started = [Service(name=each, ensure="stopped", enable=True) for each in (name, unit.name)]
        for service in started:
            check, said = await converge(service)
            assert (check.result in {Result.CHANGED, Result.OK}, said) == (True, []), service
        for service in reversed(started):
            await converge(Service(name=service.name, ensure="stopped", enable=False))
    target.unlink()


@pytest.mark.usefixtures("way")
async def test_an_indirect_unit_whose_indirect_unit_names_another_enables_that():
    last = with_install("WantedBy=multi-user.target")
    middle = with_install(f"Also={last.full}")
    first = with_install(f"Also={middle.full}")
    middle.path.write_text(f"{middle.path.read_text()}Also={first.full}\n")  # a circle
    systemctl("daemon-reload")
    check, _ = await converge(stopped(first))
    assert check.actions == (f"enabled what it names: {last.full}",)
    assert last.enabled == "enabled"
    check, said = await converge(stopped(first))
    names = f"{middle.full} (indirect) and {last.full}"
    assert (check.result, said) == (Result.OK, [f"indirect: its [Install] only names {names}"])
    check, _ = await converge(stopped(first, enable=False))
    assert (check.actions, last.enabled) == ((f"disabled what it names: {last.full}",), "disabled")


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("noop", [True, False])
async def test_an_indirect_unit_that_names_nothing_that_can_be_enabled_is_refused(noop):
    masked = with_install("WantedBy=multi-user.target", VENDOR)
    masked.ctl("mask")
    unit = with_install(f"Also=nosuch.service {masked.full}")
    check, _ = await converge(stopped(unit), noop=noop)
    names = f"nosuch.service (not there) and {masked.full} (masked)"
    assert check.error == f"{unit.full} can't be enabled: its [Install] only names {names}"
    check, _ = await converge(in_ccm(stopped(unit)), noop=noop)
    assert check.result is Result.OK


@pytest.mark.usefixtures("way")
async def test_what_an_indirect_unit_names_and_is_not_there_keeps_nothing_from_being_enabled():
    other = with_install("WantedBy=multi-user.target")
    unit = with_install(f"Also=nosuch.service {other.full}")
    check, _ = await converge(stopped(unit))
    assert check.actions == (f"enabled what it names: {other.full}",)
    check, said = await converge(stopped(unit))
    names = f"nosuch.service (not there) and {other.full}"
    assert (check.result, said) == (Result.OK, [f"indirect: its [Install] only names {names}"])


SCRIPT = """\
#!/bin/sh
### BEGIN INIT INFO
# Provides: {name}
# Required-Start: $remote_fs
# Required-Stop: $remote_fs
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
# Short-Description: a test
### END INIT INFO
exit 0
"""


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("form", ["native", "ccm"])
async def test_a_sysv_script_gets_its_links_and_loses_them(form):
    unit = Unit(ETC, "script")
    script = Path(f"/etc/init.d/{unit.name}")
    script.write_text(SCRIPT.format(name=unit.name))
    script.chmod(0o755)
    systemctl("daemon-reload")

    def links():
        return sorted(path.name for path in Path("/etc").glob(f"rc[2345].d/S*{unit.name}"))

    def service(**properties):
        found = stopped(unit, **properties)
        return found if form == "native" else in_ccm(found)

    try:
        assert links() == []
        check, _ = await converge(service())
        assert check.actions == ("enabled",)
        assert len(links()) == 4
        check, _ = await converge(service())
        assert check.result is Result.OK
        check, _ = await converge(service(enable=False))
        assert check.actions == ("disabled",)
        assert links() == []
        check, _ = await converge(service(enable=False))
        assert check.result is Result.OK
    finally:
        script.unlink()
        systemctl("daemon-reload")


def test_show_and_why_say_how_a_unit_is_enabled(tmp_path):
    unit = without_install(Unit())
    (tmp_path / "m.yaml").write_text(
        f"resources:\n  - service:\n      - {unit.name}: {{ensure: stopped, enable: true}}\n"
    )

    def reactor(*arguments):
        command = [sys.executable, "-m", "reactor", *arguments]
        environment = os.environ | {"REACTOR_STATE_DIR": str(tmp_path / "state")}
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    state = ("--state-dir", str(tmp_path / "state"))
    run = reactor("run", "--converge-once", *state, "m.yaml")
    assert run.returncode == 0, run.stderr
    assert f"service#{unit.name} | {REASONS['static']}" in run.stdout
    assert REASONS["static"] in reactor("why", f"service#{unit.name}", *state).stdout
    assert REASONS["static"] in reactor("show", "service", unit.name).stdout
