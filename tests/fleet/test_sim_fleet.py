"""Releases to simulated hosts on a real server: waves, halts, rollbacks, two drivers, and what a host refuses."""

import json
import shutil
import time
from dataclasses import replace

import pytest
import trio
from nats_servers import PATIENCE
from sim_fleet import GATE, PACE, SimFleet, phase_of, until

from reactor.fleet.bucket_names import CHANNELS, HOSTS, STATE
from reactor.fleet.host.look_rate import LookRate
from reactor.fleet.host.ports import Pace
from reactor.fleet.host.secrets import SecretFollower
from reactor.fleet.host_spec import HostSpec, SignedPin
from reactor.fleet.link.errors import WrongRevisionError
from reactor.fleet.operator.channels import Channels
from reactor.fleet.operator.drive import Driver
from reactor.fleet.operator.views import read_views
from reactor.fleet.release.pin import Pin
from reactor.fleet.release.signing import sign
from reactor.fleet.release.verify import PIN
from reactor.fleet.rollout import commands
from reactor.fleet.rollout.commands import Author
from reactor.fleet.rollout.gate import Gate, Share
from reactor.fleet.rollout.hosts import HostPhase
from reactor.fleet.rollout.rank import rank_of
from reactor.fleet.rollout.state import Phase

NAMES = [f"h{number}" for number in range(20)]
WAVES = (1, 5000, 10_000)


@pytest.fixture
def fleet(tmp_path):
    made = SimFleet(tmp_path, NAMES, canaries=["h0"])
    with made.fleet_server.server:
        trio.run(made.fleet_server.make_streams)
        yield made


def inside(serial, wave):
    return {name for name in NAMES if rank_of("web", serial, name, is_canary=name == "h0") < wave}


def report(fleet, name):
    return fleet.hosts[name].fleet.followers[0].report


async def driven(js, name="driver", seconds=PATIENCE):
    with trio.fail_after(seconds):
        return await Driver(js, "web", name, interval=0.2).run(until_ended=True)


async def all_have(fleet, serial):
    """Wait for the last host: a rollout is done when 95 % of the hosts have converged."""
    await until(lambda: set(fleet.in_force().values()) == {serial})


async def all_converged(js):
    """Wait until every host has reported so; return the views."""
    with trio.fail_after(PATIENCE):
        while True:
            views = await read_views(js, "web", 1)
            if all(view.phase is HostPhase.CONVERGED for view in views):
                return views


async def test_a_release_goes_to_all_in_waves_and_a_bad_one_goes_back(fleet):
    async with fleet.running() as js:
        await fleet.begin(js, 1, waves=WAVES)
        seen = []

        def show(state, _):
            seen.append(state.wave)
            taken = {name for name in NAMES if fleet.taken(name)}
            assert taken <= inside(1, state.wave), "a host outside the wave took the release"

        with trio.fail_after(PATIENCE):
            state = await Driver(js, "web", "ann", on_state=show, interval=0.2).run(until_ended=True)
        assert state.phase is Phase.DONE
        # The canary may have converged before the first step.
        assert set(WAVES[1:]) <= set(seen) <= set(WAVES)
        await all_have(fleet, 1)

        # The second fails on every host: its canary is the only one that ever takes it.
        release, _, _ = fleet.release(2, 1)
        for host in fleet.hosts.values():
            host.engine.fails.add(release.digest)
        await fleet.begin(js, 2, 1, waves=WAVES)
        assert (await driven(js)).phase is Phase.REVERTED
        await all_have(fleet, 1)
        assert fleet.taken("h0") == [1, 2, 1]
        assert all(fleet.taken(name) == [1] for name in NAMES if name not in inside(2, 1))

        # The third is good, and is rolled back by hand although it is done.
        await fleet.begin(js, 3, 1, waves=(10_000,))
        assert (await driven(js)).phase is Phase.DONE
        await all_have(fleet, 3)
        await Channels(js).act("web", commands.rollback, "cleo", "we changed our minds")
        assert (await driven(js)).phase is Phase.REVERTED
        await all_have(fleet, 1)


