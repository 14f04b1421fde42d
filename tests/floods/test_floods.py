"""Floods: whatever comes in masses, or never ends, keeps no other resource from being repaired within 0.2 s."""

import os
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest
from flood_worlds import managed, running
from line_pipe import started
from turns import turns

MOST = 0.2
"""Seconds."""
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

SERVER = """
import sys
sys.path.insert(0, {tests!r})
from raw_server import RawServer, answer, dripping, flooding
with RawServer({behave}) as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""


def stays_quick(prober):
    for turn in turns(MOST):
        turn.seconds = prober.probe(1)


def checked(count, **check):
    """Resources with a health check each, which is made again and again."""
    checks = [{"name": "it", "interval": "300ms", **check}]
    return [{"exec": {"name": f"no {n}", "command": "true", "health_checks": checks}} for n in range(count)]


@contextmanager
def asking(tmp_path, behave, count):
    """Health checks of a server that behaves so, in a process of its own."""
    code = SERVER.format(tests=os.path.dirname(os.path.dirname(__file__)), behave=behave)
    command = [sys.executable, "-c", code]
    with started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        url = server.stdout.readline().strip()
        rule = {"timeout": 2000, "body": ["x"]}
        try:
            yield checked(count, goss_rules={"http": {url: rule}})
        finally:
            server.kill()


SERVERS = {
    "that are silent": ('dripping(b"", b"", 60)', 200),
    "that drip a header": ('dripping(b"HTTP/1.1 200 OK\\r\\n", b"a: b\\r\\n", 0.2)', 200),
    "that drip a body": ('dripping(b"HTTP/1.1 200 OK\\r\\n\\r\\n", b"x", 0.2)', 200),
    "that send interim answers": ('flooding(b"", b"HTTP/1.1 100 C\\r\\n\\r\\n" * 2000)', 5),
    "that send chunks of a byte": (f"flooding({CHUNKED!r}, b'1\\r\\nx\\r\\n' * 5000)", 5),
    "that compress": ("answer(__import__('gzip').compress(bytes(64 << 20)), Content_Encoding='gzip')", 20),
}


@pytest.mark.parametrize("which", SERVERS)
def test_health_checks_of_servers_delay_no_repair(tmp_path, which):
    behave, count = SERVERS[which]
    with asking(tmp_path, behave, count) as resources, running(tmp_path, resources) as prober:
        stays_quick(prober)


def test_many_slow_health_checks_delay_no_repair(tmp_path):
    """They are more than there are jobs, and than there are threads."""
    with running(tmp_path, checked(100, command="sleep 3")) as prober:
        stays_quick(prober)


def test_a_health_check_that_prints_without_end_delays_no_repair(tmp_path):
    with running(tmp_path, checked(1, command="cat /dev/zero", timeout="2s")) as prober:
        stays_quick(prober)


@pytest.mark.parametrize("command", ["yes", "cat /dev/zero"])
def test_a_command_that_prints_without_end_delays_no_repair(tmp_path, command):
    loud = {"exec": {"name": "loud", "command": command, "timeout": "60s"}}
    with running(tmp_path, [loud]) as prober:
        stays_quick(prober)
        assert (tmp_path / "output").stat().st_size < 100 << 20


def fill(directory, count):
    directory.mkdir()
    for number in range(count):
        (directory / f"f{number:06}").touch()


@contextmanager
def repeated(act, pause):
    """Call ``act`` with 0, 1, 2 ... in a thread while the block lasts."""
    over = threading.Event()

    def work():
        number = 0
        while not over.wait(pause):
            act(number)
            number += 1

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_foreign_files_in_the_target_of_a_scaffold_delay_no_repair(tmp_path):
    fill(tmp_path / "out", 100_000)
    fill(tmp_path / "templates", 1)
    scaffold = {"name": str(tmp_path / "out"), "ensure": "present", "source": str(tmp_path / "templates")}
    another_directory = repeated(lambda number: (tmp_path / "out" / f"d{number}").mkdir(), 0.2)
    # Another directory makes the run look at the whole tree.
    with running(tmp_path, [{"scaffold": scaffold}]) as prober, another_directory:
        stays_quick(prober)


def test_a_directory_of_100000_files_beside_a_managed_one_delays_no_repair(tmp_path):
    fill(tmp_path / "full", 100_000)
    drift = repeated(lambda _: (tmp_path / "full" / "x").write_text("wrong"), 0.2)
    with running(tmp_path, [{"file": managed(tmp_path / "full" / "x", "x")}]) as prober, drift:
        stays_quick(prober)
