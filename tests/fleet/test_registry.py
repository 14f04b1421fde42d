"""Registrations: the bytes of CCM by vectors from Go, and what a run publishes to a real server."""

import json
import os
import signal
from pathlib import Path

import pytest
import trio
from nats_servers import PATIENCE, NatsServer
from nats_site import on
from processes_of_cli import finish

from reactor.fleet.link.direct_get import last_messages
from reactor.fleet.registry.entry import Entry, filter_subject, fnv1a, go_duration, parse_entry
from reactor.fleet.registry.file_sd import file_sd
from reactor.fleet.registry.stream import look_up, make_stream, remove

VECTORS = json.loads((Path(__file__).parent / "recorded/registrations.json").read_text())
"""Written by ``recorded/registrations.go``."""


@pytest.mark.parametrize("vector", VECTORS["entries"], ids=lambda vector: vector["instance"])
def test_bodies_and_instances_are_those_of_go(vector):
    entry = parse_entry(vector["body"].encode())
    assert (entry.body.decode(), entry.instance) == (vector["body"], vector["instance"])


def test_hashes_and_durations_are_those_of_go():
    assert {text: fnv1a(text.encode()) for text in VECTORS["fnv"]} == VECTORS["fnv"]
    assert {each: go_duration(float(each)) for each in VECTORS["durations"]} == VECTORS["durations"]


def test_targets_are_those_of_go():
    entry = Entry("prod", "web", "x", "10.0.0.1", 80, 1, {"prometheus.io/scrape": "true", "note": "a<b"})
    assert file_sd([entry]) == VECTORS["file_sd"].replace('"service"', '"protocol": "x",\n      "service"')
    assert file_sd([]) == "[]"


@pytest.mark.parametrize(
    ("service", "annotations", "is_target"),
    [
        ("prometheus", {}, True),
        ("prometheus", {"prometheus.io/scrape": "false"}, False),
        ("web", {}, False),
        ("web", {"prometheus.io/scrape": "true"}, True),
    ],
)
def test_prometheus_scrapes_what_asks_for_it_and_has_a_port(service, annotations, is_target):
    entry = Entry("c", service, "tcp", "10.0.0.1", 80, 1, annotations)
    assert bool(json.loads(file_sd([entry]))) is is_target
    assert file_sd([entry._replace(port=None)]) == "[]"


def test_labels_are_valid_and_not_empty():
    odd = {"prometheus.io/scrape": "true", "ok_1": "x", "1st": "x", "__own": "x", "empty": "", "a-b": "x"}
    [group] = json.loads(file_sd([Entry("c", "web", "tcp", "10.0.0.1", 80, 1, odd)]))
    assert group["labels"] == {"cluster": "c", "service": "web", "protocol": "tcp", "ok_1": "x"}


def test_a_subject_names_what_is_registered_and_nothing_with_wildcards():
    assert Entry("c", "web", "tcp", "10.0.0.1", 80, 1).subject.startswith(
        "choria.ccm.registration.v1.c.tcp.web.10_0_0_1."
    )
    assert ".2001:db8::1." in Entry("c", "web", "tcp", "2001:db8::1", 80, 1).subject
    assert filter_subject("", "*", "web", "10.0.0.1") == "choria.ccm.registration.v1.*.*.web.10_0_0_1.*"
    for bad in ("a.b", "a b", ">", "a*"):
        with pytest.raises(ValueError, match="can't be part of a registration"):
            filter_subject(bad, "*", "*", "*")


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"port": "x"}', b'{"cluster": 1}', b"[" * 100_000])
def test_what_is_no_entry_is_refused(body):
    with pytest.raises(ValueError, match=r"it is not|wrong type"):
        parse_entry(body)


OWN = f"owner: '{os.getuid()}', group: '{os.getgid()}', mode: '0644', ensure: present"


def declared(site, cluster, check="/bin/true", content="x", *, priority=10, ttl="10m"):
    """A manifest with one file that registers a service of ``cluster`` when the command ``check`` succeeds."""
    entry = f"{{cluster: {cluster}, service: web, protocol: http, address: 192.0.2.1, port: 80, priority: {priority}, ttl: {ttl}}}"
    path = site.root / "m.yaml"
    path.write_text(
        f"resources:\n  - file:\n      - {site.root}/out:\n          {{{OWN}, content: '{content}',\n"
        f"           health_checks: [{{command: {check}}}], register_when_stable: [{entry}]}}\n"
    )
    return path


@pytest.fixture(scope="module")
def registry(server):
    on(server, lambda js: make_stream(js, max_age=3600))


def registered(site, cluster):
    subject = filter_subject(cluster, "*", "*", "*")
    return on(site.server, lambda js: last_messages(js, "REGISTRATION", [subject]))


