"""A real host: `reactor fleet follow` keeps one run going that follows signed releases on a real server."""

import io
import json
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from urllib.request import urlopen

import pytest
import trio
from killed_steps import killed_before_step
from nats_servers import PATIENCE
from ports import free_port
from processes_of_cli import wait_until
from real_hosts import CONFIG, RealFleet, file
from signers_of_tests import new_key

from reactor.atomic_write import replace_file
from reactor.cli.running import loaded_files
from reactor.cli.running.fleet_host import Releases
from reactor.cli.running.fleet_manifest import ChannelManifests
from reactor.cli.running.fleet_status import RunStatus
from reactor.engine.events import ReloadRejected
from reactor.errors import ReactorError
from reactor.fleet.bucket_names import EVENTS, REGISTRATIONS, SLOTS
from reactor.fleet.bundle.digest import digest_of
from reactor.fleet.bundle.errors import BundleError, NotNowError
from reactor.fleet.bundle.incoming import Arrived
from reactor.fleet.bundle.pack import pack
from reactor.fleet.bundle.store import BundleStore, StoreLockedError
from reactor.fleet.event_batch import batch_id_of, decode_batch
from reactor.fleet.host.disk import DiskReleases
from reactor.fleet.host.ports import Identity
from reactor.fleet.operator.shared_state import held_slots
from reactor.fleet.release.document import Release
from reactor.fleet.release.held import HeldReleases
from reactor.fleet.rollout.hosts import HostPhase
from reactor.fleet.slot_holder import Holder


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    made = RealFleet(tmp_path_factory.mktemp("real"))
    made.start()
    yield made
    made.fleet_server.server.kill()


async def test_a_host_registers_what_is_stable_and_nothing_that_fails(fleet):
    host, channel = fleet.host("reg1", ["registering"]), "registering"
    entry = (
        "{{cluster: prod, service: {}, protocol: http, address: 192.0.2.1, port: 80, priority: 10, ttl: {}}}"
    )
    resources = "".join(
        f"  - exec: [{name}: {{command: '{command}', register_when_stable: [{entry.format(name, ttl)}]}}]\n"
        for name, command, ttl in (("web", "true", "3s"), ("cache", "true", "1h"), ("db", "false", "1h"))
    )
    async with fleet.operator() as js:
        with host.following():
            await fleet.put(js, channel, resources)
            await host.phase(js, "failed", channel=channel)
            found: dict[str, int] = {}
            with trio.fail_after(PATIENCE):
                async with js.reading(REGISTRATIONS) as entries:
                    async for each in entries:
                        if each is not None:
                            service = json.loads(each.data)["service"]
                            found[service] = found.get(service, 0) + 1
                        if found.get("web", 0) > 1 and "cache" in found:
                            break
    assert sorted(found) == ["cache", "web"]  # and web again, at a third of its time to live
    assert "published nowhere" not in host.said()


async def test_a_host_converges_releases_and_refuses_bad_ones(fleet, tmp_path):
    host, path, web = fleet.host("web1", ["one"]), tmp_path / "motd", "one"
    held = host.held["one"]
    async with fleet.operator() as js:
        with host.following() as process:
            first = await fleet.put(js, web, file(path, "first"))
            report = await host.phase(js, "converged", channel=web)
            assert (path.read_text(), report.in_force, report.serial) == ("first", first.digest, 1)

            evil = await fleet.put(js, web, file(path, "evil"), key=new_key(tmp_path, "mallory"))
            report = await host.phase(js, "rejected", channel=web, release=evil.digest)
            assert "not among the keys of the people who may sign" in report.why
            await host.until(lambda: f"one: release {evil.digest} is rejected: {report.why}" in host.said())
            assert (held.in_force, path.read_text()) == (first.digest, "first")

            fleet.last[web] = first
            broken = await fleet.put(js, web, "  - fiel: {}\n", serial=3)
            report = await host.phase(js, "rejected", channel=web, release=broken.digest)
            assert report.why.startswith("the manifest is not valid on this host: manifest.yaml:2:5: ")
            assert held.in_force == first.digest

            fleet.last[web] = first
            good = await fleet.put(js, web, file(path, "{{ Facts.fleet.serial }}"), serial=4)
            await host.phase(js, "converged", channel=web, release=good.digest)
            assert path.read_text() == "4"

            fleet.last[web] = good
            failing = file(tmp_path / "no" / "where", "x") + file(path, "fifth")
            failing = await fleet.put(js, web, failing)
            found = await host.summary(js, _failed(web, failing.digest))
            assert found.engine.failed == 1
            assert found.engine.worst[0][0] == f"file#{tmp_path}/no/where"
            await host.until(lambda: path.read_text() == "fifth")
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 1
    assert "evil" not in host.said()


