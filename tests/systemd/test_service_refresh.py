"""What a service owes when something it subscribes to changed: one restart, and none when it was started since."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from unit_worlds import Unit, eventually

from reactor.engine.events import Result
from reactor.resources.file import File
from reactor.resources.service import Service
from reactor.testing.story import converge_once, running

OWNERS = {"owner": "root", "group": "root", "mode": "0644"}

SITE = """
resources:
  - file:
      - {dir}/conf: {{ensure: present, content: new, owner: root, group: root, mode: "0644"}}
  - exec:
      - bomb: {{command: sh -c 'rm {dir}/bomb && kill -9 $PPID || true', require: "file#{dir}/conf"}}
  - service:
      - {unit}: {{subscribe: "file#{dir}/conf", require: exec#bomb}}
"""


async def test_unit_file_and_configuration_changed_before_the_first_start_cost_one_start(tmp_path):
    app = Unit()
    unit_file = File(name=str(app.path), ensure="present", content=app.text("Nice=3"), **OWNERS)
    drop_in = File(name=f"{app.path}.d/a.conf", ensure="present", content="[Service]\nNice=4\n", **OWNERS)
    directory = File(name=f"{app.path}.d", ensure="directory", owner="root", group="root", mode="0755")
    conf = File(name=str(tmp_path / "conf"), ensure="present", content="x", **OWNERS)
    files = (unit_file, directory, drop_in, conf)
    service = Service(name=app.name, enable=True, subscribe=[file.ref for file in files])
    _, story = await converge_once(*files, service)
    (check,) = story.checks(service.ref)
    assert check.actions == ("started", "enabled")
    assert app.show("Nice") == "4"
    assert app.starts == 1
    again, _ = await converge_once(*files, service)
    assert again.counts[Result.OK] == 5
    assert app.starts == 1


@pytest.mark.parametrize(
    ("runs_on", "action"),
    [(True, "restarted via subscribe"), (False, "started")],
    ids=["it runs on", "it is stopped meanwhile"],
)
async def test_a_refresh_pending_from_before_a_kill_is_made_once(app, tmp_path, runs_on, action):
    def life():
        command = ["run", "--converge-once", "--state-dir", tmp_path / "state", tmp_path / "site.yaml"]
        return subprocess.run(
            [sys.executable, "-m", "reactor", *command], capture_output=True, text=True, check=False
        )

    (tmp_path / "site.yaml").write_text(SITE.format(dir=tmp_path, unit=app.name))
    (tmp_path / "bomb").touch()
    app.ctl("start")
    await eventually(lambda: app.starts)
    assert life().returncode == -signal.SIGKILL
    assert ((tmp_path / "conf").read_text(), app.starts) == ("new", 1)
    if not runs_on:
        app.ctl("stop")
    second = life()
    assert f"service#{app.name}  changed  {action}" in second.stdout, second.stdout + second.stderr
    assert f"service#{app.name}" not in life().stdout
    assert app.starts == 2


@pytest.mark.parametrize(("on_critical", "starts"), [("refresh", 2), ("check", 1), ("none", 1)])
async def test_a_service_that_hangs_is_restarted_if_its_health_check_says_so(
    on_critical, starts, monkeypatch
):
    """It runs, so nothing about it has drifted, and it answers nobody before its second start."""
    monkeypatch.setattr("reactor.resources.service.systemd_dbus.PROOF", 0.0)
    app = Unit().write()
    app.ctl("start")
    answers = f"/bin/sh -c 'test $(wc -l < {app.log}) -ge 2 || {{ echo hangs; exit 2; }}'"
    check = {"name": "answers", "command": answers, "on_critical": on_critical}
    service = Service(name=app.name, ensure="running", health_checks=[check], meta={"delay": "10ms"})
    async with running(service) as story:
        await story.until(lambda: len(story.checks(service.ref)) >= 2)
    assert app.starts == starts
    assert app.active == "active"
    result = Result.CHANGED if on_critical == "refresh" else Result.FAILED
    assert [each.result for each in story.checks(service.ref)[:2]] == [Result.FAILED, result]


@pytest.mark.parametrize("noop", [{"noop": True}, {"mode": "warn"}, {"monitor_only": True}])
async def test_a_service_that_hangs_is_left_alone_where_nothing_is_to_be_changed(noop):
    app = Unit().write()
    app.ctl("start")
    check = {"command": "/bin/sh -c 'exit 2'", "on_critical": "refresh"}
    service = Service(name=app.name, health_checks=[check], meta={"delay": "10ms", **noop})
    async with running(service) as story:
        await story.until(lambda: len(story.checks(service.ref)) >= 3)
    assert app.starts == 1
