"""What a fleet costs and how fast it is, with simulated hosts on one real server.

The hosts have the real link and the real host's side, with a dict for a disk and a run that converges at once; all of them are in
one process, so most of the times are its processor time: that of one host is the thousandth part. The server is a process of its
own, and so is the driver. ``--hosts N`` sets the number of hosts; 10,000 need ``ulimit -n 20000``, and report as seldom as real
hosts. ``--known`` only stores 10,000 summaries, and times the commands that read them.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import trio
from _harness import ROOT, Row, argument_parser, percentile, progress, show, workspace

sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT / "tests/fleet"))

from known_fleet import NOSPACE, put_state, remember, state, summary
from sim_fleet import SimFleet, until

from reactor.fleet.bucket_names import CHANNELS, STATE
from reactor.fleet.host.ports import Pace
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.operator.channels import Channels
from reactor.fleet.rollout.gate import Gate
from reactor.fleet.rollout.hosts import HostPhase
from reactor.fleet.rollout.state import ChannelState, Phase
from reactor.resource.gc_control import LongLived

KNOWN = 10_000
WAVES = (100, 1000, 5000, 10_000)
BUNDLE_MB = 20
BARS_FOR = 1000
"""The number of hosts for which the specification has limits of time: those of more take turns in the process."""
PACE = Pace(summary=0.02, burst=100)
"""Without a reason, a host looks and reports as seldom as a real one; with one, it reports at once each time."""
MANY = 2000
"""With more hosts than this, each reports as seldom as a real one, and waits longer for its turn in the process."""
MANY_PACE = Pace(burst=100, answer=300.0)


class Stamps(list[int]):
    """The serials that a host took, and when it took the last."""

    last = 0.0

    def append(self, serial: int) -> None:
        self.last = time.monotonic()
        super().append(serial)


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
    for host in fleet.hosts.values():
        host.stores["web"].taken = Stamps()
    return fleet


def made(directory: Path) -> Path:
    directory.mkdir()
    return directory


def patience(fleet: Any, seconds: float) -> float:
    """Seconds to wait for the hosts, which share one process."""
    return seconds * max(1.0, len(fleet.hosts) / 1000)


async def waited(fleet: Any, condition: Any, seconds: float) -> None:
    """Wait for the hosts. A look at many of them costs time, so it is done less often."""
    await until(condition, patience(fleet, seconds), pause=len(fleet.hosts) / 100_000)


async def driven(fleet: Any, js: Any) -> Any:
    """Drive the channel in another process, as an operator does; return its state when it has ended.

    In the process of the hosts, the driver would wait behind them until its lease has ended.
    """
    command = [sys.executable, "-m", "reactor", "fleet", "drive", "web", "--until-ended"]
    with trio.fail_after(patience(fleet, 180)):
        await trio.run_process(
            [*command, "--home", remember(fleet.fleet_server)], check=False, capture_stdout=True
        )
    return (await Channels(js).read("web"))[0]


def last_taken(fleet: Any) -> list[float]:
    return sorted(host.stores["web"].taken.last for host in fleet.hosts.values())


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


async def acknowledged(js: Any, count: int = 3000, at_once: int = 100) -> float:
    """How many summaries a second are stored, each acknowledged, from 100 tasks."""
    data = summary("web-0").to_bytes()

    async def some() -> None:
        for _ in range(count // at_once):
            await js.publish(f"$KV.{STATE}.web-0", data)

    began = time.monotonic()
    async with trio.open_nursery() as nursery:
        for _ in range(at_once):
            nursery.start_soon(some)
    return count / (time.monotonic() - began)


async def prepared(fleet: Any) -> tuple[float, float]:
    await fleet.fleet_server.make_streams()
    async with fleet.fleet_server.connected() as js:
        await put_state(js, state())
        return await acknowledged(js), await known_hosts(js)


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


async def hosts_at_work(fleet: Any, results: dict[str, float], rounds: int) -> None:
    """A release to all at once, a bad release in waves, and the death of the server."""
    server = fleet.fleet_server.server
    async with fleet.fleet_server.connected() as js:
        results["bundle"] = await bundle_speed(js)
    before = memory_of(server.pid)
    progress(f"{len(fleet.hosts)} hosts connect")
    async with fleet.running() as js:
        await waited(fleet, lambda: all(host.fleet is not None for host in fleet.hosts.values()), 120)
        links = [host.fleet.connection for host in fleet.hosts.values()]
        await waited(fleet, lambda: all(link.up for link in links), 120)
        await trio.sleep(3)
        LongLived().exempt()  # as each run does, else the collector looks at the memory of all hosts for one of them
        results["memory"] = (memory_of(server.pid) - before) / len(links)
        previous: int | None = None
        took: list[float] = []
        for serial in range(1, rounds + 1):
            progress(f"release {serial} to {len(links)} hosts")
            began = time.monotonic()
            await fleet.begin(js, serial, previous)
            await waited(fleet, partial(_all_have, fleet, serial), 120)
            took += [each - began for each in last_taken(fleet)]
            assert (await driven(fleet, js)).phase is Phase.DONE
            previous = serial
        results["p50"], results["p99"] = percentile(took, 50), percentile(took, 99)
        await value_read(fleet, js, rounds, results)
        await bad_release(fleet, js, rounds + 1, rounds, results)
        progress(f"the server of {len(links)} hosts is killed")
        server.kill()
        await waited(fleet, lambda: not any(link.up for link in links), 30)
        began = time.monotonic()
        await trio.to_thread.run_sync(server.start)
        await waited(fleet, lambda: all(link.up for link in links), 60)
        results["back"] = time.monotonic() - began


async def value_read(fleet: Any, js: Any, rounds: int, results: dict[str, float]) -> None:
    """A change of the channel that no host acts on: each reads it, and verifies the release that it names."""
    read: dict[str, float] = {}

    def stamped(name: str, look: Any) -> Any:
        async def looked() -> bool:
            done: bool = await look()
            if done:
                read[name] = time.monotonic()
            return done

        return looked

    for name, host in fleet.hosts.items():
        follower = host.fleet.followers[0]
        follower._look = stamped(name, follower._look)  # noqa: SLF001 - to see when it has looked
    took: list[float] = []
    for _ in range(rounds):
        await trio.sleep(1)
        found, revision = await Channels(js).read("web")
        read.clear()
        began = time.monotonic()
        await Channels(js).write(found, revision)
        await waited(fleet, lambda: len(read) == len(fleet.hosts), 60)
        took += [each - began for each in read.values()]
    results["read_p50"], results["read_p99"] = percentile(took, 50), percentile(took, 99)


def _all_have(fleet: Any, serial: int) -> bool:
    return all(each == serial for each in fleet.in_force().values())


async def bad_release(fleet: Any, js: Any, serial: int, previous: int, results: dict[str, float]) -> None:
    """A release that fails on a fifth of the hosts."""
    progress("a bad release")
    release, _, _ = fleet.release(serial, previous)
    for number, host in enumerate(fleet.hosts.values()):
        if number % 5 == 0:
            host.engine.fails.add(release.digest)
    seen: dict[str, float] = {}

    def show(message: Any) -> None:
        phase = ChannelState.from_bytes(message.data, "web").phase
        if phase in (Phase.REVERTING, Phase.HALTED) and "at" not in seen:
            seen["at"] = time.monotonic()
            seen["taken"] = sum(serial in host.stores["web"].taken for host in fleet.hosts.values())

    with js.connection.subscribed(f"$KV.{CHANNELS}.web", show):
        await fleet.begin(js, serial, previous, waves=WAVES, gate=Gate(soak=1.0))
        ended = await driven(fleet, js)
    assert ended.phase is Phase.REVERTED, ended
    await waited(fleet, partial(_all_have, fleet, previous), 60)
    results["taken"] = 100 * seen["taken"] / len(fleet.hosts)
    results["reverted"] = max(max(last_taken(fleet)) - seen["at"], 0.0)


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
            results["acknowledged"], results["pipelined"] = trio.run(prepared, known)
            results |= commands(remember(known.fleet_server), rounds)
        if not options.known:
            fleet = new_fleet(made(space / "fleet"), hosts)
            with fleet.fleet_server.server:
                trio.run(fleet.fleet_server.make_streams)
                trio.run(hosts_at_work, fleet, results, rounds)
    load = f"{os.cpu_count()} cores, load {os.getloadavg()[2]:.0f}"
    show(f"fleet: one server, {hosts:,} simulated hosts, {load}", rows(results, hosts))


if __name__ == "__main__":
    main()
