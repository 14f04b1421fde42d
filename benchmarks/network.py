"""How long drift of the network lives, until its undoing is announced; and what watching costs.

50 addresses and 10 routes on a link, kept by `reactor run` inside a network namespace, and from outside by
the property `netns`. The prober changes one thing at a time, and hears of the repair by the kernel's
notification. So each time holds the kernel's work for change and repair, and one wake-up, on top of what the
bar is about: the time from a notification to the request that answers it.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import select
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from _harness import (
    PROBER_CORE,
    REACTOR,
    Row,
    Running,
    arguments,
    cpu_seconds,
    interleaved,
    percentile,
    show,
    started,
    workspace,
)

from reactor.engine.flapping import REPAIRS
from reactor.resources.network.rtnetlink import NLM_F_ACK, NLM_F_REQUEST, message
from reactor.watchers.netlink_socket import (
    NETLINK_ADD_MEMBERSHIP,
    READ_SIZE,
    SOL_NETLINK,
    Frame,
    open_socket,
    pack,
    unpack,
)
from reactor.watchers.netlink_topics import RTM_DELADDR, RTM_DELROUTE, RTM_NEWADDR, RTM_NEWLINK, RTM_NEWROUTE

ADDRESSES, ROUTES = 50, 10
LINK, OTHER_END = "bench0", "bench1"
GROUPS = (1, 5, 7)
RT_SCOPE_NOWHERE = 255  # of a deletion: whatever the scope
MTU = struct.pack("=HHI", 8, 4, 1500)
"""The attribute of a link that has its mtu again."""
PATIENCE_SECONDS = 3.0
GAP_SECONDS = 0.01
PEACEFUL = REPAIRS - 10
"""So often may one thing drift: with more repairs it is a fight to reactor, which it goes on with once a second."""


@dataclass(frozen=True)
class Drift:
    """One kind of change, of so many ``things`` in turn: the request for number ``n``, and whether that is undone."""

    things: int
    request: Callable[[int], Frame]
    is_undone: Callable[[int, Frame], bool]


def address(number: int) -> str:
    """Managed address ``number``."""
    return f"10.10.{number % ADDRESSES}.1"


def destination(number: int) -> str:
    """The network of managed route ``number``."""
    return f"10.20.{number % ROUTES}.0"


def packed(text: str) -> bytes:
    """The bytes of an address."""
    return ipaddress.ip_address(text).packed


def drifts(index: int) -> dict[str, Drift]:
    """What the prober does, to the link of that number and what is on it."""
    return {
        "address deleted": Drift(
            ADDRESSES,
            lambda n: message(
                RTM_DELADDR, [("IFA_LOCAL", address(n))], family=socket.AF_INET, prefixlen=24, index=index
            ),
            lambda n, frame: frame.type == RTM_NEWADDR and packed(address(n)) in frame.body,
        ),
        "route deleted": Drift(
            ROUTES,
            lambda n: message(
                RTM_DELROUTE,
                [("RTA_DST", destination(n))],
                family=socket.AF_INET,
                dst_len=24,
                table=254,
                scope=RT_SCOPE_NOWHERE,
            ),
            lambda n, frame: frame.type == RTM_NEWROUTE and packed(destination(n)) in frame.body,
        ),
        "mtu changed": Drift(
            1,
            lambda _: message(RTM_NEWLINK, [("IFLA_MTU", 1400)], index=index),
            lambda _, frame: frame.type == RTM_NEWLINK and MTU in frame.body,
        ),
    }


def manifest(netns: str | None) -> str:
    """The manifest of all that, acting in the namespace of that name or in its own."""
    inside = f", netns: {netns}" if netns else ""
    lines = [
        "resources:",
        f"  - link: [{LINK}: {{type: veth, peer: {OTHER_END}, mtu: 1500{inside}}}]",
        "  - address:",
    ]
    lines += [f"      - {address(number)}/24: {{link: {LINK}{inside}}}" for number in range(ADDRESSES)]
    lines.append("  - route:")
    lines += [f"      - {destination(number)}/24: {{link: {LINK}{inside}}}" for number in range(ROUTES)]
    return "\n".join(lines) + "\n"


@contextlib.contextmanager
def namespace() -> Iterator[str]:
    """A network namespace of our own."""
    name = f"reactor-bench-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        yield name
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)


@contextlib.contextmanager
def kept(space: Path, netns: str, *, from_outside: bool) -> Iterator[Running]:
    """`reactor run`, converged, inside the namespace or outside of it."""
    path = space / "network.yaml"
    path.write_text(manifest(netns if from_outside else None))
    enter = [] if from_outside else ["ip", "netns", "exec", netns]
    command = [*enter, REACTOR, "run", str(path), "--format", "json"]
    with started(command, lambda line: '"event":"converged"' in line) as process:
        yield process


def probe(netns: str, samples: int) -> dict[str, list[float]]:
    """Milliseconds from each change until it was undone, or -1 for never."""
    index = int(subprocess.check_output(["ip", "-n", netns, "-o", "link", "show", LINK]).split(b":")[0])
    os.sched_setaffinity(0, {PROBER_CORE})
    with open_socket(netns) as asking, open_socket(netns) as hearing:
        for group in GROUPS:
            hearing.setsockopt(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, group)
        return {
            name: [
                one_sample(asking, hearing, drift, number)
                for number in range(min(samples, drift.things * PEACEFUL))
            ]
            for name, drift in drifts(index).items()
        }


def one_sample(asking: socket.socket, hearing: socket.socket, drift: Drift, number: int) -> float:
    """Change one thing and wait until that is undone."""
    time.sleep(GAP_SECONDS)
    with contextlib.suppress(BlockingIOError):
        while hearing.recv(READ_SIZE):
            pass
    request = drift.request(number)._replace(flags=NLM_F_REQUEST | NLM_F_ACK)
    began = time.perf_counter()
    asking.send(pack(request))
    while select.select([hearing], [], [], PATIENCE_SECONDS)[0]:
        ended = time.perf_counter()
        if any(drift.is_undone(number, frame) for frame in unpack(hearing.recv(READ_SIZE))):
            return (ended - began) * 1000
    return -1.0


def turn(space: Path, samples: int, *, from_outside: bool) -> dict[str, list[float]]:
    """One run of reactor and all kinds of change under it."""
    with namespace() as netns, kept(space, netns, from_outside=from_outside):
        return probe(netns, samples)


def idle_percent(space: Path, seconds: float) -> float:
    """The share of a core that it takes to watch all that from outside while nothing happens."""
    with namespace() as netns, kept(space, netns, from_outside=True) as process:
        before = cpu_seconds(process.pid)
        time.sleep(seconds)
        return 100 * (cpu_seconds(process.pid) - before) / seconds


def rows(results: dict[str, list[dict[str, list[float]]]]) -> Iterator[Row]:
    """The percentiles over all turns, and the changes that were never undone."""
    for place, turns in results.items():
        for kind in turns[0]:
            found = [ms for each in turns for ms in each[kind] if ms >= 0]
            for percent, bar in ((50, 2.0), (90, None)):
                yield Row(f"{kind}, {place}, p{percent}", percentile(found, percent), "ms", bar)
    lost = sum(
        ms < 0 for turns in results.values() for each in turns for times in each.values() for ms in times
    )
    yield Row("not undone within 3 s", lost, "", 0)


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__)
    samples, turns, seconds = (50, 1, 5.0) if options.quick else (200, 5, 20.0)
    with workspace(options.dir) as space:
        results = interleaved(
            turns,
            {
                "same namespace": lambda: turn(space, samples, from_outside=False),
                "another namespace": lambda: turn(space, samples, from_outside=True),
            },
        )
        idle = Row("CPU while nothing happens", idle_percent(space, seconds), "% of a core", 0.1)
    changes = f"{turns} x {samples} changes of each kind, of the mtu {PEACEFUL}"
    title = f"network: {ADDRESSES} addresses and {ROUTES} routes, {changes}"
    show(title, [*rows(results), idle])


if __name__ == "__main__":
    main()