def _failed(channel, release):
    """Whether a summary says that a release has failed."""

    def told(summary):
        report = summary.channels[channel]
        return (report.about, report.phase) == (release, "failed")

    return told


async def test_a_failure_that_a_retry_repairs_is_no_failure_of_the_release(fleet, tmp_path):
    host, mark = fleet.host("web10", ["retried"]), tmp_path / "mark"
    once = f"  - exec: {{name: once, command: '[ -e {mark} ] || {{ touch {mark}; exit 1; }}', provider: shell}}\n"
    async with fleet.operator() as js:
        with host.following() as process:
            await fleet.put(js, "retried", once)
            seen = []

            def converged(summary):
                if (report := summary.channels.get("retried")) is not None:
                    seen.append(report.phase)
                return seen[-1:] == ["converged"]

            await host.summary(js, converged)
            assert "failed" not in seen
            assert "exec#once  failed" in host.said()
            process.terminate()
            process.wait(PATIENCE)


def is_away(port):
    """Whether the metrics say that the network is down and events wait for it."""
    with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE) as answer:
        page = answer.read().decode()
        assert 'reactor_release_serial{channel="two"} 1.0' in page
        is_down = 'reactor_watcher_state{state="down",watcher="network"} 1.0' in page
        return is_down and re.search(r"^reactor_journal_unsent [1-9]", page, re.MULTILINE)
    return False


async def test_the_run_needs_no_network_to_start_or_to_repair_drift(fleet, tmp_path):
    host, path = fleet.host("web2", ["two"]), tmp_path / "motd"
    async with fleet.operator() as js:
        with host.following() as process:
            release = await fleet.put(js, "two", file(path, "first"))
            await host.phase(js, "converged", channel="two")
            process.send_signal(signal.SIGKILL)
            process.wait()
    fleet.fleet_server.server.kill()
    try:
        path.unlink()
        port = free_port()
        with host.following("--metrics", f"127.0.0.1:{port}") as process:
            await host.until(path.exists)
            path.write_text("drift")
            await host.until(lambda: path.read_text() == "first")
            assert host.held["two"].in_force == release.digest
            await trio.to_thread.run_sync(wait_until, partial(is_away, port))
            process.terminate()
            assert process.wait(PATIENCE) == 0
    finally:
        fleet.fleet_server.server.start()


async def test_a_host_follows_a_server_that_has_moved_to_another_address(tmp_path):
    fleet = RealFleet(tmp_path)
    with fleet.fleet_server.server as server, (host := fleet.host("web1")).following():
        await fleet.fleet_server.make_streams()
        async with fleet.operator() as js:
            await fleet.put(js, "web", file(tmp_path / "x", "a"))
            await host.phase(js, HostPhase.CONVERGED)
        config = host.config.read_text()
        host.config.write_text(config.replace(server.url, "nats://"))
        server.kill()
        await host.until(lambda: "the servers stay those of before" in host.said())
        before, server.port = server.url, free_port()
        server.start()
        replace_file(str(host.config), config.replace(before, server.url).encode(), 0o600)
        await host.until(lambda: f"connected to {server.url}" in host.said())
    assert host.said().count("the servers stay those of before") == 1
    assert f"{host.config}:2:11: the URL of a NATS server has no host" in host.said()


async def test_a_routine_check_of_what_is_well_does_not_begin_the_soak_again(fleet, tmp_path):
    host, channel, marks = fleet.host("web14", ["checked"]), "checked", tmp_path / "marks"

    def with_check(name):
        check = f"{{name: {name}, command: sh -c 'sleep 0.2; echo >>{marks}', interval: 1s}}"
        return file(tmp_path / name, "x").replace(
            "ensure: present", f"ensure: present, health_checks: [{check}]"
        )

    async with fleet.operator() as js:
        with host.following():
            release = await fleet.put(
                js, channel, with_check("one") + with_check("two") + with_check("three")
            )
            since = (await host.phase(js, "converged", channel=channel, release=release.digest)).since
            ended = len(marks.read_text()) + 8
            seen = []

            def checked_again(summary):
                seen.append(summary.channels[channel])
                return len(marks.read_text()) >= ended

            nudge = tmp_path / "one"
            async with trio.open_nursery() as nursery:

                async def drift():
                    """Events while the checks run make the host look at what it reports."""
                    while True:
                        nudge.touch()
                        await trio.sleep(0.05)

                nursery.start_soon(drift)
                await host.summary(js, checked_again)
                nursery.cancel_scope.cancel()
    assert {each.phase for each in seen} == {"converged"}
    assert seen[-1].since == pytest.approx(since, abs=0.5)


