"""What a service owes when something it subscribes to changed: one restart, and none when it was started since."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from unit_worlds import Unit, eventually

from reactor.engine.events import Result
from reactor.testing.story import converge_once
from resources.file import File
from resources.service import Service

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
async def test_a_refresh_owed_from_before_a_kill_is_paid_once(app, tmp_path, runs_on, action):
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
