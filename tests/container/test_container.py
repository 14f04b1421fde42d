"""Containers, by real daemons of docker and podman."""

from __future__ import annotations

import json
import os
from functools import partial

import one_shot
import pytest
from container_worlds import chosen_runtimes, world

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resource.backup_store import state_directory_for
from reactor.resources.container import Container
from reactor.resources.container.property_types import parse_port
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once, running

ONE, TWO = "localhost/wait:1", "localhost/wait:2"


@pytest.fixture
def make(daemon):
    def make(**properties):
        usual = {
            "name": "web",
            "socket": daemon.socket,
            "image": ONE,
            "networks": ["none"],
            "stop_timeout": "1s",
        }
        return Container(**{**usual, "command": ["/wait"], **properties})

    return make


@pytest.fixture
def converge(tmp_path, make):
    async def converge(*, noop=False, **properties):
        resource = make(**properties)
        with state_directory_for(str(tmp_path / "state")):
            _, story = await converge_once(resource, options=RunOptions(noop=noop))
        check = story.checks(resource.ref)[-1]
        assert "hush" not in repr(story.events)
        return story.result(resource.ref), "; ".join((*check.actions, check.error or "")).strip("; ")

    return converge


@pytest.fixture
def must_change(converge, daemon):
    def seen():
        return [each["Id"] for each in daemon.ask("GET", "/containers/json?all=true")]

    return partial(one_shot.must_change, converge, seen=seen)


async def test_it_is_created_as_declared_and_kept(must_change, daemon, tmp_path):
    (tmp_path / "data").mkdir()
    properties = {
        "environment": {"PASSWORD": "hush", "B": "2"},
        "volumes": [f"{tmp_path}/data:/data:ro", "cache:/cache"],
        "labels": {"team": "web"},
        "restart": "on-failure:5",
        "hostname": "web1",
        "user": "1000:1000",
        "working_directory": "/",
    }
    assert await must_change(**properties) == "created and started the container"
    found = daemon.inspect("web")
    assert found["State"]["Running"]
    assert {"PASSWORD=hush", "B=2"} <= set(found["Config"]["Env"])
    assert found["Config"]["Labels"]["team"] == "web"
    assert found["Config"]["Hostname"] == "web1"
    assert found["Config"]["User"] == "1000:1000"
    assert found["HostConfig"]["RestartPolicy"] == {"Name": "on-failure", "MaximumRetryCount": 5}
    mounts = {each["Destination"]: (each["Type"], each["RW"]) for each in found["Mounts"]}
    assert mounts == {"/data": ("bind", False), "/cache": ("volume", True)}
    first = found["Id"]
    assert (
        await must_change(**properties, command=["/wait"], entrypoint=None, ensure="stopped")
        == "stopped the container"
    )
    assert daemon.inspect("web")["Id"] == first
    assert await must_change(**properties) == "started the container"
    assert await must_change(**{**properties, "environment": {"PASSWORD": "hush2"}}) == (
        "replaced the container, as its declaration has changed"
    )
    assert daemon.inspect("web")["Id"] != first
    assert len(daemon.ask("GET", "/containers/json?all=true")) == 1
    assert await must_change(ensure="absent") == "removed the container"
    assert daemon.inspect("web") is None


async def test_what_others_change_is_repaired(must_change, converge, daemon):
    assert await must_change(ensure="stopped") == "created the container"
    assert not daemon.inspect("web")["State"]["Running"]
    await must_change()
    daemon.ask("POST", "/containers/web/stop?t=1")
    assert await must_change() == "started the container"
    daemon.ask("POST", "/containers/web/rename?name=other")
    assert await must_change() == "created and started the container"
    daemon.ask("DELETE", "/containers/other?force=true")
    if daemon.runtime == "docker":  # podman 4.3 has no such request
        daemon.ask("POST", "/containers/web/update", {"RestartPolicy": {"Name": "no"}})
        assert await must_change() == "replaced the container, as its settings were changed"
    daemon.ask("DELETE", "/containers/web?force=true")
    daemon.ask("POST", "/containers/create?name=web", {"Image": ONE, "Cmd": ["/wait"]})
    assert await must_change() == "replaced the container, as it was not made by reactor"


async def test_another_image_replaces_it(must_change, converge, daemon):
    await converge()
    assert await must_change(image=TWO) == "replaced the container, as its declaration has changed"
    daemon.import_image("localhost/moving:1", daemon.root / "wait", "3")
    await converge(image="localhost/moving:1")
    daemon.import_image("localhost/moving:1", daemon.root / "wait", "4")
    assert await must_change(image="localhost/moving:1") == "replaced the container, as its image has changed"


async def test_one_that_does_not_start_leaves_the_former_one(converge, daemon):
    await converge()
    first = daemon.inspect("web")
    result, words = await converge(command=["/no/such/program"])
    assert (result, "refused" in words) == (Result.FAILED, True), words
    found = daemon.inspect("web")
    assert (found["Id"], found["State"]["Running"]) == (first["Id"], True)
    assert len(daemon.ask("GET", "/containers/json?all=true")) == 1
    assert await converge() == (Result.OK, "")


