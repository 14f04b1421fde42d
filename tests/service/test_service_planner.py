"""The decision table of a service, row by row."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reactor import ResourceError
from reactor.resource.declared import Form, declare
from reactor.resources.service import Service, UnitState

UP = UnitState("loaded", "active", "running")
DOWN = UnitState("loaded", "inactive", "dead")
FAILED = UnitState("loaded", "failed", "failed")
EXITED = UnitState("loaded", "active", "exited")
STARTING = UnitState("loaded", "activating", "start", job="start")
RESTARTING = UnitState("loaded", "activating", "auto-restart")
RELOADING = UnitState("loaded", "reloading", "reload")
GONE = UnitState("not-found", "inactive", "dead")
GONE_BUT_UP = UnitState("not-found", "active", "running")


def with_files(state, files):
    return UnitState(state.load, state.active, state.sub, state.job, files, state.stale)


def stale(state):
    return UnitState(state.load, state.active, state.sub, state.job, state.files, stale=True)


def would(state, refresh=False, **properties):
    plan = Service(name="app", **properties).plan(state, refresh=refresh)
    assert [f"Would have {action.did}" for action in plan] == [action.would for action in plan]
    return [action.did for action in plan]


@pytest.mark.parametrize(
    ("state", "properties", "idle", "refreshed"),
    [
        (UP, {}, [], ["restarted via subscribe"]),
        (EXITED, {}, [], ["restarted via subscribe"]),
        (RELOADING, {}, [], ["restarted via subscribe"]),
        (DOWN, {}, ["started"], ["started"]),
        (FAILED, {}, ["started"], ["started"]),
        (UP, {"ensure": "stopped"}, ["stopped"], ["stopped"]),
        (DOWN, {"ensure": "stopped"}, [], []),
        (FAILED, {"ensure": "stopped"}, [], []),
        (STARTING, {"ensure": "stopped"}, ["stopped"], ["stopped"]),
        (RESTARTING, {"ensure": "stopped"}, ["stopped"], ["stopped"]),
        (UP, {"on_refresh": "reload"}, [], ["reloaded via subscribe"]),
        (UP, {"on_refresh": "reload-or-restart"}, [], ["reloaded or restarted via subscribe"]),
        (DOWN, {"on_refresh": "reload"}, ["started"], ["started"]),
        (GONE_BUT_UP, {}, [], ["restarted via subscribe"]),
        (GONE_BUT_UP, {"ensure": "stopped"}, ["stopped"], ["stopped"]),
    ],
)
def test_the_plan_follows_the_running_state_and_a_refresh(state, properties, idle, refreshed):
    assert would(state, **properties) == idle
    assert would(state, refresh=True, **properties) == refreshed


ENABLED = ["enabled", "enabled-runtime", "alias", "static", "indirect", "generated", "transient"]
DISABLED = ["linked", "linked-runtime", "disabled"]


@pytest.mark.parametrize("files", ENABLED)
def test_what_counts_as_enabled(files):
    """In the native form, what is enabled until the next boot only is enabled for good."""
    assert would(with_files(UP, files), enable=True) == (["enabled"] if files == "enabled-runtime" else [])


@pytest.mark.parametrize("files", ENABLED)
def test_what_counts_as_enabled_in_the_ccm_form(files):
    service = Service(name="app", enable=True)
    form = Form(is_ccm=True, allow_automatic_edges=False)
    declare(service, service.declared._replace(form=form))
    assert service.plan(with_files(UP, files), refresh=False) == ()


@pytest.mark.parametrize("files", [*DISABLED, "masked", "masked-runtime"])
def test_what_counts_as_disabled(files):
    assert would(with_files(UP, files), enable=False) == []


@pytest.mark.parametrize("files", DISABLED)
def test_what_is_not_enabled_is_enabled_after_the_start(files):
    assert would(with_files(DOWN, files), enable=True) == ["started", "enabled"]


@pytest.mark.parametrize("files", ["enabled", "enabled-runtime"])
def test_what_is_enabled_is_disabled_after_the_stop(files):
    assert would(with_files(UP, files), ensure="stopped", enable=False) == ["stopped", "disabled"]


@pytest.mark.parametrize("files", [*ENABLED, *DISABLED, "masked", "", "not-found", "bad"])
def test_without_enable_it_is_left_alone(files):
    assert would(with_files(UP, files)) == [] or files == "not-found"


@pytest.mark.parametrize(
    ("state", "properties", "steps"),
    [
        (with_files(UP, "masked"), {"masked": False}, ["unmasked"]),
        (with_files(DOWN, "masked"), {"masked": False}, ["unmasked", "started"]),
        (
            with_files(DOWN, "masked-runtime"),
            {"masked": False, "enable": True},
            ["unmasked", "started", "enabled"],
        ),
        (with_files(UP, "enabled"), {"masked": False, "enable": True}, []),
        (with_files(UP, "enabled"), {"masked": True, "ensure": "stopped"}, ["stopped", "masked"]),
        (with_files(DOWN, "masked"), {"masked": True, "ensure": "stopped"}, []),
        (with_files(DOWN, "masked-runtime"), {"masked": True, "ensure": "stopped"}, ["masked"]),
        (with_files(DOWN, "static"), {"masked": True, "ensure": "stopped"}, ["masked"]),
        (with_files(GONE, "not-found"), {"masked": True, "ensure": "stopped"}, ["masked"]),
        (with_files(GONE, "not-found"), {"masked": True, "ensure": "stopped", "enable": False}, ["masked"]),
        (with_files(GONE_BUT_UP, "not-found"), {"masked": True, "ensure": "stopped"}, ["stopped", "masked"]),
    ],
)
def test_masks_go_first_or_come_last(state, properties, steps):
    assert would(state, **properties) == steps


@pytest.mark.parametrize(
    ("files", "preset", "steps"),
    [
        ("disabled", True, ["enabled, as the presets say"]),
        ("enabled", True, []),
        ("enabled", False, ["disabled, as the presets say"]),
        ("disabled", False, []),
        ("enabled", None, []),
        ("disabled", None, []),
        ("static", False, []),
        ("alias", False, []),
        ("static", True, []),
    ],
)
def test_presets_decide_what_is_enabled_and_leave_what_can_t_be(files, preset, steps):
    assert would(replace(with_files(UP, files), preset=preset), preset=True) == steps


READ = "had systemd read the changed unit files"


@pytest.mark.parametrize(
    ("state", "refresh", "steps"),
    [
        (stale(UP), False, [READ]),
        (stale(UP), True, [READ, "restarted via subscribe"]),
        (stale(DOWN), False, [READ, "started"]),
        (stale(DOWN), True, [READ, "started"]),
    ],
)
def test_changed_unit_files_are_read_before_anything_else(state, refresh, steps):
    assert would(state, refresh) == steps


@pytest.mark.parametrize(
    ("state", "properties", "error", "hint"),
    [
        (GONE, {}, "service app.service not found", "require"),
        (GONE, {"ensure": "stopped"}, "service app.service not found", "require"),
        (with_files(GONE_BUT_UP, "not-found"), {"enable": True}, "not found", "require"),
        (RESTARTING, {}, "systemd is starting it again", "journalctl --unit app.service"),
        (STARTING, {}, "systemd is starting it again", "journalctl --unit app.service"),
        (with_files(UP, "bad"), {"enable": True}, "'bad'", "systemd-analyze verify"),
        (with_files(UP, "static"), {"enable": False}, "is static, which can't be disabled", "masked: true"),
        (
            replace(with_files(UP, "static"), in_place_of_mask="/etc/systemd/system/app.service"),
            {"enable": False},
            "is static, which can't be disabled",
            "or remove /etc/systemd/system/app.service",
        ),
        (
            replace(with_files(UP, "alias"), unit="real.service"),
            {"enable": False},
            "is an alias of real.service",
            "write service#real instead",
        ),
        (with_files(UP, "masked"), {"enable": True}, "is masked", "masked: false"),
    ],
)
def test_what_leads_nowhere_is_an_error_with_a_remedy(state, properties, error, hint):
    with pytest.raises(ResourceError) as raised:
        would(state, **properties)
    assert error in raised.value.message
    assert hint in raised.value.hint


@pytest.mark.parametrize(
    ("state", "running", "stopped"),
    [
        (UP, False, False),
        (DOWN, False, False),
        (FAILED, False, False),
        (STARTING, True, False),
        (RESTARTING, True, False),
        (UnitState("loaded", "inactive", "dead", job="start"), True, False),
        (UnitState("loaded", "deactivating", "stop-sigterm", job="stop"), True, True),
        (UnitState("loaded", "deactivating", "stop-sigterm", job="restart"), True, True),
        (UnitState("loaded", "active", "running", job="stop"), True, True),
        (UnitState("loaded", "active", "running", job="restart"), True, False),
    ],
)
def test_a_unit_on_its_way_is_waited_for_but_no_one_waits_to_stop_what_starts(state, running, stopped):
    assert state.is_on_its_way("running") is running
    assert state.is_on_its_way("stopped") is stopped
