"""What a fleet costs and how fast it is, with simulated hosts on one real server.

The hosts have the real link and the real host's side, with a dict for a disk and a run that converges at once. A process has
the half of them, so most of the times are its processor time: that of one host is the five hundredth part. The server is a
process of its own, and so is the driver. ``--hosts N`` sets the number of hosts; 10,000 need ``ulimit -n 20000``, and report as
seldom as real hosts. ``--known`` only stores 10,000 summaries, and times the commands that read them.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import trio
from _fleet_hosts import Parts, hosts_in_processes
from _harness import ROOT, Row, argument_parser, percentile, progress, show, workspace

sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT / "tests/fleet"))

from known_fleet import NOSPACE, put_state, remember, state, summary
from sim_fleet import SimFleet

from reactor.fleet.bucket_names import CHANNELS, STATE
from reactor.fleet.host.ports import Pace
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.operator.channels import Channels
from reactor.fleet.rollout.gate import Gate
from reactor.fleet.rollout.hosts import HostPhase
from reactor.fleet.rollout.state import ChannelState, Phase

KNOWN = 10_000
WAVES = (100, 1000, 5000, 10_000)
BUNDLE_MB = 20
BARS_FOR = 1000
"""The number of hosts for which the specification has limits of time: those of more take turns in the process."""
PACE = Pace(summary=0.02, burst=100)
"""Without a reason, a host looks and reports as seldom as a real one; with one, it reports at once each time."""
MANY = 2000
"""With more hosts than this, each reports as seldom as a real one, and waits longer for its turn in the process."""
PROCESSES = 2
"""Of the hosts: as many as there are cores, which they share with the server."""
MANY_PACE = Pace(burst=100, answer=300.0)


def memory_of(pid: int) -> float:
    """Resident kilobytes of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("VmRSS")))


def new_fleet(directory: Path, hosts: int) -> Any:
    """Hosts whose server is not started yet."""
    fleet = SimFleet(
        directory, [f"h{number}" for number in range(hosts)], pace=MANY_PACE if hosts > MANY else PACE
    )
    if hosts > MANY:
        with open(fleet.fleet_server.server.directory / "server.conf", "a") as file:
            file.write("authorization { timeout: 120 }\n")
    return fleet


def made(directory: Path) -> Path:
    directory.mkdir()
    return directory


async def driven(fleet: Any, js: Any) -> Any:
    """Drive the channel in another process, as an operator does; return its state when it has ended.

    In the process of the hosts, the driver would wait behind them until its lease has ended.
    """
    command = [sys.executable, "-m", "reactor", "fleet", "drive", "web", "--until-ended"]
    with trio.fail_after(180 * max(1.0, len(fleet.hosts) / 1000)):
        await trio.run_process(
            [*command, "--home", remember(fleet.fleet_server)], check=False, capture_stdout=True
        )
    return (await Channels(js).read("web"))[0]


async def known_hosts(js: Any) -> float:
    """Store 10,000 specs and summaries; return how many summaries a second the server took."""
    connection = js.connection
    for number in range(KNOWN):
        name = f"web-{number}"
        await connection.publish(f"$KV.reactor_hosts.{name}", HostSpec(name, ("web",), ("eu",)).to_bytes())
    await connection.flush(30)
    failed = {True: summary("x", HostPhase.FAILED, worst=[NOSPACE]), False: summary("x")}
    data = [
        failed[number % 100 == 0].to_bytes().replace(b'"x"', b'"web-%d"' % number) for number in range(KNOWN)
    ]
    before = (await js.stream_info(f"KV_{STATE}"))["state"]["last_seq"]
    began = time.monotonic()
    for number, each in enumerate(data):
        await connection.publish(f"$KV.{STATE}.web-{number}", each)
    while (await js.stream_info(f"KV_{STATE}"))["state"]["last_seq"] < before + KNOWN:  # noqa: ASYNC110 - the server changes it
        await trio.sleep(0.005)
    return KNOWN / (time.monotonic() - began)