async def test_a_host_reports_the_number_of_the_release_that_it_has(fleet):
    async with fleet.running() as js:
        await fleet.begin(js, 1)
        assert (await driven(js)).phase is Phase.DONE
        await fleet.begin(js, 2, 1, waves=(1, 10_000), gate=Gate(soak=0, approve=(10_000,)))

        def have_read_it(serial=2):
            return all(
                report(fleet, name).rank == rank_of("web", serial, name, is_canary=name == "h0")
                for name in NAMES
            )

        await until(lambda: have_read_it() and fleet.taken("h0") == [1, 2])
        assert {name: report(fleet, name).serial for name in NAMES} == dict.fromkeys(NAMES, 1) | {"h0": 2}


async def test_two_drivers_never_both_succeed_and_the_second_goes_on_when_the_first_dies(fleet):
    async with fleet.running() as js, fleet.fleet_server.connected() as other:
        await fleet.begin(js, 1, waves=(1, 10_000), gate=Gate(soak=0.1, approve=(10_000,)))
        first, second = Driver(js, "web", "ann"), Driver(other, "web", "ben")
        assert await first.lease.keep()
        assert not await second.lease.keep()
        channels = Channels(js)
        state, revision = await channels.read("web")
        await channels.write(commands.pause(state, Author("ann", 1.0)), revision)
        with pytest.raises(WrongRevisionError):
            await Channels(other).write(commands.halt(state, Author("ben", 1.0)), revision)
        assert await phase_of(js) is Phase.PAUSED
        await channels.act("web", commands.resume, "ann")
        await first.lease.give_back()
        assert not first.lease.held
        assert await second.lease.keep()
        assert not await first.lease.keep()
        await second.lease.give_back()
        await channels.act("web", commands.approve, "ann")
        assert (await driven(other)).phase is Phase.DONE


async def test_too_many_failures_in_a_large_wave_halt_it_for_people(fleet):
    async with fleet.running() as js:
        release, _, _ = fleet.release(1)
        for name in NAMES[:5]:
            fleet.hosts[name].engine.fails.add(release.digest)
        await fleet.begin(js, 1, gate=Gate(soak=0.1, max_failed=Share("4")))
        state = await driven(js)
        assert state.phase is Phase.HALTED
        assert "hosts failed" in state.why
        for name in NAMES[:5]:
            fleet.hosts[name].engine.fails.clear()
            fleet.hosts[name].fleet.engine_changed()
        await all_converged(js)
        await Channels(js).act("web", commands.resume, "ann")
        assert (await driven(js)).phase is Phase.DONE


async def test_a_hold_and_a_pin_keep_one_host_apart(fleet):
    async with fleet.running() as js:
        await fleet.begin(js, 1)
        await driven(js)
        spec = HostSpec("h1", ("web",), hold=True, why="we look at it")
        await js.key_value(HOSTS).put("h1", spec.to_bytes())
        pin = Pin("h2", "web", fleet.releases[1].digest, 1_700_000_000.0, why="old data")
        signed = SignedPin(pin.to_bytes().decode(), sign(pin.to_bytes(), fleet.key, PIN).decode())
        await js.key_value(HOSTS).put("h2", HostSpec("h2", ("web",), pins={"web": signed}).to_bytes())
        await until(lambda: report(fleet, "h1").phase is report(fleet, "h2").phase is HostPhase.HELD)
        await fleet.begin(js, 2, 1)
        assert (await driven(js)).phase is Phase.DONE
        await until(lambda: list(fleet.in_force().values()).count(2) == len(NAMES) - 2)
        assert {name for name, serial in fleet.in_force().items() if serial == 1} == {"h1", "h2"}
        assert report(fleet, "h2").why == "old data"
        await js.key_value(HOSTS).put("h1", HostSpec("h1", ("web",)).to_bytes())
        await until(lambda: fleet.in_force()["h1"] == 2)

        # A pin for another host is none for this one.
        await js.key_value(HOSTS).put("h3", HostSpec("h3", ("web",), pins={"web": signed}).to_bytes())
        await until(lambda: report(fleet, "h3").phase is HostPhase.REJECTED)
        assert report(fleet, "h3").why == "the pin is for h2 in web"
        assert fleet.in_force()["h3"] == 2


