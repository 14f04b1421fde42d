"""Metrics as Prometheus gets them, over the socket and over TCP, from a running engine."""

import json
import os
import re
import socket
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trio
from control_worlds import controlled
from ports import free_port
from processes_of_cli import environment, finish, refused, spawned, wait_until
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from scrapes import scrape_port, scrape_socket, scraped

from reactor.control.listen_address import Address, AddressError, parse_address
from reactor.control.tcp_listener import MetricsPort
from reactor.engine.events import Cause
from reactor.testing.scripted import scripted

LOOPBACK = Address("127.0.0.1", 0)
PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()


@asynccontextmanager
async def shown(world, token=None):
    """The metrics of a world on a port of their own."""
    port = MetricsPort(LOOPBACK, token)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(port.run, world.tally, world.engine, world.told.append)
        yield port.address
        nursery.cancel_scope.cancel()
    port.close()


async def test_every_series_is_there_before_anything_has_happened(tmp_path):
    async with controlled(tmp_path, scripted("a", takes=3600)):
        found = await scraped(scrape_socket, tmp_path)
    assert found.status == 200
    for result in ("ok", "changed", "would_change", "failed"):
        assert found["reactor_checks_total", "scripted", result] == 0
    for cause in Cause:
        assert found["reactor_changes_total", cause.name.lower()] == 0
    assert found["reactor_refreshes_total"] == found["reactor_audit_found_total"] == 0
    assert found["reactor_drift_repair_check_seconds_count"] == 0
    assert found["reactor_resources"] == found["reactor_generation"] == 1
    assert found["reactor_converged"] == 0


async def test_what_happened_is_in_the_numbers(tmp_path):
    good, bad = scripted("good"), scripted("bad", failures=99)
    below, user = scripted("low", require=["scripted#bad"]), scripted("user", subscribe=["scripted#good"])
    async with controlled(tmp_path, good, bad, below, user) as world:
        await world.story.rest()
        world.engine.dispatcher.pause(0)
        found = await scraped(scrape_socket, tmp_path)
    assert found["reactor_checks_total", "scripted", "changed"] == 2
    assert found["reactor_checks_total", "scripted", "failed"] >= 1
    assert found["reactor_changes_total", "initial"] == 2
    assert found["reactor_refreshes_total"] == 1
    assert found["reactor_resources_failed"] == found["reactor_resources_blocked"] == 1
    assert found["reactor_converged"] == 0


async def test_a_refresh_is_pending_until_it_is_made(tmp_path):
    changed, pending_refreshes = scripted("a"), scripted("b", subscribe=["scripted#a"])
    async with controlled(tmp_path, changed, pending_refreshes) as world:
        await world.story.converged()
        assert (await scraped(scrape_socket, tmp_path))["reactor_refreshes_pending"] == 0
        world.engine.dispatcher.pause(1)
        world.engine.dispatcher.mark(1, Cause.REFRESH)
        found = await scraped(scrape_socket, tmp_path)
        assert found["reactor_refreshes_pending"] == found["reactor_resources_in_motion"] == 1
        world.engine.dispatcher.unpause(1)
        await world.story.converged(2)
        found = await scraped(scrape_socket, tmp_path)
    assert found["reactor_refreshes_pending"] == found["reactor_resources_in_motion"] == 0
    assert found["reactor_refreshes_total"] == 2
    assert found["reactor_converged"] == 1


async def test_the_port_shows_the_same_and_nothing_else(tmp_path):
    async with controlled(tmp_path, scripted("a")) as world, shown(world) as address:
        await world.story.converged()
        over_socket = await scraped(scrape_socket, tmp_path)
        over_port = await scraped(scrape_port, address)
        elsewhere = [(await scraped(scrape_port, address, path)).status for path in ("/", "/v1/status")]
    own = {key: n for key, n in over_socket.samples.items() if not key[0].startswith("reactor_process_")}
    assert {key: over_port.samples[key] for key in own} == own
    assert over_port.samples.keys() == over_socket.samples.keys()
    assert elsewhere == [404, 404]