async def test_a_host_that_is_started_again_says_that_it_has_converged(fleet, tmp_path):
    host, channel = fleet.host("web12", ["again"]), "again"
    async with fleet.operator() as js:
        with host.following() as process:
            release = await fleet.put(js, channel, file(tmp_path / "motd", "x"))
            await host.phase(js, "converged", channel=channel, release=release.digest)
            process.terminate()
            assert process.wait(PATIENCE) == 0
        ended = (await host.summary(js, lambda told: True)).time
        with host.following():
            await host.summary(
                js, lambda told: told.time > ended and told.channels[channel].phase == "converged"
            )
        assert "reloaded: added" not in host.said().partition("(stopped")[2]


async def test_channels_run_side_by_side_and_a_conflict_names_both(fleet, tmp_path):
    host = fleet.host("web3", ["base", "site"])
    shared, own = tmp_path / "shared", tmp_path / "own"
    async with fleet.operator() as js:
        with host.following() as process:
            base = await fleet.put(js, "base", file(shared, "{{ Facts.fleet.channels.base.serial }}"))
            await host.phase(js, "converged", channel="base")
            site = await fleet.put(js, "site", file(own, "site"))
            await host.phase(js, "converged", channel="site")
            assert (shared.read_text(), own.read_text()) == ("1", "site")

            clash = await fleet.put(js, "site", file(own, "other") + file(shared, "mine"))
            report = await host.phase(js, "rejected", channel="site", release=clash.digest)
            assert (
                report.why
                == f"the channels base and site conflict on this host: file#{shared} is declared twice"
            )
            assert (report.in_force, own.read_text()) == (site.digest, "site")

            fleet.last["site"] = site
            failing = await fleet.put(js, "site", file(tmp_path / "no/where", "x"), serial=3)
            failed = _failed("site", failing.digest)
            found = await host.summary(
                js, lambda each: failed(each) and each.channels["base"].phase == "converged"
            )
            assert {name: each.phase for name, each in found.channels.items()} == {
                "base": "converged",
                "site": "failed",
            }
            assert found.channels["base"].in_force == base.digest
            assert (found.engine.resources, found.engine.failed) == (2, 1)
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)


async def test_a_summary_has_health_checks_and_facts_and_the_events_of_the_run_arrive(fleet, tmp_path):
    host = fleet.host("web4", ["four"], "facts: {os: Facts.host.info.os, gone: Facts.nothing.here}\n")
    path, probe = tmp_path / "motd", tmp_path / "probe"
    probe.write_text("#!/bin/sh\nexit 2\n")
    probe.chmod(0o755)
    checks = f"health_checks: [{{name: port, command: {probe}, tries: 1}}]"
    async with fleet.operator() as js, js.reading(EVENTS, ["reactor.event.web4"], start="all") as reader:
        with host.following() as process:
            await fleet.put(js, "four", file(path, "x").replace("ensure:", f"{checks}, ensure:"))
            found = await host.summary(
                js, lambda each: each.facts and each.seq and each.channels["four"].phase == "failed"
            )
            assert (dict(found.engine.checks), dict(found.facts)) == ({"port": "critical"}, {"os": "linux"})
            assert found.lost == 0

            probe.write_text("#!/bin/sh\nexit 0\n")
            await fleet.put(js, "four", file(path, "y").replace("ensure:", f"{checks}, ensure:"))
            await host.phase(js, "converged", channel="four")
            found = await host.summary(js, lambda each: each.engine.checks == {"port": "ok"})

            events, journals = [], set()
            with trio.fail_after(PATIENCE):
                async for stored in reader:
                    if stored is not None:
                        events += decode_batch(stored.data, "a batch")
                        journals.add(batch_id_of(stored.headers).journal)
                    if any(each.get("event") == "reloaded" and each["changed"] for each in events):
                        break
            assert [each["id"] for each in events] == list(range(1, len(events) + 1))
            assert len(journals) == 1
            results = {(each["ref"], each["result"]) for each in events if each["event"] == "checked"}
            assert (f"file#{path}", "failed") in results
            assert not any("diffs" in each and each["diffs"] for each in events)
            process.terminate()
            assert process.wait(PATIENCE) == 0


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("channels:", "chanels:", "4:1: there is no setting 'chanels'"),
        ("web7\n", "web.7\n", "1:5: 'web.7' is not a valid name"),
        ("[web]", "[web, web]", "4:17: the channel web is listed twice"),
        ("[web]", "[bundles]", "4:12: a channel can't have the name bundles"),
        ("nats://", "ws://", "2:11: the NATS server ws://"),
        ("signers: signers", "require: 0", "5:10: a number from 1 is expected here"),
        ("summary_interval: 0.1", "summary_interval: 0", "6:19: seconds from 0.1 to 300 are expected"),
        ("signers: signers", "facts: {os: '1 =='}", "5:13: this is not an expression"),
        ("channels: [web]", "", "1:1: channels is missing"),
    ],
)
def test_a_wrong_configuration_is_told_with_its_place(reactor, tmp_path, old, new, said):
    config = tmp_path / "fleet.yaml"
    text = CONFIG.format(name="web7", url="nats://127.0.0.1", channels="web")
    config.write_text(text.replace(old, new))
    done = reactor("fleet", "follow", "--check", "--config", config)
    assert (done.code, done.out) == (2, "")
    assert f"error[R1009]: {config}:{said}" in done.err


