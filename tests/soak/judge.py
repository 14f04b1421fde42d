"""Runs reactor on the world, lets things go wrong, and judges from outside: with stat, read, systemctl and /proc."""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from drifts import Drift, Drifts
from soak_world import World

BOUND = 10.0
"""Seconds in which everything is right again."""
LOOK = 0.02
STATUS_EVERY = 10.0
WARM_AFTER = 20 * 60.0
GROWTH = 1.03
AUDIT_WITHIN = 120.0
"""Seconds in which the audit at the end is over, on a slow machine."""
PROGRESS_EVERY = 60.0

LAUNCH = """
from pathlib import Path
import trio
from reactor.engine import audit
class AuditOnRequest(audit.Audit):
    async def run(self):
        while not Path({asked!r}).exists():
            await trio.sleep(0.1)
        await self.mark_all()
        Path({done!r}).touch()
        await trio.sleep_forever()
audit.Audit = AuditOnRequest
from reactor.cli import main
main()
"""


@dataclass
class Open:
    """A drift that is not mended yet."""

    drift: Drift
    since: float


@dataclass
class Figures:
    """What was seen."""

    made: Counter[str] = field(default_factory=Counter)
    missed: list[str] = field(default_factory=list)
    lies: list[str] = field(default_factory=list)
    took: list[float] = field(default_factory=list)
    slowest: dict[str, float] = field(default_factory=dict)
    statuses: int = 0
    unanswered: int = 0


