"""Containers that are really started through the kind quadlet, with networks and containers of podman's socket."""

from __future__ import annotations

import time
import urllib.request
from functools import partial
from typing import NamedTuple

import pytest
from cell import Cell, differs, first
from podman_worlds import (
    COMMAND,
    DIRECTORY,
    IMAGE,
    OTHER_IMAGE,
    inspect,
    leftovers,
    make_podman_ready,
    remove_all,
    settled,
    shown,
)
from programs import must, said
from questions import breaches
from staying_runs import declare, staying, wait_for

NAME, UNIT = "web", "web.service"
FILE = DIRECTORY / "web.container"
USUAL = {"image": IMAGE, "command": COMMAND, "networks": ["back"], "ports": ["8080:80"]}
NETWORK = {"container_network": [{"back": {"subnet": "10.99.0.0/24"}}]}
DATABASE = {
    "container": [{"db": {"image": IMAGE, "command": COMMAND, "networks": ["back"], "stop_timeout": "2s"}}]
}


@pytest.fixture(scope="module", autouse=True)
def _podman():
    make_podman_ready()


@pytest.fixture(autouse=True)
def _nothing():
    yield
    remove_all(NAME, "db")
    assert leftovers() == []


def resources(properties, _place=None):
    return [NETWORK, {"quadlet": [{NAME: {**USUAL, **properties}}]}, DATABASE]


def absent(_place=None):
    gone = {"ensure": "absent"}
    return [
        {"container_network": [{"back": gone}]},
        {"quadlet": [{NAME: gone}]},
        {"container": [{"db": gone}]},
    ]


def answered():
    """What the container says at the port of this host."""
    with urllib.request.urlopen("http://127.0.0.1:8080/", timeout=5) as answer:
        return answer.read().decode()


def look(_place):
    file = (FILE.read_text(), FILE.stat().st_ino) if FILE.exists() else None
    containers = said("podman", "ps", "-a", "--no-trunc", "--format", "{{.ID}} {{.Names}} {{.State}}")
    unit = said("systemctl", "show", "--property=ActiveState,MainPID,NeedDaemonReload,LoadState", UNIT)
    return file, sorted(containers.splitlines()), said("podman", "network", "ls", "-q"), unit


def running_wrong(properties, _place):
    found = inspect(NAME)
    if found is None:
        return f"there is no container: {said('journalctl', '-u', UNIT, '-n', '20', '--no-pager')}"
    wanted = {**USUAL, **properties}
    return first(
        differs("the state", found["State"]["Status"], "running"),
        differs("the unit", shown(UNIT, "ActiveState"), "active"),
        differs("whether systemd read it", shown(UNIT, "NeedDaemonReload"), "no"),
        differs("the image", found["ImageName"], wanted["image"]),
        differs("the networks", list(found["NetworkSettings"]["Networks"]), wanted["networks"]),
        differs("the variable", [each for each in found["Config"]["Env"] if each.startswith("A=")], [
            f"A={value}" for value in wanted.get("environment", {}).values()]),
        differs("the page", answered(), wanted["image"][-1]),
        differs("the other container", (inspect("db") or {"State": {}})["State"].get("Status"), "running"),
        differs("the mode of the file", FILE.stat().st_mode & 0o777, 0o644),
    )  # fmt: skip


def stopped_wrong(_place):
    return first(
        differs("the container", inspect(NAME), None),
        differs("whether the unit is up", shown(UNIT, "ActiveState") in ("inactive", "failed"), True),
        differs("the file", FILE.exists(), True),
    )


def absent_wrong(_place):
    return first(
        differs("what is left", leftovers(), []),
        differs("the unit", shown(UNIT, "LoadState"), "not-found"),
    )


def settle(pid=None):
    """Wait until systemd is done with the unit, and its process is not ``pid``."""
    end = time.monotonic() + 60
    while shown(UNIT, "MainPID") == pid or not settled(UNIT):
        assert time.monotonic() < end, shown(UNIT, "ActiveState")
        time.sleep(0.05)


class Drift(NamedTuple):
    """What somebody does to the container; ``ends`` says whether its processes end by that."""

    command: str
    ends: bool = False

    def make(self, _place=None):
        """Do it, and wait until systemd is done with the unit."""
        pid = shown(UNIT, "MainPID") if self.ends else None
        must("sh", "-c", self.command)
        settle(pid)
        said("systemctl", "reset-failed", UNIT)  # it counts how often it was started