@pytest.mark.skipif(os.geteuid() != 0, reason="acts as another user")
async def test_another_user_does_not_choose_what_of_the_host_is_mounted(
    must_change, converge, daemon, tmp_path
):
    home = tmp_path / "home"
    (home / "data").mkdir(parents=True)
    properties = {"volumes": [f"{home}/data:/data"]}
    os.chown(home, 12345, 12345)
    for noop in (True, False):
        result, said = await converge(noop=noop, **properties)
        assert (result, "another user can change what of the host is in the container" in said) == (
            Result.FAILED,
            True,
        )
    assert daemon.ask("GET", "/containers/json?all=true") == []
    os.chown(home, 0, 0)
    os.chown(home / "data", 12345, 12345)
    await must_change(**properties)
    os.chown(home, 12345, 12345)
    assert (await converge(**properties))[0] is Result.FAILED
    os.chown(tmp_path, 12345, 12345)
    result, said = await converge(socket=f"{tmp_path}/socket")
    os.chown(tmp_path, 0, 0)
    assert (result, "another user can change which daemon is told" in said) == (Result.FAILED, True)


async def test_what_a_killed_run_left_is_removed(must_change, daemon):
    await must_change()
    for name in ("web.reactor-new", "web.reactor-former"):
        daemon.ask("POST", f"/containers/create?name={name}", {"Image": ONE, "Cmd": ["/wait"]})
    assert await must_change() == "removed what a killed run left"
    assert len(daemon.ask("GET", "/containers/json?all=true")) == 1


async def test_what_is_missing_is_told_before(converge, daemon, tmp_path):
    for properties, words in (
        ({"image": "localhost/none:1", "pull": "never"}, "this host has no image localhost/none:1"),
        ({"volumes": [f"{tmp_path}/none:/x"]}, f"there is no {tmp_path}/none to mount"),
        ({"networks": ["nowhere"]}, "there is no network nowhere"),
        ({"socket": f"{tmp_path}/none.sock"}, "the daemon can't be asked"),
    ):
        for noop in (True, False):
            result, said = await converge(noop=noop, **properties)
            assert result is Result.FAILED, (noop, properties)
            assert words in said or not noop, said
    assert daemon.ask("GET", "/containers/json?all=true") == []


def changed_since(story, ref, seen):
    """Whether a check after the first ``seen`` ones has changed it."""
    return any(each.result is Result.CHANGED for each in story.checks(ref)[seen:])


async def test_its_end_is_announced_and_repaired(daemon, make):
    resource = make()
    async with running(resource) as story:
        await story.rest()
        for act in ("/containers/web/stop?t=1", "/containers/web/kill", "/containers/web/pause"):
            seen = len(story.checks(resource.ref))
            daemon.ask("POST", act)
            await story.until(partial(changed_since, story, resource.ref, seen))
            await story.rest()
            found = daemon.inspect("web")["State"]
            assert (found["Running"], found["Paused"]) == (True, False), act
        daemon.ask("DELETE", "/containers/web?force=true")
        await story.until(
            lambda: (daemon.inspect("web") or {"State": {"Running": False}})["State"]["Running"]
        )


async def test_a_daemon_that_comes_back_is_followed_again():
    with world(chosen_runtimes()[0]) as made:
        usual = {"image": ONE, "command": ["/wait"], "networks": ["none"], "stop_timeout": "1s"}
        resource = Container(name="web", socket=made.socket, **usual)
        async with running(resource) as story:
            await story.rest()
            made.stop()
            await story.until(lambda: story.result(resource.ref) is Result.FAILED)
            made.start()
            await story.until(lambda: story.result(resource.ref) is Result.CHANGED)
            await story.rest()
            made.ask("POST", "/containers/web/stop?t=1")
            seen = len(story.checks(resource.ref))
            await story.until(
                lambda: any(each.result is Result.CHANGED for each in story.checks(resource.ref)[seen:])
            )


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"image": None}, "image is missing"),
        ({"image": "https://x/y"}, "is not an image"),
        ({"name": "a b"}, "is not the name of a container"),
        ({"ports": ["x"]}, "is not a port"),
        ({"ports": ["80:99999"]}, "is not a port"),
        ({"networks": ["none", "web"]}, "excludes all others"),
        ({"networks": ["host"], "ports": ["80:80"]}, "have no effect"),
        ({"volumes": ["data:/a", "other:/a"]}, "has two volumes"),
        ({"volumes": ["../x:/a"]}, "is not a volume"),
        ({"restart": "sometimes"}, "is not a restart policy"),
        ({"environment": {"A=B": "c"}}, "is not a name of a variable"),
        ({"registry_user": "ada"}, "go together"),
    ],
)
def test_what_makes_no_sense_is_found_at_load(properties, words):
    with pytest.raises(ValueError, match=words):
        Container(**{"name": "web", "image": ONE, **properties})


def test_ports_are_parsed():
    assert parse_port("80") == ("80/tcp", "", "")
    assert parse_port("8080:80") == ("80/tcp", "", "8080")
    assert parse_port("127.0.0.1:53:53/udp") == ("53/udp", "127.0.0.1", "53")
    assert parse_port("[::1]:80:80") == ("80/tcp", "::1", "80")


@pytest.mark.parametrize("promise", CONTRACT)
async def test_the_container_kind_keeps_the_contract(promise, daemon, make):
    def look():
        found = daemon.inspect("web")
        return found and json.dumps([found["Config"]["Image"], found["State"]["Running"]])

    await promise(Case(make, look, partial(daemon.ask, "POST", "/containers/web/stop?t=1")))