@pytest.mark.parametrize("what", ["rolled back", "held"])
async def test_what_changes_during_a_download_keeps_the_host_from_switching(fleet, what):
    async with fleet.running() as js:
        await fleet.begin(js, 1)
        await driven(js)
        await all_have(fleet, 1)
        store = fleet.hosts["h1"].stores["web"]
        receive, goes_on = store.receive, trio.Event()

        async def received(release):
            await goes_on.wait()
            await receive(release)

        store.receive = received
        await fleet.begin(js, 2, 1)
        await until(lambda: report(fleet, "h1").phase is HostPhase.FETCHING)
        follower = fleet.hosts["h1"].fleet.followers[0]
        if what == "held":
            await js.key_value(HOSTS).put("h1", HostSpec("h1", ("web",), hold=True).to_bytes())
            await until(lambda: follower.spec.hold)
        else:
            await Channels(js).act("web", commands.rollback, "ann")
        goes_on.set()
        await until(lambda: report(fleet, "h1").phase is not HostPhase.FETCHING)
        await until(lambda: store.has_bundle(fleet.releases[2]))
        assert fleet.taken("h1") == [1]
        assert report(fleet, "h1").phase is (HostPhase.HELD if what == "held" else HostPhase.CONVERGED)


def test_a_host_goes_on_when_its_hold_ends_although_nothing_tells_it(tmp_path):
    fleet = SimFleet(tmp_path, ["h1"], pace=PACE._replace(look=600.0))

    async def held_for_a_while():
        async with fleet.running() as js:
            await fleet.begin(js, 1)
            await driven(js)
            spec = HostSpec("h1", ("web",), hold=True, hold_until=time.time() + 3)
            await js.key_value(HOSTS).put("h1", spec.to_bytes())
            await until(lambda: report(fleet, "h1").phase is HostPhase.HELD)
            await fleet.begin(js, 2, 1)
            await until(lambda: fleet.taken("h1") == [1, 2])
            assert time.time() >= spec.hold_until

    with fleet.fleet_server.server:
        trio.run(fleet.fleet_server.make_streams)
        trio.run(held_for_a_while)


async def refused(fleet, js, state, words):
    """Write a state of the channel as the owner of the servers could, and see every host refuse it."""
    before = fleet.in_force()
    await js.key_value(CHANNELS).put("web", state.to_bytes() if hasattr(state, "to_bytes") else state)
    await until(lambda: all(words in report(fleet, name).why for name in NAMES))
    assert {report(fleet, name).phase for name in NAMES} == {HostPhase.REJECTED}
    assert fleet.in_force() == before


async def test_who_owns_the_servers_can_not_run_what_nobody_signed(fleet):
    async with fleet.running() as js:
        await fleet.begin(js, 1)
        await driven(js)
        await fleet.begin(js, 2, 1, floor=1)
        await driven(js)
        await all_have(fleet, 2)
        state = (await Channels(js).read("web"))[0]
        objects = js.objects("reactor_bundles")

        unsigned, _, signatures = fleet.release(3, 2, content=b"evil")
        await objects.put(unsigned.digest, unsigned.to_bytes())
        await objects.put(
            f"{unsigned.digest}.sig", (await objects.read(f"{state.release}.sig", largest=9999))
        )
        forged = replace(state, release=unsigned.digest, serial=3, previous=state.release)
        await refused(fleet, js, forged, "the signature does not fit the document")

        await refused(fleet, js, b"{", "is not valid JSON")
        later = b'{"v":2,"channel":"web"}'
        await refused(
            fleet, js, later, "has version 2, and 1 is understood here: install a newer reactor here"
        )
        await refused(fleet, js, b"x" * 70_000, "at most 65536 are allowed")
        await refused(fleet, js, replace(state, previous=None), "'previous' is not as it was signed")
        await refused(fleet, js, replace(state, serial=9), "'serial' is not as it was signed")

        other, bundle, signatures = fleet.release(4, 2, channel="db")
        await objects.put(other.digest, other.to_bytes())
        await objects.put(f"{other.digest}.sig", signatures)
        await refused(
            fleet,
            js,
            replace(state, release=other.digest, serial=4, previous=other.previous),
            "'channel' is not as it was",
        )

        swapped, bundle, signatures = fleet.release(5, 2)
        await objects.put(swapped.digest, swapped.to_bytes())
        await objects.put(f"{swapped.digest}.sig", signatures)
        await objects.put(swapped.bundle, b"y" * len(bundle.data))
        await refused(
            fleet,
            js,
            replace(state, release=swapped.digest, serial=5, previous=swapped.previous),
            "not the one that was announced",
        )