async def acknowledged(js: Any, rounds: int, count: int = 3000, at_once: int = 100) -> float:
    """How many summaries a second are stored, each acknowledged, from 100 tasks: the median of the rounds."""
    data = summary("web-0").to_bytes()

    async def some() -> None:
        for _ in range(count // at_once):
            await js.publish(f"$KV.{STATE}.web-0", data)

    took = []
    for _ in range(rounds):
        began = time.monotonic()
        async with trio.open_nursery() as nursery:
            for _ in range(at_once):
                nursery.start_soon(some)
        took.append(time.monotonic() - began)
    return count / statistics.median(took)


async def prepared(fleet: Any, rounds: int) -> tuple[float, float]:
    await fleet.fleet_server.make_streams()
    async with fleet.fleet_server.connected() as js:
        await put_state(js, state())
        return await acknowledged(js, rounds), await known_hosts(js)


def commands(home: str, rounds: int) -> dict[str, float]:
    """Seconds of the commands that read 10,000 hosts, each a new process; and of processor time, of the command alone."""
    found = {}
    for words in (["status"], ["hosts"], ["failures"], ["status", "--format", "json"]):
        took, busy = [], []
        for _ in range(rounds):
            began, before = time.monotonic(), processor_time()
            command = [sys.executable, "-m", "reactor", "fleet", words[0], "--home", home, *words[1:]]
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            took.append(time.monotonic() - began)
            busy.append(processor_time() - before)
        found[" ".join(words)] = statistics.median(took)
        found[" ".join([*words, "busy"])] = statistics.median(busy)
    return found


def processor_time() -> float:
    """Seconds of processor time of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


async def bundle_speed(js: Any) -> float:
    """MB a second of a bundle that one host reads."""
    data = os.urandom(BUNDLE_MB * 1_000_000)
    objects = js.objects("reactor_bundles")
    await objects.put("benchmark", data)
    began = time.monotonic()
    assert len(await objects.read("benchmark", largest=len(data))) == len(data)
    return BUNDLE_MB / (time.monotonic() - began)


async def hosts_at_work(fleet: Any, parts: Parts, results: dict[str, float], rounds: int) -> None:
    """A release to all at once, a bad release in waves, and the death of the server."""
    server = fleet.fleet_server.server
    async with fleet.fleet_server.connected() as js:
        results["bundle"] = await bundle_speed(js)
        before = memory_of(server.pid)
        progress(f"{parts.count} hosts connect")
        await fleet.enrol(js)
        await parts.ask("begin", seconds=120)
        await trio.sleep(3)
        await parts.ask("settle", seconds=30)
        results["memory"] = (memory_of(server.pid) - before) / parts.count
        previous: int | None = None
        took: list[float] = []
        for serial in range(1, rounds + 1):
            progress(f"release {serial} to {parts.count} hosts")
            began = time.monotonic()
            await fleet.begin(js, serial, previous)
            took += [each - began for each in await parts.times("taken", serial, seconds=120)]
            assert (await driven(fleet, js)).phase is Phase.DONE
            previous = serial
        results["p50"], results["p99"] = percentile(took, 50), percentile(took, 99)
        await value_read(parts, js, rounds, results)
        await bad_release(fleet, parts, js, (rounds + 1, rounds), results)
    progress(f"the server of {parts.count} hosts is killed")
    server.kill()
    await parts.ask("down", seconds=30)
    began = time.monotonic()
    await trio.to_thread.run_sync(server.start)
    await parts.ask("up", seconds=60)
    results["back"] = time.monotonic() - began


async def value_read(parts: Parts, js: Any, rounds: int, results: dict[str, float]) -> None:
    """A change of the channel that no host acts on: each reads it, and verifies the release that it names."""
    took: list[float] = []
    for _ in range(rounds):
        await trio.sleep(1)
        found, revision = await Channels(js).read("web")
        await parts.ask("forget", seconds=30)
        began = time.monotonic()
        await Channels(js).write(found, revision)
        took += [each - began for each in await parts.times("read", seconds=60)]
    results["read_p50"], results["read_p99"] = percentile(took, 50), percentile(took, 99)


async def bad_release(
    fleet: Any, parts: Parts, js: Any, serials: tuple[int, int], results: dict[str, float]
) -> None:
    """A release that fails on a fifth of the hosts, and the one before it."""
    progress("a bad release")
    serial, previous = serials
    release, _, _ = fleet.release(serial, previous)
    await parts.ask("fail", release.digest, seconds=30)
    ends: list[float] = []

    def note(message: Any) -> None:
        if ChannelState.from_bytes(message.data, "web").phase in (Phase.REVERTING, Phase.HALTED):
            ends.append(time.monotonic())

    with js.connection.subscribed(f"$KV.{CHANNELS}.web", note):
        await fleet.begin(js, serial, previous, waves=WAVES, gate=Gate(soak=1.0))
        ended = await driven(fleet, js)
    assert ended.phase is Phase.REVERTED, ended
    back = max(await parts.times("taken", previous, seconds=60))
    taken = await parts.ask("ever_taken", serial, ends[0], seconds=30)
    results["taken"] = 100 * sum(taken) / parts.count
    results["reverted"] = max(back - ends[0], 0.0)


def rows(results: dict[str, float], hosts: int) -> list[Row]:
    """The table of the specification, so far as simulated hosts can show it, of what was measured."""
    few = True if hosts <= BARS_FOR else None
    table: list[tuple[str, str, str, float | None]] = [
        (f"status of {KNOWN:,} hosts", "status", "s", 1.5),
        ("the same: processor time of the command", "status busy", "s", None),
        (f"hosts, {KNOWN:,} lines", "hosts", "s", None),
        (f"failures of {KNOWN:,} hosts", "failures", "s", None),
        (f"put of a channel: read and verified by {hosts:,} hosts, median", "read_p50", "s", few and 0.2),
        ("the same, 99 of 100", "read_p99", "s", few and 0.5),
        (
            f"put of a channel: release read, verified and in force on {hosts:,} hosts, median",
            "p50",
            "s",
            None,
        ),
        ("the same, 99 of 100", "p99", "s", None),
        (f"server killed and started: all of {hosts:,} hosts back", "back", "s", few and 6),
        (
            "bad release (a fifth fails), first wave 1 %: hosts that took it when it was taken back",
            "taken",
            "%",
            None,
        ),
        ("the same: all back on the one before, after it was taken back", "reverted", "s", few and 10),
        ("memory of the server for each host that is connected", "memory", "kB", 100),
        ("summaries stored a second, acknowledged, one client", "acknowledged", "/s", None),
        ("summaries stored a second, pipelined, one client", "pipelined", "/s", None),
        (f"bundle of {BUNDLE_MB} MB, one client", "bundle", "MB/s", None),
    ]
    return [Row(what, results[name], unit, bar) for what, name, unit, bar in table if name in results]


def main() -> None:
    """Measure and print."""
    parser = argument_parser(__doc__)
    parser.add_argument("--hosts", type=int, default=None)
    parser.add_argument("--known", action="store_true", help="only the commands that read 10,000 hosts")
    options = parser.parse_args()
    hosts = options.hosts or (200 if options.quick else BARS_FOR)
    rounds = 2 if options.quick or hosts > MANY else 5
    results: dict[str, float] = {}
    with workspace(options.dir) as space:
        known = SimFleet(made(space / "known"), [])
        with known.fleet_server.server:
            results["acknowledged"], results["pipelined"] = trio.run(prepared, known, rounds)
            results |= commands(remember(known.fleet_server), rounds)
        if not options.known:
            fleet = new_fleet(made(space / "fleet"), hosts)
            with fleet.fleet_server.server:
                trio.run(fleet.fleet_server.make_streams)
                with hosts_in_processes(fleet, PROCESSES) as parts:
                    trio.run(hosts_at_work, fleet, parts, results, rounds)
    load = f"{os.cpu_count()} cores, load {os.getloadavg()[2]:.0f}"
    show(f"fleet: one server, {hosts:,} simulated hosts, {load}", rows(results, hosts))


if __name__ == "__main__":
    main()
