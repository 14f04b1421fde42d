"""Kill ``reactor run --converge-once`` at random instants, and see that nothing is torn, lost or left over.

    python tests/crash/lives.py --kills 1000 --kind files|scaffold|exec|packages|services [--seed S] [--directory D]

Every round declares another generation of the world, kills a few runs on the way, and lets one end: then all is as
declared, every refresh has arrived, and nothing is left over. A run is killed after a random time, just before a random
call of the kernel, or right after a random resource has changed; only those that were killed count. The seed is printed
first. ``services`` boots a systemd in namespaces for itself, and needs root; ``packages`` installs into a directory with
the apt and dpkg of this machine.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path

from host_worlds import PackageWorld, ServiceWorld
from life import Lives
from reader import Reader
from worlds import ExecWorld, FilesWorld, ScaffoldWorld, World

HERE = Path(__file__).resolve().parent
KILLS_OF_A_WORLD = 200
WORLDS: dict[str, type[World]] = {
    "files": FilesWorld,
    "scaffold": ScaffoldWorld,
    "exec": ExecWorld,
    "packages": PackageWorld,
    "services": ServiceWorld,
}


class Killer:
    """Kills runs of a world by a random generator, in rounds of up to four. ``problems`` is everything that went wrong."""

    def __init__(self, world: World, chance: random.Random) -> None:
        self.world = world
        self.chance = chance
        self.lives = Lives(world)
        self.reader = Reader()
        self.killed = 0
        self.problems: list[str] = []
        self._state: set[str] = set()

    def kill(self, kills: int) -> None:
        """Go on until ``kills`` runs have been killed, or something went wrong."""
        for generation in (0, 1):
            self.world.declare(generation)
            self._end_well()
        self.lives.warm_up()
        self.reader.declared(1)
        self._state = set(os.listdir(self.world.state))
        with self.reader.reading(self.world) as pid:
            self.lives.kept.add(pid)
            while self.killed < kills and not self.problems:
                self._round(kills)
        self.problems += self.reader.torn
        self.world.finish()

    def _round(self, kills: int) -> None:
        generation = self.world.generation + 1
        self.reader.declared(generation)
        self.world.declare(generation)
        for _ in range(min(kills - self.killed, self.chance.randint(1, 4))):
            self._kill_one()
            self._note(self.world.torn())
        self._end_well()
        self._note(
            f"the state directory holds {name}" for name in {*os.listdir(self.world.state)} - self._state
        )

    def _kill_one(self) -> None:
        how = self.chance.choice(("time", "call", "change"))
        if how == "time":
            self.killed += self.lives.killed_after(self.chance.random())
        elif how == "call":
            self.killed += self.lives.killed_before_call(self.chance.random())
        else:
            self.killed += self.lives.killed_after_changes(self.chance.randint(1, self.world.changes))

    def _end_well(self) -> None:
        # A process that a run was starting when it was killed has the lock of the state directory until it executes.
        self._note(self.lives.orphans())
        status = self.lives.whole()
        self._note([f"the last run ended with {status}"] if status else [])
        self._note(self.world.problems())
        self._note(self.lives.orphans())

    def _note(self, found) -> None:
        self.problems += [f"round {self.world.generation}: {problem}" for problem in found]


def main() -> int:
    """The command; its exit code is 1 when anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--kind", choices=WORLDS, default="exec")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**9)
    parser.add_argument("--directory", help="where the files are made; that of temporary files if not given")
    asked = parser.parse_args()
    if asked.kind == "services" and "LIVES_IN_SYSTEMD" not in os.environ:
        boot = str(HERE.parent / "systemd/with-systemd")
        os.environ["LIVES_IN_SYSTEMD"] = "yes"
        os.execv(boot, [boot, sys.executable, *sys.argv])
    print(f"{asked.kind}: {asked.kills} kills, seed {asked.seed}", flush=True)
    problems = _kill(asked.kind, asked.kills, random.Random(asked.seed), asked.directory)
    print("\n".join(problems) or "nothing was torn, lost or left over", flush=True)
    return bool(problems)


def _kill(kind: str, kills: int, chance: random.Random, place: str | None) -> list[str]:
    """What went wrong. Every `KILLS_OF_A_WORLD` another world is made, so that the last run is as quick as the first."""
    killed = runs = looks = 0
    began, problems = time.monotonic(), []
    while killed < kills and not problems:
        with tempfile.TemporaryDirectory(prefix="lives-", dir=place) as directory:
            killer = Killer(WORLDS[kind](Path(directory)), chance)
            killer.kill(min(KILLS_OF_A_WORLD, kills - killed))
        killed, runs, looks = killed + killer.killed, runs + killer.lives.started, looks + killer.reader.looks
        problems = killer.problems
        took = time.monotonic() - began
        print(f"{killed} of {runs} runs were killed in {took:.0f} s, {looks} reads on the way", flush=True)
    return problems


if __name__ == "__main__":
    sys.exit(main())