def test_a_host_whose_credentials_have_expired_is_told_to_join_again(fleet, reactor):
    fleet.fleet_server.host_credentials("web15", expires=int(time.time()) - 10)
    fleet.host("web15")
    done = reactor("fleet", "follow", "--check", "--config", fleet.home / "web15.yaml")
    assert (done.code, "expired on" in done.err) == (2, True)
    assert "hint: let this host join again with a new token: reactor fleet join" in done.err


def test_a_good_configuration_is_told(fleet, reactor):
    host = fleet.host("web7", ["web", "base"])
    done = reactor("fleet", "follow", "--check", "--config", host.config)
    assert (done.code, done.out) == (0, f"web7 follows web, base on {fleet.fleet_server.server.url}\n")


def manifests(state, *channels):
    state.mkdir(exist_ok=True)
    made = ChannelManifests(Identity("web7", channels or ("web",), ()), str(state))
    made.begin()
    return made


@pytest.mark.parametrize(
    ("name", "mode", "said"),
    [
        ("web13.yaml", 0o666, "web13.yaml can be written by every user"),
        ("signers", 0o602, "signers can be written by every user"),
        ("web13.creds", 0o606, "web13.creds can be written by every user"),
        ("web13.creds", 0o604, "every user can use the credentials"),
        ("web13.creds", None, "can't read the credentials file"),
    ],
)
def test_files_of_a_host_that_others_could_use_are_refused(fleet, reactor, name, mode, said):
    host = fleet.host("web13")
    file = host.config.with_name(name)
    content, before = file.read_bytes(), file.stat().st_mode
    file.chmod(mode) if mode else file.unlink()
    done = reactor("fleet", "follow", "--check", "--config", host.config)
    file.write_bytes(content)
    file.chmod(before)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_what_is_not_valid_here_is_refused_with_its_place_in_the_bundle(tmp_path):
    made = manifests(tmp_path / "state")
    release = Release("web", 7, digest_of(b"x"), 1, None, 1_700_000_000.0)
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text("resources:\n  - fiel: {}\n")
    with pytest.raises(BundleError, match=r"not valid on this host: manifest.yaml:2:5: .*fiel"):
        made.validate(str(tmp_path), release)
    manifest.write_text(
        "resources:\n  - exec: {name: 'serial {{ Facts.fleet.serial }}', command: 'true', refreshonly: true}\n"
    )
    made.validate(str(tmp_path), release)


