"""A release with a splay: the hosts of a wave download its bundle at random times, and who is told otherwise does not wait."""

import random

import pytest
import trio
from sim_fleet import SimFleet, until

from reactor.fleet.operator.channels import Channels
from reactor.fleet.rollout import commands
from reactor.fleet.rollout.hosts import HostPhase

HOUR = 3600.0


@pytest.fixture
def fleet(tmp_path):
    made = SimFleet(tmp_path, ["h1", "h2"])
    with made.fleet_server.server:
        trio.run(made.fleet_server.make_streams)
        yield made


def drawn(monkeypatch, value):
    """Let each host draw this part of the splay."""
    monkeypatch.setattr(random, "uniform", lambda least, most: least + (most - least) * value)


def report(fleet, name="h1"):
    return fleet.hosts[name].fleet.followers[0].report


def has(fleet, serial):
    return all(taken == serial for taken in fleet.in_force().values())


async def test_a_host_waits_for_its_turn_and_says_so(fleet, monkeypatch):
    drawn(monkeypatch, 0.5)
    async with fleet.running() as js:
        await fleet.begin(js, 1, splay=HOUR)
        await until(lambda: report(fleet).phase is HostPhase.FETCHING)
        assert report(fleet).why == "downloads at a random time within 3600 s"
        assert not fleet.hosts["h1"].stores["web"].has_bundle(fleet.releases[1])


async def test_all_have_the_release_once_the_splay_is_over(fleet):
    async with fleet.running() as js:
        await fleet.begin(js, 1, splay=0.5)
        await until(lambda: has(fleet, 1))


async def test_a_host_that_waits_for_its_turn_sees_a_rollback_and_a_release_without_splay(fleet, monkeypatch):
    async with fleet.running() as js:
        await fleet.begin(js, 1)
        await until(lambda: has(fleet, 1))
        drawn(monkeypatch, 0.5)
        await Channels(js).act("web", commands.halt, "ann")
        await fleet.begin(js, 2, 1, splay=HOUR)
        await until(lambda: report(fleet).phase is HostPhase.FETCHING)
        await Channels(js).act("web", commands.rollback, "ann")
        await until(lambda: report(fleet).phase is HostPhase.CONVERGED)
        assert not fleet.hosts["h1"].stores["web"].has_bundle(fleet.releases[2])
        await Channels(js).act("web", commands.halt, "ann")
        await fleet.begin(js, 3, 1)
        await until(lambda: has(fleet, 3))


async def test_a_host_that_goes_back_does_not_wait(fleet, monkeypatch):
    """It lacks the previous release, as a host that was away while that was in force."""
    drawn(monkeypatch, 0.5)
    async with fleet.running() as js:
        await fleet.begin(js, 1, splay=HOUR)
        await Channels(js).act("web", commands.halt, "ann")
        await fleet.begin(js, 2, 1, splay=HOUR)
        await Channels(js).act("web", commands.rollback, "ann")
        await until(lambda: has(fleet, 1))