def test_a_stable_resource_is_registered_as_ccm_does(site, registry, reactor):
    path = declared(site, "stable")
    done = reactor("run", "--converge-once", "--registration", "jetstream", path)
    assert (done.code, done.err) == (0, "")
    [stored] = registered(site, "stable")
    entry = Entry("stable", "web", "http", "192.0.2.1", 80, 10, {}, "10m0s")
    assert (stored.subject, stored.data) == (entry.subject, entry.body)
    own = {name: value for name, value in stored.headers.items() if name in ("Nats-TTL", "Nats-Rollup")}
    assert own == {"Nats-TTL": "10m0s", "Nats-Rollup": "sub"}


def test_what_is_not_stable_is_not_registered(site, registry, reactor):
    options = ("run", "--converge-once", "--registration", "jetstream")
    assert reactor(*options, "--noop", declared(site, "noop")).code == 0
    assert reactor(*options, declared(site, "unhealthy", "/bin/false")).code == 1
    skipped = declared(site, "skipped")
    skipped.write_text(skipped.read_text().replace("content:", "control: {if: 'false'}, content:"))
    assert reactor(*options, skipped).code == 0
    for cluster in ("noop", "unhealthy", "skipped"):
        assert registered(site, cluster) == []


def test_without_a_stream_it_says_how_to_make_one(site, reactor):
    path = declared(site, "none")
    options = ("--registration", "jetstream", "--registration-stream", "OTHER")
    done = reactor("run", "--converge-once", *options, path)
    assert "there is no stream OTHER for registrations" in done.out + done.err
    assert "reactor registration init" in done.out + done.err


def test_a_running_converger_registers_after_each_check(site, registry, converger):
    run = converger("--registration", "jetstream", declared(site, "running"))
    entry = Entry("running", "web", "http", "192.0.2.1", 80, 10, {}, "10m0s")

    async def seen(js):
        async with js.reading("REGISTRATION", [entry.subject]) as messages:
            async for message in messages:
                if message is not None and message.data == entry.body:
                    return

    on(site.server, seen)
    on(site.server, lambda js: remove(js, entry))
    (site.root / "out").write_text("drift")
    on(site.server, seen)
    assert on(site.server, lambda js: look_up(js, ["running", "*", "*", "*"])) == [entry]
    run.process.send_signal(signal.SIGTERM)
    assert finish(run.process).code == 0


def heard(server, entry, count, act):
    """What a plain subscriber hears of an entry while ``act`` runs in a thread, up to ``count`` messages, and when."""

    async def listen(js):
        found = []
        async with trio.open_nursery() as nursery:
            with js.connection.messages(entry.subject) as messages, trio.fail_after(PATIENCE):
                await js.connection.flush()
                nursery.start_soon(trio.to_thread.run_sync, act)
                async for message in messages:
                    found.append((message, trio.current_time()))
                    if len(found) == count:
                        break
        return found

    return on(server, listen)


def test_over_plain_nats_it_is_published_without_headers(site, registry, converger):
    entry = Entry("plain", "web", "http", "192.0.2.1", 80, 10, {}, "10m0s")
    path = declared(site, "plain")
    options = ("--registration", "nats", "--converge-once")
    [(message, _)] = heard(site.server, entry, 1, lambda: converger(*options, path))
    assert (message.data, dict(message.headers)) == (entry.body, {})


def test_it_is_published_again_at_a_third_of_its_time_to_live(site, registry, converger):
    entry = Entry("again", "web", "http", "192.0.2.1", 80, 10, {}, "6s")
    path = declared(site, "again", ttl="6s")
    found = heard(site.server, entry, 3, lambda: converger("--registration", "nats", path))
    assert {message.data for message, _ in found} == {entry.body}
    # The second may come a second after the first: the run hears what it wrote itself, and checks the file again.
    _, (_, sooner), (_, later) = found
    assert 1 <= later - sooner < 6


def test_after_an_outage_only_the_newest_is_sent(tmp_path, site, converger):
    with NatsServer(tmp_path / "own") as server:
        other = site.at(server)
        on(server, make_stream)
        run = converger("--registration", "jetstream", declared(other, "back"))
        subject = Entry("back", "web", "http", "192.0.2.1", 80, 10, {}, "10m0s").subject
        on(server, lambda js: stored_at(js, subject, 10))
        server.kill()
        run.warned("the NATS server")
        for priority in (20, 30):
            declared(other, "back", priority=priority, content=priority)
            run.heard("reloaded")
            run.heard("converged")
        server.start()
        assert on(server, lambda js: stored_at(js, subject, 30)) == 2


async def stored_at(js, subject, priority):
    """Wait until the registration with this priority is stored; return its sequence in the stream."""
    async with js.reading("REGISTRATION", [subject]) as messages:
        async for message in messages:
            if message is not None and json.loads(message.data)["priority"] == priority:
                return message.sequence
    raise AssertionError("the reading ended")