async def test_a_run_of_an_earlier_version_refuses_no_release_and_says_what_it_waits_for(
    tmp_path, monkeypatch
):
    made = manifests(tmp_path / "state")
    (tmp_path / "manifest.yaml").write_text("resources: []\n")
    release = Release("web", 7, digest_of(b"x"), 1, None, 1_700_000_000.0)
    monkeypatch.setattr(loaded_files, "is_replaced", lambda: True)
    with pytest.raises(
        NotNowError, match=r"another version of reactor was installed: .*: systemctl restart reactor"
    ):
        made.validate(str(tmp_path), release)
    with pytest.raises(NotNowError, match="another version of reactor was installed"):
        await Releases(made.held["web"], made).require_room(1)

    status = RunStatus(lambda: {"web": "of before"}, {}, made.is_target)
    status(ReloadRejected(1.0, ("root.yaml: another version",)))
    assert (status.phase_of("new"), status.why_of("new")) == (HostPhase.MOVING, "root.yaml: another version")


def test_a_release_may_declare_channels_for_notifications(tmp_path):
    made = manifests(tmp_path / "state")
    release = Release("web", 7, digest_of(b"x"), 1, None, 1_700_000_000.0)
    notify = "notify: {ops: {on: [failed], webhook: {url: 'http://127.0.0.1/x'}}}\n"
    (tmp_path / "manifest.yaml").write_text(notify + "resources: []\n")
    made.validate(str(tmp_path), release)
    (tmp_path / "child.yaml").write_text(notify + "resources: []\n")
    (tmp_path / "manifest.yaml").write_text("resources:\n  - apply: [child.yaml: {}]\n")
    with pytest.raises(BundleError, match="a manifest that is applied must not declare channels"):
        made.validate(str(tmp_path), release)


def test_a_channel_in_force_that_does_not_load_any_more_is_left_out_until_its_next_release(tmp_path):
    made = manifests(tmp_path / "state", "base", "web")
    (tmp_path / "site").mkdir()
    texts = {"base": "resources:\n  - exec: {name: 'true'}\n", "web": "resources:\n  - fiel: {}\n"}
    for channel, text in texts.items():
        (tmp_path / "site/manifest.yaml").write_text(text)
        bundle = pack(str(tmp_path / "site"))
        release = Release(channel, 1, bundle.digest, len(bundle.data), None, 1_700_000_000.0)
        held = made.held[channel]
        with held.store.locked():
            with held.store.unpacked(io.BytesIO(bundle.data), bundle.digest, len(bundle.data)) as directory:
                held.store.keep(directory, bundle.digest)
            held.switch(release, release.to_bytes(), b"", {})
    made.begin()
    assert made.applied() == ["base"]
    assert "manifest.yaml:2:5" in made.left_out["web"]
    assert "web/current" not in (tmp_path / "state/fleet/root.yaml").read_text()
    made.apply_also("web")
    assert made.applied() == ["base", "web"]


