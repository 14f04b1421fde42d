"""A managed link that somebody renames: the run says which link it is now, before it makes another."""

from __future__ import annotations

import pytest

from reactor import RunOptions
from reactor.engine.events import Output, Result
from reactor.resource.backup_store import state_directory_for
from reactor.resources.network import Link
from reactor.testing.story import converge_once, running


@pytest.fixture(autouse=True)
def state(tmp_path):
    with state_directory_for(str(tmp_path)):
        yield


async def converge(resource, **options):
    """The first check of one run, and what was said in it."""
    _, story = await converge_once(resource, options=RunOptions(**options))
    return story.checks(resource.ref)[0], [output.line for output in story.all(Output)]


def rename(world, name, other):
    world.run(f"link set {name} down \n link set {name} name {other}")


@pytest.mark.parametrize("noop", [True, False])
async def test_the_next_run_says_which_link_it_is_now(world, noop):
    bridge = {"name": "br0", "type": "bridge", "netns": world.name}
    await converge(Link(**bridge))
    rename(world, "br0", "mine")
    check, said = await converge(Link(**bridge), noop=noop)
    assert check.error is None
    assert said == ["br0 is gone: the link mine had this name until it was renamed"]
    assert ("br0" in world.links()) is not noop
    assert "mine" in world.links()


async def test_a_run_that_stays_says_it_before_it_makes_another(world):
    bridge = Link(name="br0", type="bridge", netns=world.name)
    async with running(bridge) as story:
        await story.converged()
        rename(world, "br0", "mine")
        await story.until(lambda: "br0" in world.links())
        assert [output.line for output in story.all(Output)] == [
            "br0 is gone: the link mine had this name until it was renamed"
        ]


async def test_a_link_that_can_not_be_made_is_said_to_be_called_otherwise(world):
    link = {"name": "v0", "netns": world.name}
    await converge(Link(**link))
    rename(world, "v0", "lan0")
    check, said = await converge(Link(**link))
    assert check.result is Result.FAILED
    assert said == ["v0 is gone: the link lan0 had this name until it was renamed"]


async def test_a_veth_whose_other_end_is_in_the_way_is_said_to_be_called_otherwise(world):
    veth = {"name": "v0", "type": "veth", "peer": "v1", "netns": world.name}
    await converge(Link(**veth))
    rename(world, "v0", "guests")
    check, said = await converge(Link(**veth))
    assert check.result is Result.FAILED
    assert said == ["v0 is gone: the link guests had this name until it was renamed"]
    assert world.links().keys() >= {"guests", "v1"}
    assert "v0" not in world.links()


async def test_the_link_with_the_address_that_is_wanted_is_named(world):
    address = world.link("v0")["address"]
    _, said = await converge(Link(name="eth7", address=address, netns=world.name))
    assert said == [f"eth7 does not exist: the link v0 has the address {address}"]


async def test_nothing_is_said_of_a_link_that_was_removed(world):
    bridge = {"name": "br0", "type": "bridge", "netns": world.name}
    await converge(Link(**bridge))
    world.run("link delete br0 \n link add other type bridge")
    check, said = await converge(Link(**bridge))
    assert (check.result, said) == (Result.CHANGED, [])


async def test_a_link_that_is_to_go_is_not_looked_for(world):
    await converge(Link(name="br0", type="bridge", netns=world.name))
    rename(world, "br0", "mine")
    gone = Link(name="br0", ensure="absent", netns=world.name)
    check, said = await converge(gone)
    assert (check.result, said) == (Result.OK, [])