async def test_a_host_tells_once_that_it_can_not_read_what_is_set_for_it(fleet):
    async with fleet.running() as js:
        for _ in range(2):
            await js.key_value(HOSTS).put("h1", b'{"v":2}')
            await until(lambda: fleet.hosts["h1"].warnings)
        await js.key_value(HOSTS).put("h1", HostSpec("h1", ("web",), hold=True).to_bytes())
        await until(lambda: fleet.hosts["h1"].fleet.followers[0].spec.hold)
    words = "the spec for h1 has version 2, and 1 is understood here: install a newer reactor here"
    assert fleet.hosts["h1"].warnings == [f"a hold or pin of this host may be missed: {words}"]


async def test_below_the_floor_there_is_no_way_back(fleet):
    async with fleet.running() as js:
        await fleet.begin(js, 1)
        await driven(js)
        await fleet.begin(js, 2, 1)
        await driven(js)
        await fleet.begin(js, 3, 2, floor=2)
        await driven(js)
        await all_have(fleet, 3)
        first = fleet.releases[1]
        state = (await Channels(js).read("web"))[0]
        back = replace(state, release=first.digest, serial=1, previous=None)
        await refused(fleet, js, back, "release 1 of web is below the floor 2")


async def test_a_summary_says_what_the_host_is(fleet):
    async with fleet.running() as js:
        await fleet.begin(js, 1)
        await driven(js)
        views = await all_converged(js)
        assert {view.id for view in views} == set(NAMES)
        entry = await js.key_value(STATE).get("h1")
        assert len(entry.value) < 2048
        assert GATE.soak < 1


async def test_clocks_that_are_wrong_by_ten_minutes_change_no_release_and_no_soak(fleet):
    now = time.time()
    fleet.hosts["h1"].host.clock = lambda: time.time() - 600
    fleet.hosts["h2"].host.clock = lambda: time.time() + 600
    async with fleet.running() as js:
        await fleet.begin(js, 1)
        assert (await driven(js)).phase is Phase.DONE
        await all_have(fleet, 1)
        for view in await read_views(js, "web", 1):
            assert abs(view.since - now) < 60

        # The slow clock is before the release: its times are not judged. The fast one is past its end: it is refused.
        await fleet.begin(js, 2, 1, created=now - 60, not_before=now - 60, expires=now + 300)
        await until(lambda: report(fleet, "h2").phase is HostPhase.REJECTED)
        await until(lambda: fleet.in_force()["h1"] == fleet.in_force()["h3"] == 2)
        assert fleet.in_force()["h2"] == 1
        assert "has expired" in report(fleet, "h2").why


async def test_a_clock_that_is_set_later_moves_no_soak(fleet):
    """A host may start with a wrong clock, and take a release before NTP sets it."""
    now, wrong = time.time(), {"h1": 3600.0, "h2": -3600.0}
    fleet.hosts["h1"].host.clock = lambda: time.time() + wrong["h1"]
    fleet.hosts["h2"].host.clock = lambda: time.time() + wrong["h2"]
    async with fleet.running() as js:
        await fleet.begin(js, 1)
        await driven(js)
        await all_converged(js)
        for name in wrong:
            wrong[name] = 0.0
            assert abs(fleet.hosts[name].fleet.summary().channels["web"].since - now) < 60


async def test_an_operator_whose_clock_is_set_ends_no_soak(fleet, monkeypatch):
    said, real = [], time.time
    async with fleet.running() as js, trio.open_nursery() as nursery:
        await fleet.begin(js, 1, gate=Gate(soak=300))
        driver = Driver(js, "web", "ann", on_state=lambda *each: said.append(each), interval=0.05)
        nursery.start_soon(driver.run)
        await until(lambda: said and "soaks for" in said[-1][1])
        monkeypatch.setattr(time, "time", lambda: real() + 3600)
        seen = len(said)
        await until(lambda: len(said) > seen)
        assert said[-1][0].phase is Phase.ROLLING
        nursery.cancel_scope.cancel()


