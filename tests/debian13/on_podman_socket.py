"""Containers and networks by the socket of podman, as systemd serves it."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from cell import Cell, differs, first, fixed_manifest
from podman_worlds import (
    COMMAND,
    IMAGE,
    OTHER_IMAGE,
    identity,
    inspect,
    leftovers,
    make_podman_ready,
    remove_all,
)
from programs import must, said
from questions import breaches
from staying_runs import staying, wait_for

DATABASE = {"image": IMAGE, "command": COMMAND, "networks": ["back"], "stop_timeout": "1s"}
NETWORK = {"subnet": "10.98.0.0/24", "internal": True}
RUN = "podman run -d -q --name db"
DRIFTS = {
    "nothing": "true",
    "podman stop": "podman stop -t 1 db",
    "podman kill": "podman kill db",
    "podman pause": "podman pause db",
    "podman rename": "podman rename db other",
    "podman rm": "podman rm -f -t 0 db",
    "podman network disconnect": "podman network disconnect back db",
    "podman network rm": "podman network rm -f -t 0 back",
    "another in its place": f"podman rm -f -t 0 db && {RUN} {OTHER_IMAGE} sleep 1000",
    "another network": "podman rm -f -t 0 db && podman network rm back && podman network create --subnet 10.97.0.0/24 back",
    "the service": "systemctl stop podman.service",
    "the socket": "systemctl stop podman.service podman.socket && systemctl start podman.socket",
}

SETTLES = {"podman kill": "podman wait db"}
"""What waits for the effect of a drift. A run that stays may repair it sooner: then this would wait for ever."""


class Wish(NamedTuple):
    """What is declared of the container and the network."""

    database: dict[str, object]
    network: dict[str, object]


GONE = {"ensure": "absent"}
WISHES = {
    "running": Wish(DATABASE, NETWORK),
    "stopped": Wish({**DATABASE, "ensure": "stopped"}, NETWORK),
    "absent": Wish(GONE, GONE),
}


@pytest.fixture(scope="module", autouse=True)
def _podman():
    make_podman_ready()


@pytest.fixture(autouse=True)
def _nothing():
    yield
    remove_all("db", "other")
    assert leftovers() == []


def resources(wish):
    return [{"container_network": [{"back": wish.network}]}, {"container": [{"db": wish.database}]}]


def wrong(wish):
    if wish.network is GONE:
        return differs("what is left", [each for each in leftovers() if each != "other"], [])
    found = inspect("db")
    if found is None:
        return "there is no container"
    subnet = said("podman", "network", "inspect", "back", "--format", "{{range .Subnets}}{{.Subnet}}{{end}}")
    return first(
        differs("whether it runs", found["State"]["Status"] == "running", "ensure" not in wish.database),
        differs("the image", found["ImageName"], IMAGE),
        differs("the networks", list(found["NetworkSettings"].get("Networks", ())), ["back"]),
        differs("the subnet", subnet, "10.98.0.0/24"),
    )


def look(_place):
    networks = said("podman", "network", "ls", "--format", "{{.ID}} {{.Name}}")
    return said("podman", "ps", "-a", "--no-trunc", "--format", "{{.ID}} {{.Names}} {{.State}}"), networks


def cells():
    for wanted, wish in WISHES.items():
        usual = partial(fixed_manifest, resources(wish))
        for name, command in DRIFTS.items():
            if (name, wanted) == ("podman rename", "absent"):
                continue  # then the network is in use
            settled = f"{command} && {SETTLES.get(name, 'true')}"
            act = partial(_do, settled)
            if wanted == "running":
                yield Cell(
                    "container",
                    f"{wanted}, then {name}",
                    usual,
                    lambda _, wish=wish: wrong(wish),
                    drift=act,
                    look=look,
                )
            else:
                state = partial(_prepare, settled)
                yield Cell(
                    "container",
                    f"{name} / {wanted}",
                    usual,
                    lambda _, wish=wish: wrong(wish),
                    state,
                    look=look,
                )


def _do(command, _place):
    must("sh", "-c", command)


def _prepare(command, place):
    must("podman", "network", "create", "--subnet", "10.98.0.0/24", "--internal", "back")
    must("podman", "run", "-d", "--name", "db", "--network", "back", IMAGE, *COMMAND)
    _do(command, place)


CELLS = {str(cell): cell for cell in cells()}


@pytest.mark.parametrize("name", CELLS)
def test_the_world_is_right_twice_and_was_foretold(name, tmp_path):
    assert breaches(CELLS[name], tmp_path / "scratch") == []


def test_a_run_that_stays_repairs_every_drift(tmp_path, record_property):
    wish = WISHES["running"]
    with staying(tmp_path, resources(wish)):
        wait_for(partial(wrong, wish))
        for name, command in DRIFTS.items():
            if "another" in name:
                continue  # the run takes the name first
            _do(command, None)
            record_property(name, wait_for(partial(wrong, wish)))
            said("podman", "rm", "-f", "-t", "0", "-i", "other")
        assert identity("db")


def test_a_bridge_that_is_left_of_a_removed_network_is_named(tmp_path):
    for command in ("link add left0 type bridge", "address add 10.96.0.1/24 dev left0"):
        must("ip", *command.split())
    path = tmp_path / "manifest.yaml"
    path.write_text("resources: [{container_network: [{front: {subnet: 10.96.0.0/24}}]}]\n")
    shown = subprocess.run(
        [Path(sys.executable).with_name("reactor"), "run", "--converge-once", path],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    must("ip", "link", "delete", "left0")
    assert "if nothing needs it: ip link delete left0" in shown
