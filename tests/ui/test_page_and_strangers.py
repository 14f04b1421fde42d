"""The live page of a service and other users of the same host, who can reach every port on loopback."""

import re
import statistics
import time
from urllib.parse import urlsplit

import httpx
import pytest
from files_of_cli import put
from processes_of_cli import spawned, wait_until
from strangers import FLOODS, GUARD, as_root, ask_everything, flooded
from turns import turns

from reactor.control.listen_address import Address

ONE = 'resources:\n  - file:\n      - {dir}/a: { ensure: present, content: "only for root\\n", {own} }\n'
ROUTES = [
    ("GET", "/"), ("GET", "/page/main.js"), ("GET", "/graph"), ("GET", "/stream"), ("GET", "/events"),
    ("GET", "/resource?ref=file%23{dir}/a"), ("GET", "/page"), ("HEAD", "/graph"), ("POST", "/pause"), ("POST", "/resume"),
    ("OPTIONS", "/pause"),
]  # fmt: skip
STILL_THERE = 5.0
"""Seconds in which the owner of the run is answered meanwhile."""

AT_ONCE = 0.2
"""Seconds that a repair may take, whatever strangers do."""


class Page:
    """The page of a run, for its owner, who has read the address."""

    def __init__(self, process):
        told = re.search(r"http://\S+", process.stderr.readline().decode())
        self.url = told[0]
        parts = urlsplit(self.url)
        self.token = parts.query.removeprefix("token=")
        self.address = Address(parts.hostname, parts.port)

    def get(self, path):
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return httpx.get(f"http://{self.address}{path}", headers=headers, timeout=GUARD)

    def state(self, ref):
        return self.get("/graph").json()["status"][ref]["state"]


def repaired(path, text):
    """Seconds until a change is taken back."""
    put(path, "changed\n")
    began = time.monotonic()
    while path.read_text() != text:
        assert time.monotonic() < began + GUARD
        time.sleep(0.0005)
    return time.monotonic() - began


def median_repair(path):
    return statistics.median(repaired(path, "only for root\n") for _ in range(10))


def median_answer(page):
    """Seconds until the page is answered."""
    times = []
    for _ in range(10):
        began = time.monotonic()
        assert page.get("/graph").status_code == 200
        times.append(time.monotonic() - began)
    return statistics.median(times)


@as_root
def test_another_user_sees_nothing_and_pauses_nothing(tmp_path, manifest, state_directory):
    with spawned("run", "--ui", "127.0.0.1:0", manifest(ONE)) as process:
        page = Page(process)
        wait_until(lambda: page.state(f"file#{tmp_path}/a") in ("changed", "ok"))
        requests = [(method, path.replace("{dir}", str(tmp_path))) for method, path in ROUTES]
        answers = ask_everything(page.address, requests)
        assert [status for status, _, _ in answers] == [401] * len(ROUTES)
        for turn in turns(AT_ONCE):
            turn.seconds = repaired(tmp_path / "a", "only for root\n")
    for _, text, headers in answers:
        assert "only for root" not in text
        assert page.token not in text
        assert "set-cookie" not in headers
    assert not (state_directory / "pauses.json").exists()


@as_root
@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_of_another_user_locks_nothing_out_and_holds_up_no_repair(tmp_path, manifest, flood):
    with spawned("run", "--ui", "127.0.0.1:0", manifest(ONE)) as process:
        page = Page(process)
        wait_until(lambda: page.state(f"file#{tmp_path}/a") in ("changed", "ok"))
        with flooded(page.address, flood):
            for turn in turns(AT_ONCE):
                turn.seconds = median_repair(tmp_path / "a")
            for turn in turns(STILL_THERE):
                turn.seconds = median_answer(page)
        assert process.poll() is None
