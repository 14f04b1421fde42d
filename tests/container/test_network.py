"""Networks of containers, by real daemons of docker and podman."""

from __future__ import annotations

from functools import partial

import one_shot
import pytest

from reactor import ManifestError, load
from reactor.engine.engine import Engine
from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resource.backup_store import state_directory_for
from reactor.resources.container.network import ContainerNetwork
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import running

SUBNET, OTHER = "10.213.7.0/24", "10.213.9.0/24"
WEB = {"Image": "localhost/wait:1", "Cmd": ["/wait"], "HostConfig": {"NetworkMode": "backend"}}


@pytest.fixture
def make(daemon):
    def make(**properties):
        usual = {"name": "backend", "socket": daemon.socket, "subnet": SUBNET, "internal": True}
        return ContainerNetwork(**{**usual, **properties})

    return make


@pytest.fixture
def converge(make):
    async def converge(*, noop=False, **properties):
        resource = make(**properties)
        return await one_shot.converged(resource, noop=noop)

    return converge


@pytest.fixture
def must_change(converge):
    return partial(one_shot.must_change, converge)


async def test_it_is_created_as_declared_and_replaced_when_it_is_not(must_change, daemon):
    assert await must_change(gateway="10.213.7.9", labels={"team": "web"}) == "created the network"
    found = daemon.network("backend")
    pools = found["IPAM"]["Config"]
    assert (found["Driver"], found["Internal"], found["Labels"]) == ("bridge", True, {"team": "web"})
    assert [(pool["Subnet"], pool["Gateway"]) for pool in pools] == [(SUBNET, "10.213.7.9")]
    assert await must_change(subnet=OTHER) == f"replaced the network, as its subnet is {SUBNET}"
    assert await must_change(subnet=OTHER, internal=False) == "replaced the network, as its internal is True"
    assert await must_change(ensure="absent") == "removed the network"
    assert daemon.network("backend") is None


async def test_one_with_containers_is_neither_replaced_nor_removed(converge, daemon):
    await converge()
    daemon.ask("POST", "/containers/create?name=web", WEB)
    for properties, change in (
        ({"subnet": OTHER}, f"replaced, as its subnet is {SUBNET}"),
        ({"ensure": "absent"}, "removed"),
    ):
        for noop in (True, False):
            words = f"the network can't be {change}: web is in it"
            assert await converge(noop=noop, **properties) == (Result.FAILED, words)
    assert daemon.network("backend")["IPAM"]["Config"][0]["Subnet"] == SUBNET


async def test_a_network_stays_when_another_has_the_subnet_that_it_would_get(converge, daemon):
    await converge()
    pool = {"Config": [{"Subnet": OTHER}]}
    daemon.ask("POST", "/networks/create", {"Name": "frontend", "IPAM": pool})
    words = f"the subnet {OTHER} is used by the network frontend"
    assert await converge(subnet=OTHER) == (Result.FAILED, words)
    assert daemon.network("backend")["IPAM"]["Config"][0]["Subnet"] == SUBNET


async def test_a_refused_subnet_is_said_to_be_that_of_another_network(make, daemon):
    daemon.ask("POST", "/networks/create", {"Name": "frontend", "IPAM": {"Config": [{"Subnet": SUBNET}]}})
    resource = make()
    check = await one_shot.checked(resource)
    assert check.hint == "write another subnet, or remove the network that has it first: frontend"


async def test_its_removal_is_announced_and_repaired(daemon, make):
    resource = make()
    async with running(resource) as story:
        await story.rest()
        daemon.ask("DELETE", "/networks/backend")
        await story.until(lambda: daemon.network("backend") is not None)


async def test_a_container_goes_after_its_networks_and_a_removed_network_after_the_containers(
    daemon, tmp_path
):
    def manifest(network, container):
        place = f"socket: {daemon.socket}"
        path = tmp_path / "site.yaml"
        path.write_text(
            "resources:\n"
            f"  - container: [{{web: {{{container}, {place}, stop_timeout: 1s}}}}]\n"
            f"  - container_network: [{{backend: {{{network}, {place}}}}}]\n"
        )
        return load(str(path)).graph

    present = "image: 'localhost/wait:1', command: [/wait], networks: [backend]"
    for network, container in ((f"subnet: {SUBNET}", present), ("ensure: absent", "ensure: absent")):
        with state_directory_for(str(tmp_path / "state")):
            ended = await Engine(manifest(network, container), RunOptions(), lambda _event: None).run()
        assert (ended.counts[Result.CHANGED], ended.changes) == (2, 2)
        found = daemon.inspect("web")
        assert (found and list(found["NetworkSettings"]["Networks"])) == (
            ["backend"] if container is present else None
        )
    assert daemon.network("backend") is None


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("host: {}", "host is a network of the daemon"),
        ("a: {subnet: 10.0.0.1/8}", "has host bits set"),
        ("a: {gateway: 10.0.0.1}", "gateway is only valid with a subnet"),
        ("a: {subnet: 10.1.0.0/16, gateway: 10.2.0.1}", "10.2.0.1 is not in 10.1.0.0/16"),
    ],
)
def test_what_makes_no_sense_is_found_at_load(entry, words, tmp_path):
    (tmp_path / "site.yaml").write_text(f"resources:\n  - container_network:\n      - {entry}\n")
    with pytest.raises(ManifestError) as raised:
        load(str(tmp_path / "site.yaml"))
    (found,) = raised.value.diagnostics
    assert words in found.message
    assert found.place.line == 3


@pytest.mark.parametrize("promise", CONTRACT)
async def test_the_kind_keeps_the_contract(promise, daemon, make):
    def look():
        found = daemon.network("backend")
        return found and found["IPAM"]["Config"]

    await promise(Case(make, look, partial(daemon.ask, "DELETE", "/networks/backend")))
