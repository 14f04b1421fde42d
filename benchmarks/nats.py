"""What the link to NATS costs and how soon it is back: import, memory, wake-ups, reconnection, objects, a cluster.

The link is measured in a process that has loaded the engine before, as a run has. Idle is a connection with the watch of
one bucket. The cluster has three servers on this machine; its leader is killed while one client writes.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import trio
from _harness import ROOT, Row, arguments, show, workspace
from idle import status_field, switches

sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT / "tests/fleet"))

from buckets import make_bucket, make_store
from nats_servers import Cluster, NatsServer
from outages import leader_dies

from reactor.fleet.link.connection import connected
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.options import Options

OBJECT_MIB = 20

IDLE = """
import json, os, sys, time
import trio, reactor.engine.engine, reactor.loading
def memory():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS"))
before, began = memory(), time.perf_counter()
from reactor.fleet.link.connection import connected
from reactor.fleet.link.context import read_context
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.options import Options
import reactor.fleet.link.key_value, reactor.fleet.link.objects
seconds = time.perf_counter() - began
async def main():
    async with connected(Options(servers=(sys.argv[1],))) as link:
        async with JetStream(link).key_value("idle").watch() as watch:
            await anext(watch)
            print(json.dumps([seconds, memory() - before]), flush=True)
            await anext(watch)