class Soak:
    """One soak of ``seconds``; its state is kept below ``base``."""

    def __init__(self, world: World, base: Path, seconds: float, rate: float, seed: int) -> None:
        self.world = world
        self.base = base
        self._audit_asked, self._audit_done = base / "audit", base / "audited"
        self.seconds = seconds
        self.rate = rate
        self.figures = Figures()
        self._random = random.Random(seed)
        self._drifts = Drifts(world, seed)
        self._open: dict[str, Open] = {}
        self._missed: dict[str, Open] = {}

    def run(self) -> int:
        """Soak, tell the figures, and return the exit code."""
        manifest = self.world.make()
        with self._reactor(manifest) as pid:
            self._wait_until_right(120.0)
            time.sleep(1.0)
            descriptors = self._descriptors(pid)
            warm = self._soak(pid)
            self._drifts.close()
            self._mend_all()
            memory = self._memory(pid)
            wrong = self._wrong()
            status = self._audit()
            descriptors_after = self._descriptors_at_rest(pid, descriptors)
        return self._report(wrong, status, (descriptors, descriptors_after), (warm, memory))

    def _audit(self) -> dict[str, dict[str, object]]:
        """Have every resource checked, now that nothing is wrong, and return the status after that."""
        self._audit_asked.touch()
        deadline = time.monotonic() + AUDIT_WITHIN
        while True:
            with suppress(TimeoutError):  # it may be too busy to answer
                if self._audit_done.exists() and (status := self._status())["run"]["converged"]:
                    return status
            assert time.monotonic() < deadline, "the audit does not end"
            time.sleep(LOOK)

    @contextmanager
    def _reactor(self, manifest: Path) -> Iterator[int]:
        code = LAUNCH.format(asked=str(self._audit_asked), done=str(self._audit_done))
        command = [sys.executable, "-c", code, "run", "--state-dir", str(self.base / "state"), str(manifest)]
        with open(self.base / "output", "wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output)
            try:
                yield process.pid
                assert process.poll() is None, (self.base / "output").read_text()[-3000:]
            finally:
                process.terminate()
                process.wait(60)

    # ---- while it lasts ----

    def _soak(self, pid: int) -> int:
        began = time.monotonic()
        kinds = list(self._drifts.kinds)
        warm, next_status, next_line = 0, began + STATUS_EVERY, began
        for number in range(int(self.seconds * self.rate)):
            due = began + number / self.rate
            while (now := time.monotonic()) < due:
                self._look()
                time.sleep(min(LOOK, max(0.0, due - now)))
            self._spoil(self._random.choice(kinds))
            if now >= next_status:
                next_status = now + STATUS_EVERY
                self._compare_with_status()
            if now >= next_line:
                next_line += PROGRESS_EVERY
                self._print_progress(pid, now - began)
            if not warm and now - began >= min(WARM_AFTER, self.seconds / 2):
                warm = self._memory(pid)
            if now - began > self.seconds:
                break
        return warm

    def _spoil(self, kind: str) -> None:
        now = time.monotonic()
        try:
            drifts = self._drifts.make(kind, set(self._open))
        except OSError:  # repaired, or gone, under our hands
            return
        for drift in drifts:
            self._open[drift.key] = Open(Drift(kind, drift.key, drift.is_mended, drift.is_cheap), now)
            self.figures.made[kind] += 1

    def _look(self) -> None:
        now = time.monotonic()
        for key, each in list(self._open.items()):
            if not each.drift.is_cheap and self._random.random() > LOOK * 5:
                continue
            took = now - each.since
            if each.drift.is_mended():
                del self._open[key]
                self.figures.took.append(took)
                kind = each.drift.kind
                self.figures.slowest[kind] = max(took, self.figures.slowest.get(kind, 0.0))
            elif took > BOUND:
                del self._open[key]
                self.figures.missed.append(f"{each.drift.kind}: {key}")
                self._missed[key] = each
                self._print_miss("missed", key, each)
        for key, each in list(self._missed.items()):
            if (each.drift.is_cheap or self._random.random() < LOOK * 5) and each.drift.is_mended():
                del self._missed[key]
                self._print_miss("mended late", key, each)

    def _print_progress(self, pid: int, seconds: float) -> None:
        """A line each minute: what was made and missed so far, and what the process holds."""
        made, missed = self.figures.made.total(), len(self.figures.missed)
        held = f"{self._memory(pid)} KiB, {self._descriptors(pid)} descriptors"
        load = f"load {os.getloadavg()[0]:.1f}"
        print(f"minute {seconds / 60:.0f}: {made} made, {missed} missed, {held}, {load}", flush=True)

    @staticmethod
    def _print_miss(what: str, key: str, each: Open) -> None:
        """When it was, and how busy the machine is: a miss of a machine that is overloaded proves little."""
        took = time.monotonic() - each.since
        pressure = Path("/proc/pressure/cpu")
        some = pressure.read_text().splitlines()[0] if pressure.exists() else ""
        when = time.strftime("%H:%M:%S")
        print(
            f"{when} {what}: {each.drift.kind}: {key} after {took:.1f} s; {os.getloadavg()} {some}",
            flush=True,
        )

    def _compare_with_status(self) -> None:
        """What was wrong for longer than the bound before it was asked, and still is, contradicts "converged"."""
        old = [each for each in self._open.values() if time.monotonic() - each.since > BOUND / 2]
        try:
            says = self._status()["run"]["converged"]
        except TimeoutError:  # an answer that comes too late contradicts nothing
            self.figures.unanswered += 1
            return
        self.figures.statuses += 1
        if says:
            self.figures.lies += [each.drift.key for each in old if not each.drift.is_mended()]

    def _mend_all(self) -> None:
        while self._open:
            self._look()
            time.sleep(LOOK)

    def _wait_until_right(self, patience: float) -> None:
        deadline = time.monotonic() + patience
        while wrong := self._wrong():
            assert time.monotonic() < deadline, (wrong[:10], (self.base / "output").read_text()[-3000:])
            time.sleep(0.2)

    # ---- what is there ----

    def _wrong(self) -> list[str]:
        wrong = [str(kept.path) for kept in self.world.all_files if not kept.is_right()]
        wrong += [str(marker) for marker in self.world.markers if not marker.exists()]
        return wrong + [unit for unit in self.world.units if not self._drifts.unit_is_right(unit)]

    def _status(self) -> dict[str, dict[str, object]]:
        state = ["--state-dir", str(self.base / "state")]
        command = [sys.executable, "-m", "reactor", "status", "--format", "json", *state]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if "R0606" in done.stderr:
            raise TimeoutError(done.stderr)
        return json.loads(done.stdout)

    @staticmethod
    def _memory(pid: int) -> int:
        """KiB that are resident."""
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))

    @staticmethod
    def _descriptors(pid: int) -> int:
        return len(os.listdir(f"/proc/{pid}/fd"))

    def _descriptors_at_rest(self, pid: int, before: int) -> int:
        """As many as there are when the connection of the last `status` is closed; waits for that at most 10 s."""
        deadline = time.monotonic() + BOUND
        while (found := self._descriptors(pid)) > before and time.monotonic() < deadline:
            time.sleep(LOOK)
        return found

    # ---- the end ----

    def _report(
        self,
        wrong: list[str],
        status: dict[str, dict[str, object]],
        descriptors: tuple[int, int],
        memory: tuple[int, int],
    ) -> int:
        figures, found = self.figures, status["run"]["audit_found"]
        took = sorted(figures.took) or [0.0]
        print(f"drifts: {figures.made.total()} of {len(figures.made)} kinds in {self.seconds:g} s")
        for kind, count in sorted(figures.made.items()):
            print(f"  {kind:30} {count:6}  slowest {figures.slowest.get(kind, 0.0):.2f} s")
        print(f"mended: median {statistics.median(took):.3f} s, slowest {took[-1]:.2f} s")
        print(f"descriptors: {descriptors[0]} before, {descriptors[1]} after")
        print(
            f"memory: {memory[0]} KiB then, {memory[1]} KiB at the end ({memory[1] / (memory[0] or 1):.3f})"
        )
        faults = {
            "missed": figures.missed,
            "wrong at the end": wrong,
            f"status said converged ({figures.statuses} answers, {figures.unanswered} too late)": figures.lies,
            "found by the audit": [found] if found else [],
            "events lost": [status["run"]["events_lost"]] if status["run"]["events_lost"] else [],
            "descriptors": [descriptors] if descriptors[1] > descriptors[0] else [],
            "memory": [memory] if self.seconds > WARM_AFTER and memory[1] > memory[0] * GROWTH else [],
        }
        for name, found_here in faults.items():
            print(f"{name}: {len(found_here)} {found_here[:5] if found_here else ''}")
        return 1 if any(faults.values()) else 0