def test_a_host_killed_at_any_step_of_its_first_release_runs_it_whole_or_not_at_all(tmp_path):
    """The steps: unpack, validate, flush, keep the bundle, documents, floor, generation, switch, root manifest."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site/manifest.yaml").write_text("resources:\n  - exec: [{'true': {refreshonly: true}}]\n")
    bundle = pack(str(tmp_path / "site"))
    release = Release("web", 1, bundle.digest, len(bundle.data), None, 1_700_000_000.0)
    applied, fatal, code = set(), 0, None
    while code != 0:
        fatal += 5  # each step is in test_releases; here also the root manifest and the start
        made = manifests(tmp_path / f"state{fatal}")

        def take(made=made):
            held = made.held["web"]
            with held.store.locked():
                held.receive(release, io.BytesIO(bundle.data), lambda place: made.validate(place, release))
                held.switch(release, release.to_bytes(), b"", {})
            made.apply_also("web")

        code = killed_before_step(fatal, take)
        again = manifests(tmp_path / f"state{fatal}")
        root = (tmp_path / f"state{fatal}/fleet/root.yaml").read_text()
        assert ("web/current" in root) == (again.held["web"].in_force == release.digest)
        assert again.left_out == {}
        applied.add(tuple(again.applied()))
        assert code in (0, -signal.SIGKILL)
    assert fatal > 15
    assert applied == {(), ("web",)}


def test_targets_are_judged_with_the_facts_of_this_host(tmp_path):
    made = manifests(tmp_path / "state")
    assert made.is_target("Facts.host.info.os == 'linux'") is True
    assert made.is_target("1 == 2") is False
    with pytest.raises(ReactorError):
        made.is_target("1 ==")


async def arrive(store, release, data):
    arrived = await store.begin(release.bundle, "x")
    await store.add(arrived, 1, data)


async def test_the_disk_takes_what_is_valid_only_and_tells_a_busy_lock(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site/manifest.yaml").write_text("resources: []\n")
    (tmp_path / "state").mkdir()
    bundle = pack(str(tmp_path / "site"))
    release = Release("web", 1, bundle.digest, len(bundle.data), None, 1_700_000_000.0)
    held = HeldReleases(BundleStore(str(tmp_path / "state")), "web")
    valid = []

    def validate(directory, judged):
        valid.append(judged)
        if len(valid) == 1:
            raise BundleError("not here")

    store = DiskReleases(held, validate)
    await arrive(store, release, bundle.data)
    with pytest.raises(BundleError, match="not here"):
        await store.receive(release)
    assert not store.has_bundle(release)
    assert await store.arrived() == Arrived()
    await arrive(store, release, bundle.data)
    await store.receive(release)
    assert store.has_bundle(release)
    with held.store.locked(), pytest.raises(StoreLockedError):
        await store.switch(release, release.to_bytes(), b"signed", {})
    assert store.in_force is None
    await store.switch(release, release.to_bytes(), b"signed", {"groups": []})
    assert (store.in_force, store.floor) == (release.digest, release.floor)
    assert store.document(release.digest) == (release.to_bytes(), b"signed")
    assert valid == [release, release]


def status(host):
    words = [
        sys.executable,
        "-m",
        "reactor",
        "status",
        "--all",
        "--format",
        "json",
        "--state-dir",
        host.state,
    ]
    found = json.loads(subprocess.run(words, capture_output=True, check=False).stdout)
    return {each["ref"]: (each["state"], each["waiting_for"]) for each in found["resources"]}


async def test_a_host_changes_nothing_before_it_has_its_slot(fleet, tmp_path):
    host, path, other = fleet.host("web9", ["slotted"]), tmp_path / "motd", tmp_path / "other"
    slot = ", slot: {name: motd, at_most: 1, lease: 60s}"
    held = file(path, "x").replace("ensure: present", f"ensure: present{slot}")
    async with fleet.operator() as js:
        slots = js.key_value(SLOTS)
        taken = await slots.put("motd.0.web3", Holder("web3", "file#/etc/motd", "t").to_bytes(), ttl=60)
        with host.following() as process:
            await fleet.put(js, "slotted", held + file(other, "y"))
            await host.until(other.exists)
            await host.until(lambda: "waiting  for slot motd (held by web3)" in host.said())
            told = await trio.to_thread.run_sync(status, host)
            assert told[f"file#{path}"] == ("waiting", {"slot": "motd", "reason": "held by web3"})
            assert told[f"file#{other}"][1] is None
            assert not path.exists()
            (shown,) = await held_slots(js, "motd")
            assert shown[:5] == ("motd", "", "0", "web3", "file#/etc/motd")
            await slots.delete("motd.0.web3", revision=taken)
            await host.phase(js, "converged", channel="slotted")
            assert path.read_text() == "x"
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
        assert await slots.get("motd.0.web3") is None


async def test_a_host_says_what_it_waits_for_and_what_it_would_change(fleet, tmp_path, reactor):
    host, channel = fleet.host("web11", ["stuck"]), "stuck"
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    theirs.write_text("theirs")
    resources = file(mine, "mine") + file(theirs, "ours").replace(
        "ensure: present", "meta: {mode: warn}, ensure: present"
    )
    async with fleet.operator() as js:
        with host.following():
            release = await fleet.put(js, channel, resources)
            assert (await host.phase(js, "converged", channel=channel, release=release.digest)).why == ""
            found = await host.summary(js, lambda told: told.engine.would_change)
            assert (found.engine.ok, found.engine.would_change, theirs.read_text()) == (1, 1, "theirs")

            pause = ("pause", f"file#{mine}", "--state-dir", host.state)
            assert await trio.to_thread.run_sync(
                lambda: reactor(*pause, "--for", "1h", "--reason", "an experiment").code == 0
            )
            mine.write_text("changed")
            report = await host.phase(js, "moving", channel=channel)
            assert re.fullmatch(rf"file#{mine} is paused until \S+Z: an experiment", report.why)
        with host.following():
            report = await host.phase(js, "moving", channel=channel)
            assert report.why.endswith("Z: an experiment"), "it survives a restart"
            assert await trio.to_thread.run_sync(
                lambda: reactor("resume", "--state-dir", host.state).code == 0
            )
            report = await host.phase(js, "converged", channel=channel)
            assert (report.why, mine.read_text()) == ("", "mine")