trio.run(main)
"""


def idle(url: str, seconds: float) -> tuple[float, float, float]:
    """Milliseconds of the import, MB, and wake-ups a second of one idle link."""
    command = [sys.executable, "-c", IDLE, url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        took, memory = json.loads(process.stdout.readline())
        time.sleep(1)
        before = switches(process.pid)
        time.sleep(seconds)
        wakeups = (switches(process.pid) - before) / seconds
        assert status_field(process.pid, "Threads") < 10
        process.kill()
    return took * 1000, memory / 1024, wakeups


async def make_idle_bucket(url: str) -> None:
    """Make what the idle link watches."""
    async with connected(Options(servers=(url,))) as link:
        await make_bucket(JetStream(link).key_value("idle"))


async def restarts(server: NatsServer, count: int) -> list[float]:
    """Seconds from a started server to the next change that a watch of before has heard."""
    times: list[float] = []
    async with connected(Options(servers=(server.url,))) as link:  # noqa: SIM117 - the lines would be too long
        async with JetStream(link).key_value("idle").watch() as watch:
            while await anext(watch) is not None:
                pass
            for number in range(count):
                server.kill()
                server.start()
                began = time.perf_counter()
                async with connected(Options(servers=(server.url,))) as other:
                    await JetStream(other).key_value("idle").put("k", b"%d" % number)
                entry = await anext(watch)
                assert entry is not None
                assert entry.value == b"%d" % number
                times.append(time.perf_counter() - began)
    return times


DATA = ("${ Data.value }", "data: {value: '%d'}", ("--hiera", "kv://site/data"))
VALUE = ("${ kvGet('site', 'data') }", "%d", ())
"""What the content of a file is, what is put into the key, and the options of the run."""


async def to_converged(
    url: str, directory: Path, count: int, what: tuple[str, str, tuple[str, ...]]
) -> list[float]:
    """Milliseconds from a put to the end of the work of a run that follows the key. ``what``: `DATA` or `VALUE`."""
    content, value, options = what
    own = f"owner: '{os.getuid()}', group: '{os.getgid()}', mode: '0644', ensure: present"
    manifest, context = directory / "m.yaml", directory / "nats/context/CCM.json"
    manifest.write_text(f"resources: [{{file: [{{'{directory}/out': {{{own}, content: \"{content}\"}}}}]}}]")
    context.parent.mkdir(parents=True)
    context.write_text(json.dumps({"url": url}))
    words = ["run", "--format", "json", "--cache", directory / "cache", "--state-dir", directory / "state"]
    command = [sys.executable, "-m", "reactor", *words, *options, manifest]
    times: list[float] = []
    async with connected(Options(servers=(url,))) as link:
        bucket = JetStream(link).key_value("site")
        await make_bucket(bucket)
        await bucket.put("data", (value % 0).encode())
        variables = {**os.environ, "XDG_CONFIG_HOME": str(directory)}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables) as process:  # noqa: ASYNC220
            assert process.stdout is not None
            converged = (line for line in process.stdout if json.loads(line)["event"] == "converged")
            next(converged)
            for number in range(1, count + 2):
                began = time.perf_counter()
                await bucket.put("data", (value % number).encode())
                while (directory / "out").read_text() != str(number):
                    await trio.to_thread.run_sync(next, converged)
                times.append((time.perf_counter() - began) * 1000)
            process.terminate()
            process.stdout.read()
    return times[1:]  # the watch may not have been there for the first


async def objects(url: str) -> tuple[float, float]:
    """MB/s of a put and of a get."""
    content = os.urandom(OBJECT_MIB << 20)
    async with connected(Options(servers=(url,))) as link:
        store = JetStream(link).objects("speed")
        await make_store(store)
        began = time.perf_counter()
        await store.put("x", content)
        put = time.perf_counter()
        assert await store.read("x", largest=len(content)) == content
        return OBJECT_MIB / (put - began), OBJECT_MIB / (time.perf_counter() - put)


def cluster(directory: Path, rounds: int) -> tuple[list[float], list[float]]:
    """For each killed leader: the longest gap in acknowledged writes, and how much of it came after the election."""
    gaps, lags = [], []
    with Cluster(directory) as running:
        for number in range(rounds):
            gap, traffic, leader = trio.run(partial(leader_dies, running, f"B{number}", after=1.0))
            gaps.append(gap)
            lags.append(traffic.lag)
            leader.start()
    return gaps, lags


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__)
    seconds, count, rounds = (20.0, 5, 1) if options.quick else (120.0, 15, 10)
    with workspace(options.dir) as space:
        with NatsServer(space / "one") as server:
            trio.run(make_idle_bucket, server.url)
            costs = [idle(server.url, 0.1) for _ in range(5)]
            wakeups = idle(server.url, seconds)[2]
            back = trio.run(restarts, server, count)
            put, get = trio.run(objects, server.url)
            reactions = []
            for name, what in (("data", DATA), ("value", VALUE)):
                (space / name).mkdir()
                reactions.append(sorted(trio.run(to_converged, server.url, space / name, 10 * count, what)))
        gaps, lags = cluster(space / "three", rounds)
    show(
        "nats: the link",
        [
            Row("import, beside a run", statistics.median(cost[0] for cost in costs), "ms", 60),
            Row("memory, beside a run", statistics.median(cost[1] for cost in costs), "MB", 12),
            Row(f"wake-ups in {seconds:g} s", wakeups, "/s", 0.2),
            Row("server killed and started: next change heard, median", statistics.median(back), "s", 0.5),
            Row("the same, last", max(back), "s"),
            Row(
                "put of data: converged on a running host, median", statistics.median(reactions[0]), "ms", 30
            ),
            Row("the same, 99 of 100", reactions[0][len(reactions[0]) * 99 // 100], "ms", 150),
            Row("put of a key for kvGet: the same, median", statistics.median(reactions[1]), "ms", 30),
            Row("the same, 99 of 100", reactions[1][len(reactions[1]) * 99 // 100], "ms", 150),
            Row(f"put of {OBJECT_MIB} MiB", put, "MB/s"),
            Row(f"get of {OBJECT_MIB} MiB", get, "MB/s"),
            Row("three nodes, leader killed: gap in writes, median", statistics.median(gaps), "s", 6),
            Row("the same, longest", max(gaps), "s"),
            Row(f"the same, of {rounds} how many above 6 s", sum(gap > 6 for gap in gaps), ""),
            Row("of it after the election, longest", max(lags), "s"),
        ],
    )


if __name__ == "__main__":
    main()