async def test_a_hint_that_a_host_forges_keeps_no_other_from_a_release(fleet):
    """A host can have the answer to a direct get sent to the subject of the hints, with headers that it wrote itself."""
    async with fleet.running() as js, fleet.fleet_server.connected("h2") as evil:
        await fleet.begin(js, 1)
        await driven(js)
        headers = {"Nats-Sequence": str(10**9)}
        await evil.publish("$KV.reactor_shared.h2.evil", b"", headers=headers)
        followers = [host.fleet.followers[0] for host in fleet.hosts.values()]
        get = json.dumps({"last_by_subj": "$KV.reactor_shared.h2.evil"}).encode()
        await evil.connection.publish(
            "$JS.API.DIRECT.GET.KV_reactor_shared", get, reply="reactor.changed.channel.web"
        )
        await until(lambda: all(each._hinted == 10**9 for each in followers))
        await fleet.begin(js, 2, 1)
        await all_have(fleet, 2)


async def test_servers_that_lost_their_data_and_have_a_new_release_are_followed_without_a_restart(fleet):
    server = fleet.fleet_server.server
    async with fleet.running() as js:
        await fleet.begin(js, 1, waves=WAVES)
        assert (await driven(js)).phase is Phase.DONE
        await all_have(fleet, 1)
        assert (await Channels(js).read("web"))[1] > 1
        links = [js.connection, *(host.fleet.connection for host in fleet.hosts.values())]
        before = {link: link.epoch for link in links}
        server.kill()
        shutil.rmtree(server.directory / "js")
        server.start()
        await until(lambda: all(link.up and link.epoch > before[link] for link in links))
        await fleet.fleet_server.make_streams()
        await fleet.enrol(js)
        await fleet.begin(js, 2)
        assert (await Channels(js).read("web"))[1] == 1
        await all_have(fleet, 2)


async def test_a_look_that_finds_nothing_new_changes_no_report(fleet):
    """Else the last host to look would begin the soak of its wave again, and a long soak would never end."""
    async with fleet.running() as js:
        await fleet.begin(js, 1)
        await driven(js)
        follower = fleet.hosts["h1"].fleet.followers[0]
        state, revision = await Channels(js).read("web")
        await until(lambda: follower._seen == revision and report(fleet, "h1").phase is HostPhase.CONVERGED)
        before, changes = report(fleet, "h1"), []
        follower._on_change = lambda: changes.append(report(fleet, "h1"))
        assert await follower._look()
        assert changes == []
        assert report(fleet, "h1") == before

        # A new state of the channel is told all the same: the gate counts hosts that were heard since it began.
        await Channels(js).write(state, revision)
        await until(lambda: len(changes) == 1)
        assert report(fleet, "h1") == before


async def test_a_flood_of_hints_is_a_look_a_second(fleet, monkeypatch, tmp_path):
    async with fleet.running() as js, trio.open_nursery() as nursery:
        await fleet.begin(js, 1)
        await driven(js)
        host = fleet.hosts["h1"].fleet
        follower = host.followers[0]
        follower._rate, host._spec_rate = LookRate(Pace().burst), LookRate(Pace().burst)
        looks, specs = [], []
        look, take_spec = follower._look, host._take_spec

        async def counted():
            looks.append(trio.current_time())
            return await look()

        def taken(data):
            specs.append(trio.current_time())
            take_spec(data)

        monkeypatch.setattr(follower, "_look", counted)
        monkeypatch.setattr(host, "_take_spec", taken)
        read = []

        def used():
            read.append(trio.current_time())
            return ()

        secrets = SecretFollower("h1", "", str(tmp_path / "secrets"), used, print)
        nursery.start_soon(secrets.run, host.connection, Pace())
        with trio.move_on_after(1.5):
            while True:
                follower.hint(1)
                await js.connection.publish("reactor.changed.host.h1")
                await trio.sleep(0.005)
        assert 2 <= len(looks) <= 10
        assert 2 <= len(specs) <= 10
        assert 2 <= len(read) <= 10
        nursery.cancel_scope.cancel()
