"""Many lives of ``reactor run --converge-once``, each but the last of a round ended by SIGKILL at some instant.

A manifest of 40 files, and 10 commands that copy one of them each when it changes and at no other time. Every round
changes all contents, kills a few runs on the way, and lets one end. ``python tests/crash/lives.py 300`` kills 300 times.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import reactor.cli.engine_runs
import reactor.cli.run
from reactor.cli.group import reactor as command
from reactor.engine.events import Checked, Result

FILES, COMMANDS = 40, 10
LONGEST_LIFE = 0.15


class World:
    """A directory of managed files, the copies that commands make of some, and the state directory beside them."""

    def __init__(self, root: Path) -> None:
        self.managed = root / "managed"
        self.copies = root / "copies"
        self.state = root / "state"
        self.manifest = root / "manifest.yaml"
        self.managed.mkdir()
        self.copies.mkdir()
        self.generation = 0

    def content(self, number: int, generation: int) -> str:
        return f"file {number} of generation {generation}\n" * (1 + 400 * (number % 3))

    def declare(self, generation: int) -> None:
        self.generation = generation
        ids = f"owner: '{os.getuid()}', group: '{os.getgid()}', mode: '0644'"
        lines = ["resources:", "  - file:", f"      - defaults: {{{ids}, ensure: present}}"]
        for number in range(FILES):
            text = self.content(number, generation).replace("\n", "\\n")
            lines.append(f'      - {self.managed}/f{number}: {{content: "{text}"}}')
        lines.append("  - exec:")
        for number in range(COMMANDS):
            source = f"{self.managed}/f{number}"
            properties = f"command: cp {source} {self.copies}/c{number}, refreshonly: true"
            lines.append(f'      - copy{number}: {{{properties}, subscribe: ["file#{source}"]}}')
        self.manifest.write_text("\n".join(lines) + "\n")

    def problems(self) -> list[str]:
        """What is not as it must be after a run that ended."""
        found = []
        for number in range(FILES):
            if (self.managed / f"f{number}").read_text() != self.content(number, self.generation):
                found.append(f"f{number} is not converged")
        for number in range(COMMANDS):
            copy = self.copies / f"c{number}"
            if not copy.exists() or copy.read_text() != self.content(number, self.generation):
                found.append(f"the refresh of copy{number} was lost")
        strangers = set(os.listdir(self.managed)) - {f"f{number}" for number in range(FILES)}
        return found + [f"{name} is left over" for name in sorted(strangers)]


class Reader(threading.Thread):
    """Reads the managed files all the time, and notes every content that nobody ever asked for."""

    def __init__(self, world: World) -> None:
        super().__init__(daemon=True)
        self.world = world
        self.torn: list[str] = []
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.is_set():
            number, former = random.randrange(FILES), self.world.generation - 1
            with suppress(FileNotFoundError):
                text = (self.world.managed / f"f{number}").read_text()
                since = range(former, self.world.generation + 1)
                whole = {self.world.content(number, generation) for generation in since}
                if text not in whole:
                    self.torn.append(f"f{number}: {text[:80]!r}")


def run(world: World, stop_after: int | None = None) -> None:
    """One life, in a process of its own. With ``stop_after``, it kills itself right after that many files changed."""
    if stop_after is not None:
        _stop_between_change_and_refresh(stop_after)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    command(
        ["run", "--converge-once", "--state-dir", str(world.state), str(world.manifest)],
        standalone_mode=False,
    )


def _stop_between_change_and_refresh(changes: int) -> None:
    heard = reactor.cli.engine_runs._Sinks.__call__
    left = iter(range(changes - 1, -1, -1))

    def hear(sinks, event):
        heard(sinks, event)
        if isinstance(event, Checked) and event.result is Result.CHANGED and next(left, None) == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    reactor.cli.engine_runs._Sinks.__call__ = hear


def live(world: World, lifetime: float | None = None, stop_after: int | None = None) -> int:
    """Start a life and wait for its end; SIGKILL ends it after ``lifetime`` seconds. Returns its wait status."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            run(world, stop_after)
            status = 0
        except BaseException as error:
            status = getattr(error, "exit_code", 1)
        finally:
            os._exit(status)
    if lifetime is not None:
        time.sleep(lifetime)
        os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def kill_often(root: Path, kills: int, seed: int) -> list[str]:
    """Kill ``kills`` lives in rounds of up to four; return everything that went wrong."""
    chance = random.Random(seed)
    world = World(root)
    world.declare(0)
    live(world)
    reader = Reader(world)
    reader.start()
    problems: list[str] = []
    generation = 0
    while kills > 0 and not problems:
        generation += 1
        world.declare(generation)
        for _ in range(min(kills, chance.randint(1, 4))):
            kills -= 1
            if chance.random() < 0.5:
                live(world, stop_after=chance.randint(1, FILES))
            else:
                live(world, lifetime=chance.uniform(0, LONGEST_LIFE))
        if status := live(world):
            problems.append(f"round {generation}: the last run ended with {status}")
        problems += [f"round {generation}: {problem}" for problem in world.problems()]
    reader.ended.set()
    reader.join()
    problems += [f"half-written: {text}" for text in reader.torn]
    problems += [f"the journal was of no use: {name}" for name in os.listdir(world.state) if "broken" in name]
    return problems


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        wrong = kill_often(Path(directory), int(sys.argv[1]), seed=int(time.time()))
    print("\n".join(wrong) or "nothing was lost")
    sys.exit(bool(wrong))
