"""Units stopped behind our back: from the signal on the bus to our StartUnit call; and what watching 500 of them costs.

`reactor run` on 500 services, in a systemd of its own in namespaces, as the tests have it. One unit after the other is
stopped; `busctl monitor` notes when the bus carried the signal that the unit is inactive, and when our call. Needs root.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from _harness import HERE, Row, arguments, cpu_seconds, percentile, reactor_running, show, workspace

WITH_SYSTEMD = HERE.parent / "tests" / "systemd" / "with-systemd"
READY = Path("/run/with-systemd/ready")
UNIT_PATH = "/org/freedesktop/systemd1/unit/bench{}_2eservice"
UNIT = "[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"
PAUSE = 0.1


def write_units(count: int) -> None:
    """Write the unit files; new ones need no reload."""
    for number in range(count):
        Path(f"/etc/systemd/system/bench{number}.service").write_text(UNIT)


def write_manifest(path: Path, count: int, properties: str) -> Path:
    """A manifest of the services."""
    lines = [f"      - bench{number}: {properties}" for number in range(count)]
    path.write_text("\n".join(["resources:", "  - service:", *lines]) + "\n")
    return path


@contextmanager
def monitored(path: Path) -> Iterator[None]:
    """Note what the bus carries."""
    with path.open("w") as output:
        process = subprocess.Popen(
            ["busctl", "monitor", "--json=short"], stdout=output, stderr=subprocess.DEVNULL
        )
        time.sleep(0.3)
        try:
            yield
        finally:
            time.sleep(0.3)
            process.terminate()
            process.wait()


def stop_one_by_one(count: int, samples: int) -> None:
    """Stop units, and wait after each until it runs again."""
    for sample in range(samples):
        unit = f"bench{sample % count}.service"
        subprocess.run(["systemctl", "stop", unit], check=True)
        while subprocess.run(["systemctl", "is-active", "--quiet", unit], check=False).returncode:
            time.sleep(0.01)
        time.sleep(PAUSE)


def latencies(path: Path, count: int) -> list[float]:
    """Milliseconds from each signal that a unit is inactive to the call that starts it."""
    unit_of = {UNIT_PATH.format(number): f"bench{number}.service" for number in range(count)}
    stopped_at: dict[str, int] = {}
    found = []
    for line in path.read_text().splitlines():
        message = json.loads(line)
        at = message.get("timestamp-realtime", 0)
        body = message.get("payload", {}).get("data", [])
        member, unit = message.get("member"), unit_of.get(message.get("path"))
        if member == "StartUnit" and body[0] in stopped_at:
            found.append((at - stopped_at.pop(body[0])) / 1000)
        elif (
            member == "PropertiesChanged"
            and unit
            and body[1].get("ActiveState", {}).get("data") == "inactive"
        ):
            stopped_at.setdefault(unit, at)
    return found


def connections_of(pid: int) -> int:
    """How many connections to the system bus a process has."""
    listing = subprocess.run(
        ["busctl", "list", "--unique", "--no-legend"], check=True, capture_output=True, text=True
    )
    return sum(line.split()[1] == str(pid) for line in listing.stdout.splitlines())


def measure(space: Path, notes: Path, count: int, samples: int, idle: float) -> list[Row]:
    """All rows, inside. What the bus carries goes to ``notes``: reactor hears of every write beside its manifest."""
    write_units(count)
    rows = []
    for properties, title in (("{}", "running only"), ("{enable: true}", "running and enabled")):
        with reactor_running(write_manifest(space / "site.yaml", count, properties)) as process:
            time.sleep(2)  # what follows from our own starts and reloads
            before = cpu_seconds(process.pid)
            time.sleep(idle)
            cpu = 100 * (cpu_seconds(process.pid) - before) / idle
            before = cpu_seconds(process.pid)
            with monitored(notes / "bus"):
                stop_one_by_one(count, samples)
            per_repair = 1000 * (cpu_seconds(process.pid) - before) / samples
            connections = connections_of(process.pid)
        times = latencies(notes / "bus", count)
        assert len(times) == samples, f"{len(times)} starts for {samples} stops"
        rows += [
            Row(f"{title}: signal to StartUnit, p50 of {samples}", percentile(times, 50), "ms", 3),
            Row(f"{title}: signal to StartUnit, p90", percentile(times, 90), "ms"),
            Row(f"{title}: CPU per repair", per_repair, "ms"),
            Row(f"{title}: idle CPU", cpu, "% of a core", 0.1),
            Row(f"{title}: connections to the bus", connections, "", 1),
        ]
    return rows


def main() -> None:
    """Measure and print; outside of the namespaces, go in first."""
    options = arguments(__doc__)
    if not READY.exists():
        os.execv(WITH_SYSTEMD, [WITH_SYSTEMD, sys.executable, *sys.argv])
    count, samples, idle = (50, 20, 5.0) if options.quick else (500, 60, 10.0)
    with workspace(options.dir) as space, workspace(options.dir) as notes:
        rows = measure(space, notes, count, samples, idle)
    show(f"services: {count} units", rows)


if __name__ == "__main__":
    main()