async def test_without_a_token_only_names_of_this_host_are_answered(tmp_path):
    async with controlled(tmp_path, scripted("a")) as world, shown(world) as address:
        refused = await scraped(scrape_port, address, Host=f"evil.example:{address.port}")
        allowed = await scraped(scrape_port, address, Host=f"127.0.0.1:{address.port}")
    assert (refused.status, allowed.status) == (421, 200)
    assert "reactor_" not in refused.text


async def test_with_a_token_any_name_is_answered(tmp_path):
    known = {"Authorization": "Bearer hunter2hunter2hunter2", "Host": "web1.example"}
    async with controlled(tmp_path, scripted("a")) as world, shown(world, "hunter2hunter2hunter2") as address:
        assert (await scraped(scrape_port, address, **known)).status == 200


@pytest.mark.parametrize("sent", [None, "Bearer wrong", "Bearer ", "Basic hunter2hunter2hunter2", "Bearer ä"])
async def test_without_the_token_nothing_is_shown(tmp_path, sent):
    headers = {} if sent is None else {"Authorization": sent.encode("utf-8")}
    async with controlled(tmp_path, scripted("a")) as world, shown(world, "hunter2hunter2hunter2") as address:
        refused = await scraped(scrape_port, address, **headers)
        allowed = await scraped(scrape_port, address, Authorization="Bearer hunter2hunter2hunter2")
    assert (refused.status, refused.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert "reactor_" not in refused.text
    assert allowed.status == 200


async def test_a_user_who_prefers_openmetrics_gets_it(tmp_path):
    accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
    async with controlled(tmp_path, scripted("a")) as world:
        await world.story.converged()
        found = await scraped(scrape_socket, tmp_path, accept=accept)
    assert found.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    assert "reactor_checks" in {family.name for family in openmetrics_families(found.text)}


async def test_no_series_is_about_a_single_resource(tmp_path):
    async with controlled(tmp_path, *(scripted(f"name-of-{n}") for n in range(50))) as world:
        await world.story.converged()
        found = await scraped(scrape_socket, tmp_path)
    assert "name-of-" not in found.text
    assert len(found.samples) < 200


async def test_every_metric_is_documented_with_its_labels(tmp_path):
    async with controlled(tmp_path, scripted("a")):
        found = await scraped(scrape_socket, tmp_path)
    rows = re.findall(r"^\| `(reactor\w*?)(?:\{([\w, ]*)\})?` \|", PAGE, re.MULTILINE)
    documented = {name: set(labels.split(", ")) if labels else set() for name, labels in rows}
    served = {
        family.name + "_total" * (family.type == "counter"): family.samples[0].labels.keys() - {"le"}
        for family in found.families.values()
        if not family.name.startswith("reactor_process_")
    }
    assert documented == served


# ---- addresses ----


@pytest.mark.parametrize(
    ("text", "address", "loopback"),
    [
        ("127.0.0.1:9469", Address("127.0.0.1", 9469), True),
        ("localhost:0", Address("127.0.0.1", 0), True),
        ("[::1]:9469", Address("::1", 9469), True),
        ("127.9.9.9:1", Address("127.9.9.9", 1), True),
        ("0.0.0.0:80", Address("0.0.0.0", 80), False),
        ("[::]:80", Address("::", 80), False),
        ("192.0.2.1:65535", Address("192.0.2.1", 65535), False),
    ],
)
def test_an_address_is_read_and_written_the_same(text, address, loopback):
    assert parse_address(text) == address
    assert address.is_loopback is loopback
    assert parse_address(str(address)) == address


@pytest.mark.parametrize(
    "text",
    ["", "9469", ":9469", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "::1:9469", "[::1]",
     "host.example:9469", "127.0.0.1:-1", "127.0.0.1:\N{FULLWIDTH DIGIT NINE}469", "[127.0.0.1:1"],
)  # fmt: skip
def test_what_is_no_address_is_refused_with_what_one_looks_like(text):
    with pytest.raises(AddressError, match=r"127\.0\.0\.1:9469|65535"):
        parse_address(text)


# ---- the command line ----

TOKEN = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def manifest(tmp_path):
    path = tmp_path / "site.yaml"
    own = f'owner: "{os.getuid()}", group: "{os.getgid()}", mode: "0644"'
    path.write_text(
        f"resources:\n  - file:\n      - {tmp_path}/a: {{ ensure: present, content: x, {own} }}\n"
    )
    return path


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--metrics", "9469"], "'9469' is not HOST:PORT, as in 127.0.0.1:9469"),
        (["--metrics", "0.0.0.0:9469"], "set a token with --metrics-token-file, or listen on 127.0.0.1"),
        (["--metrics", "127.0.0.1:0", "--converge-once"], "remove --converge-once"),
        (["--metrics-token-file", "{dir}/token"], "--metrics-token-file needs --metrics"),
        (["--metrics-compat", "ccm"], "--metrics-compat needs --metrics"),
        (["--metrics", "[::]:1", "--metrics-token-file", "{dir}/none"], "none"),
        (["--metrics", "[::]:1", "--metrics-token-file", "{dir}/short"], "openssl rand -hex 32"),
        (["--metrics", "[::]:1", "--metrics-token-file", "{dir}/lines"], "openssl rand -hex 32"),
        (["--metrics", "[::]:1", "--metrics-token-file", "{dir}/bytes"], "is not UTF-8 text"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_anything_happens(
    tmp_path, manifest, options, complaint
):
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "short").write_text("abc")
    (tmp_path / "lines").write_text(f"{TOKEN}\n{TOKEN}\n")
    (tmp_path / "bytes").write_bytes(b"\xff" * 40)
    done = refused(manifest, *(option.replace("{dir}", str(tmp_path)) for option in options))
    assert done.code == 2
    assert complaint in " ".join(done.err.split())
    assert "Traceback" not in done.err
    assert not (tmp_path / "a").exists()


def test_a_port_that_is_taken_ends_the_command(tmp_path, manifest):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = refused(manifest, "--metrics", f"127.0.0.1:{port}")
    assert done.code == 2
    assert f"error[R0704]: can't listen on 127.0.0.1:{port}: Address already in use" in done.err
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_run_reports_which_port_it_got(manifest, form):
    with spawned("run", manifest, "--metrics", "127.0.0.1:0", "--format", form) as process:
        told = process.stderr.readline().decode()
        url = re.fullmatch(r"reactor: the metrics are at (http://127\.0\.0\.1:[1-9][0-9]*/metrics)\n", told)[
            1
        ]
        assert wait_until(lambda: scrape_port(Address("127.0.0.1", urlsplit(url).port)))
        process.terminate()
        records = [json.loads(line) for line in finish(process).out.splitlines()] if form == "json" else []
    assert [record["url"] for record in records if record["event"] == "metrics"] == [url] * bool(records)


@pytest.mark.parametrize("mode", [[], ["--noop"]])
def test_a_run_shows_its_metrics_where_it_was_configured_to_and_frees_the_port(tmp_path, manifest, mode):
    address = Address("127.0.0.1", free_port())
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    options = ["--metrics", address, "--metrics-token-file", tmp_path / "token", "--format", "json", *mode]
    with spawned(
        "run", manifest, *options, env=environment(REACTOR_STATE_DIR=str(tmp_path / "state"))
    ) as process:
        for line in process.stdout:
            if json.loads(line)["event"] in ("converged", "checked"):
                break
        found = wait_until(lambda: scrape_port(address, Authorization=f"Bearer {TOKEN}"))
        process.terminate()
        assert finish(process).code == 0
    result = "would_change" if mode else "changed"
    assert found["reactor_checks_total", "file", result] == 1
    assert found["reactor_process_resident_memory_bytes"] > 1e6
    socket.create_server((address.host, address.port)).close()
