"""The page of a fleet in the real browser: 10,000 hosts, of which only those that are not well are listed."""

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
import trio
from fleet_server import FleetServer
from known_fleet import NOSPACE, put_host, put_state, remember, state, summary

from reactor.fleet.bucket_names import SECRETS, STATE
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.operator.explanation import TWIN
from reactor.fleet.rollout.hosts import HostPhase
from reactor.fleet.sealed_secret import OPERATORS, SealedSecret

HOSTS = 10_000


async def filled(server):
    await server.make_streams()
    async with server.connected() as js:
        await put_state(js, state(why="<b>bold</b>"))
        for number in range(HOSTS):
            name = f"web-{number}"
            told = summary(name)
            if number % 2500 == 0:
                told = summary(name, HostPhase.FAILED, why="<img src=x>", worst=[NOSPACE], lost=1)
            await js.connection.publish(f"$KV.reactor_hosts.{name}", HostSpec(name, ("web",)).to_bytes())
            await js.connection.publish(f"$KV.{STATE}.{name}", told.to_bytes())
        await js.connection.flush(30)
        await put_host(js, "late", summary("late", twin=True))
        await js.key_value(STATE).put("stranger", summary("stranger").to_bytes())
        wanted = SealedSecret(OPERATORS, "db-password", "late", b"sealed")
        await js.key_value(SECRETS).put(f"{OPERATORS}.db-password", wanted.to_bytes())


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    server = FleetServer(tmp_path_factory.mktemp("fleet"))
    with server.server:
        trio.run(filled, server)
        command = [
            sys.executable,
            "-m",
            "reactor",
            "fleet",
            "serve",
            "--home",
            remember(server),
            "127.0.0.1:0",
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            line = process.stdout.readline()
            yield server, re.search(r"http://\S+", line)[0]
            process.terminate()


def get(url, token=None, path=""):
    root = url.partition("/?")[0]
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with urllib.request.urlopen(urllib.request.Request(f"{root}{path}", headers=headers)) as answer:
        return answer.read().decode()


def test_only_hosts_that_are_not_well_are_listed_and_changes_arrive(tab, served):
    server, url = served
    tab.open(url)
    tab.wait("document.querySelectorAll('tbody tr').length === 4")
    assert tab.text("#total") == f"{HOSTS + 1} hosts"
    assert "9997 converged, 4 failed" in tab.text("h2")
    assert "ok max_failed: " in tab.text(".conditions")
    assert "waits soak: 60 s" in tab.text(".conditions")
    assert f"4 hosts {NOSPACE[0]}" in re.sub(r"\s+", " ", tab.text("#failures"))
    assert tab.text(".lacks") == "late lacks secret db-password"
    assert tab.text(".twins") == f"late: {TWIN}"
    assert tab.text("#unknown ul") == "stranger"
    # What hosts and operators write is text.
    assert tab.evaluate("document.querySelectorAll('img, b').length") == 0
    assert "<img src=x>" in tab.text("tbody")

    async def change():
        async with server.connected() as js:
            await js.key_value(STATE).put(
                "late", summary("late", HostPhase.REJECTED, why="line 3").to_bytes()
            )

    trio.run(change)
    tab.wait("document.querySelectorAll('tbody tr').length === 5")
    tab.evaluate(
        "(document.getElementById('search').value = 'late', document.getElementById('search').dispatchEvent(new Event('input')))"
    )
    assert tab.evaluate(
        "[...document.querySelectorAll('tbody tr')].map((row) => row.cells[0].textContent)"
    ) == ["late"]


def test_metrics_and_page_need_the_token(served):
    _, url = served
    token = url.partition("token=")[2]
    for path in ("/", "/metrics", "/fleet", "/stream"):
        with pytest.raises(urllib.error.HTTPError, match="401"):
            get(url, path=path)
    text = get(url, token, "/metrics")
    for line in (
        'reactor_fleet_hosts{channel="web",phase="failed"} 4.0',
        'reactor_fleet_wave{channel="web"} 0.5',
        'reactor_fleet_rollout_state{channel="web",state="rolling"} 1.0',
        'reactor_fleet_rollout_state{channel="web",state="halted"} 0.0',
        "reactor_fleet_events_lost_total 4.0",
    ):
        assert line in text.splitlines(), text
    assert float(re.search(r"^reactor_fleet_oldest_summary_seconds (\S+)", text, re.MULTILINE)[1]) < 120
    found = json.loads(get(url, token, "/fleet"))
    assert found["channels"][0]["unwell_count"] in (4, 5)