EDIT = f"sed -i s/8080:80/8081:80/ {FILE}"
READ = "systemctl daemon-reload"
DRIFTS = {
    "podman stop": Drift("podman stop -t 1 web", ends=True),
    "podman kill": Drift("podman kill web", ends=True),
    "podman rm": Drift("podman rm -f -t 0 web", ends=True),
    "systemctl stop": Drift("systemctl stop web", ends=True),
    "systemctl kill": Drift("systemctl kill -s KILL web", ends=True),
    "file edited": Drift(EDIT),
    "file edited and started": Drift(f"{EDIT}; {READ}; systemctl restart web", ends=True),
    "file removed": Drift(f"rm {FILE}"),
    "file removed and read": Drift(f"rm {FILE}; {READ}"),
    "file removed and stopped": Drift(f"rm {FILE}; {READ}; systemctl stop web", ends=True),
    "mode of the file": Drift(f"chmod 600 {FILE}"),
    "network removed": Drift("podman network rm -f -t 1 back", ends=True),
    "other container removed": Drift("podman rm -f -t 0 db"),
}


def foreign(_place):
    must("podman", "run", "-d", "--name", NAME, IMAGE, *COMMAND)


def other_file(_place):
    DIRECTORY.mkdir(exist_ok=True)
    FILE.write_text(
        f"[Container]\nContainerName=web\nImage={IMAGE}\nExec=sleep 1000\nPodmanArgs=--stop-timeout=0\n"
    )


def other_started(place):
    other_file(place)
    must("systemctl", "daemon-reload")
    must("systemctl", "start", UNIT)


def beyond_the_limit(place):
    """A declaration with a mistake, which systemd has given up to start."""
    DIRECTORY.mkdir(exist_ok=True)
    FILE.write_text("[Container]\nContainerName=web\nImage=localhost/nothing:1\nPull=never\n")
    must("systemctl", "daemon-reload")
    while "too quickly" not in said("journalctl", "-u", UNIT, "-n", "5", "--no-pager"):
        said("systemctl", "start", UNIT)


STATES = {
    "another file, at its start limit": beyond_the_limit,
    "nothing": lambda _: None,
    "another file": other_file,
    "another file, started": other_started,
    "a container of that name": foreign,
}
WANTED = {
    "running": (partial(resources, {}), partial(running_wrong, {})),
    "restart no": (partial(resources, {"restart": "no"}), partial(running_wrong, {"restart": "no"})),
    "stopped": (partial(resources, {"ensure": "stopped"}), stopped_wrong),
    "absent": (absent, absent_wrong),
}


def cells():
    for state, make in STATES.items():
        for wanted in ("running", "stopped", "absent"):
            if (state, wanted) != ("a container of that name", "stopped") and (state, wanted) != (
                "a container of that name",
                "absent",
            ):
                desired, judge = WANTED[wanted]
                yield Cell("quadlet", f"{state} / {wanted}", desired, judge, make, look=look)
    for drift, act in DRIFTS.items():
        for wanted in ("running", "restart no"):
            desired, judge = WANTED[wanted]
            yield Cell("quadlet", f"{wanted} / then {drift}", desired, judge, drift=act.make, look=look)


CHANGES = (
    {"image": OTHER_IMAGE},
    {"environment": {"A": 'x $y %h "z"'}},
    {"ports": ["127.0.0.1:8080:80"], "hostname": "inside", "volumes": ["/etc:/data:ro", "cache:/cache"]},
)
CELLS = {str(cell): cell for cell in cells()}


@pytest.mark.parametrize("name", CELLS)
def test_the_world_is_right_twice_and_was_foretold(name, tmp_path):
    assert breaches(CELLS[name], tmp_path / "scratch") == []


def identity():
    """The ID of the container; nothing for none."""
    found = inspect(NAME)
    return found and found["Id"]


def wait_for_another(before):
    """Wait until the container is another one than ``before``."""
    wait_for(lambda: None if identity() not in (before, None) else "it is the same")


@pytest.mark.parametrize("restart", ["always", "no"])
def test_a_run_that_stays_repairs_every_drift(restart, tmp_path, record_property):
    wrong = partial(running_wrong, {"restart": restart}, None)
    with staying(tmp_path, resources({"restart": restart})):
        wait_for(wrong)
        for name, drift in DRIFTS.items():
            said("systemctl", "reset-failed", UNIT)  # it counts how often it was started
            before = identity()
            start = time.monotonic()
            must("sh", "-c", drift.command)
            if drift.ends:
                wait_for_another(before)
            wait_for(wrong)
            record_property(name, time.monotonic() - start)


def test_a_changed_manifest_replaces_the_container_and_absent_removes_all(tmp_path):
    with staying(tmp_path, resources({})) as file:
        wait_for(partial(running_wrong, {}, None))
        for changed in CHANGES:
            before = identity()
            declare(file, resources(changed))
            wait_for_another(before)
            wait_for(partial(running_wrong, changed, None))
        declare(file, resources({"ensure": "stopped"}))
        wait_for(partial(stopped_wrong, None))
        declare(file, absent())
        wait_for(partial(absent_wrong, None))
