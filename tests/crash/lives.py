"""Many lives of ``reactor run --converge-once``, each but the last of a round ended by SIGKILL at some instant.

    python tests/crash/lives.py --lives 1000 --kind files|scaffold|exec|packages|services [--seed S]

Every round declares another generation of the world, kills a few runs on the way, and lets one end: then all is as
declared, every refresh has arrived, and nothing is left over. The seed is printed first. ``services`` boots a systemd in
namespaces for itself, and needs root; ``packages`` installs into a directory with the apt and dpkg of this machine.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import reactor.cli.engine_runs
import reactor.cli.run
from reactor.cli.group import reactor as command
from reactor.engine.events import Checked, Result

HERE = Path(__file__).resolve().parent
FILES, COMMANDS, PACKAGES, SERVICES = 40, 10, 6, 4
IDS = f"owner: '{os.getuid()}', group: '{os.getgid()}'"


class World:
    """A directory with a manifest and the state directory beside it. Kinds fill in the rest."""

    longest_life = 0.15
    changes = FILES
    """How many resources a generation changes, at least: a life may be ended right after any of these."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.managed = root / "managed"
        self.state = root / "state"
        self.manifest = root / "manifest.yaml"
        self.managed.mkdir()
        self.generation = 0
        self.prepare()

    def prepare(self) -> None:
        """What is there before the first generation."""

    def prepare_life(self) -> None:
        """What a process of its own needs before it runs the command."""

    def finish(self) -> None:
        """Take away what would stay when the directory is removed."""

    def content(self, number: int, generation: int) -> str:
        """What file ``number`` holds in a generation."""
        return f"file {number} of generation {generation}\n" * (1 + 400 * (number % 3))

    def names(self, generation: int) -> dict[str, int]:
        """The files below ``managed`` in a generation, each with its number."""
        return {f"f{number}": number for number in range(FILES)} if generation >= 0 else {}

    def declare(self, generation: int) -> None:
        """Write the manifest of a generation."""
        self.generation = generation
        self.manifest.write_text("\n".join(["resources:", *self.resources(generation)]) + "\n")

    def resources(self, generation: int) -> list[str]:
        """The lines of the manifest."""
        raise NotImplementedError

    def declared_files(self, generation: int) -> list[str]:
        """The lines for files with their content."""
        lines = ["  - file:", f"      - defaults: {{{IDS}, mode: '0644', ensure: present}}"]
        for name, number in self.names(generation).items():
            text = self.content(number, generation).replace("\n", "\\n")
            lines.append(f'      - {self.managed}/{name}: {{content: "{text}"}}')
        return lines

    def problems(self) -> list[str]:
        """What is not as it must be after a run that ended."""
        found = []
        names = self.names(self.generation)
        for name, number in names.items():
            path = self.managed / name
            if not path.exists() or path.read_text() != self.content(number, self.generation):
                found.append(f"{name} is not converged")
        there = {str(path.relative_to(self.managed)) for path in self.managed.rglob("*") if not path.is_dir()}
        return found + [f"{name} is left over" for name in sorted(there - names.keys())]


class FilesWorld(World):
    """Files, some of which are there in every other generation only."""

    def names(self, generation: int) -> dict[str, int]:
        return {name: n for name, n in super().names(generation).items() if n % 4 or generation % 2}

    def resources(self, generation: int) -> list[str]:
        gone = super().names(generation).keys() - self.names(generation).keys()
        absent = [f"      - {self.managed}/{name}: {{ensure: absent}}" for name in sorted(gone)]
        return [*self.declared_files(generation), *(["  - file:", *absent] if absent else [])]


class ExecWorld(World):
    """Files, and commands that copy some of them when they change and at no other time."""

    def prepare(self) -> None:
        self.copies = self.root / "copies"
        self.copies.mkdir()

    def resources(self, generation: int) -> list[str]:
        lines = [*self.declared_files(generation), "  - exec:"]
        for number in range(COMMANDS):
            source = f"{self.managed}/f{number}"
            properties = f"command: cp {source} {self.copies}/c{number}, refreshonly: true"
            lines.append(f'      - copy{number}: {{{properties}, subscribe: ["file#{source}"]}}')
        return lines

    def problems(self) -> list[str]:
        found = super().problems()
        for number in range(COMMANDS):
            copy = self.copies / f"c{number}"
            if not copy.exists() or copy.read_text() != self.content(number, self.generation):
                found.append(f"the refresh of copy{number} was lost")
        return found


class ScaffoldWorld(World):
    """A tree of templates, rendered with purge: every generation adds a directory and takes one away."""

    changes = 1

    def prepare(self) -> None:
        self.templates = self.root / "templates"

    def names(self, generation: int) -> dict[str, int]:
        plain = super().names(generation)
        return {f"of{generation % 3}/{name}" if n % 4 == 0 else name: n for name, n in plain.items()}

    def resources(self, generation: int) -> list[str]:
        subprocess.run(["rm", "-rf", self.templates], check=True)
        for name, number in self.names(generation).items():
            path = self.templates / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.content(number, generation))
        return [
            f"  - scaffold: [{{{self.managed}: {{ensure: present, source: {self.templates}, purge: true}}}}]"
        ]


class PackageWorld(World):
    """Packages of a local repository, in two versions each, and there in some generations only."""

    longest_life = 2.0
    changes = 1

    def prepare(self) -> None:
        sys.path.insert(0, str(HERE.parent / "package"))
        from apt_root import AptRoot  # noqa: PLC0415 - it is in another directory of tests
        from deb_packages import Deb  # noqa: PLC0415

        debs = [Deb(f"tiny{n}", version) for n in range(PACKAGES) for version in ("1.0", "2.0")]
        self.host = AptRoot(self.root / "system", *debs)
        self.host.update()

    def prepare_life(self) -> None:
        from resources.package import providers  # noqa: PLC0415 - in a life of its own

        providers.made["apt"] = self.host.provider()

    def wanted(self, generation: int) -> dict[str, str]:
        version = ("1.0", "2.0")[generation % 2]
        return {f"tiny{n}": version for n in range(PACKAGES) if (generation + n) % 3}

    def names(self, generation: int) -> dict[str, int]:
        return {}

    def resources(self, generation: int) -> list[str]:
        wanted = self.wanted(generation)
        lines = ["  - package:", "      - defaults: {provider: apt}"]
        every = (f"tiny{n}" for n in range(PACKAGES))
        return lines + [f"      - {name}: {{ensure: '{wanted.get(name, 'absent')}'}}" for name in every]

    def problems(self) -> list[str]:
        listed = self.host.run(
            "dpkg-query", "--show", "--showformat", "${Package} ${Version} ${db:Status-Status}\n"
        )
        rows = (line.split() for line in listed.splitlines())
        found = {name: version for name, version, status in rows if status == "installed"}
        wrong = [] if found == self.wanted(self.generation) else [f"{found} is installed"]
        audit = self.host.run("dpkg", "--audit")
        return wrong + ([f"dpkg complains: {audit}"] if audit else [])


class ServiceWorld(World):
    """Services of a real systemd, each restarted when its file changes; at its start it writes down what that held."""

    longest_life = 0.6
    changes = SERVICES
    units = Path("/etc/systemd/system")

    def prepare(self) -> None:
        self.seen = self.root / "seen"
        self.seen.mkdir()
        for number in range(SERVICES):
            script = f"cp {self.managed}/f{number} {self.seen}/s{number}; exec sleep 10000"
            (self.units / f"lives{number}.service").write_text(
                f"[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStart=/bin/sh -c '{script}'\n"
                "TimeoutStopSec=1\n[Install]\nWantedBy=multi-user.target\n"
            )
        subprocess.run(["systemctl", "daemon-reload"], check=True)

    def finish(self) -> None:
        for number in range(SERVICES):
            subprocess.run(["systemctl", "disable", "--now", "-q", f"lives{number}.service"], check=False)
            (self.units / f"lives{number}.service").unlink()

    def names(self, generation: int) -> dict[str, int]:
        return {name: n for name, n in super().names(generation).items() if n < SERVICES}

    def enabled(self, generation: int, number: int) -> bool:
        return bool((generation + number) % 2)

    def resources(self, generation: int) -> list[str]:
        lines = [*self.declared_files(generation), "  - service:"]
        for number in range(SERVICES):
            enable = str(self.enabled(generation, number)).lower()
            subscribe = f'subscribe: ["file#{self.managed}/f{number}"]'
            lines.append(f"      - lives{number}: {{ensure: running, enable: {enable}, {subscribe}}}")
        return lines

    def problems(self) -> list[str]:
        found = super().problems()
        for number in range(SERVICES):
            unit = f"lives{number}.service"
            if subprocess.run(["systemctl", "is-active", "-q", unit], check=False).returncode:
                found.append(f"{unit} does not run")
            enabled = subprocess.run(["systemctl", "is-enabled", "-q", unit], check=False).returncode == 0
            if enabled != self.enabled(self.generation, number):
                found.append(f"{unit} is not as enabled as declared")
            if not self._has_seen(number):
                found.append(f"the restart of {unit} was lost")
        return found

    def _has_seen(self, number: int) -> bool:
        """Whether it has started with the file of now; it may have begun only just now."""
        wanted, deadline = self.content(number, self.generation), time.monotonic() + 10
        while time.monotonic() < deadline:
            with suppress(FileNotFoundError):
                if (self.seen / f"s{number}").read_text() == wanted:
                    return True
            time.sleep(0.005)
        return False


WORLDS = {
    "files": FilesWorld,
    "scaffold": ScaffoldWorld,
    "exec": ExecWorld,
    "packages": PackageWorld,
    "services": ServiceWorld,
}


class Reader(threading.Thread):
    """Reads the managed files all the time, and notes every content that nobody ever asked for."""

    def __init__(self, world: World) -> None:
        super().__init__(daemon=True)
        self.world = world
        self.torn: list[str] = []
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.is_set():
            generation = self.world.generation
            names = {**self.world.names(generation - 1), **self.world.names(generation)}
            if not names:
                return
            name = random.choice([*names])
            with suppress(FileNotFoundError):
                text = (self.world.managed / name).read_text()
                since = range(generation - 4, self.world.generation + 1)
                whole = {self.world.content(names[name], each) for each in since}
                if text not in whole:
                    self.torn.append(f"{name}: {text[:80]!r}")


def run(world: World, stop_after: int | None = None) -> None:
    """One life, in a process of its own. With ``stop_after``, it kills itself right after that many files changed."""
    if stop_after is not None:
        _stop_between_change_and_refresh(stop_after)
    world.prepare_life()
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


def kill_often(root: Path, kills: int, seed: int, kind: str = "exec") -> list[str]:
    """Kill ``kills`` lives in rounds of up to four; return everything that went wrong."""
    chance = random.Random(seed)
    world = WORLDS[kind](root)
    world.declare(0)
    problems = _ended_well(world)
    reader = Reader(world)
    reader.start()
    generation = 0
    while kills > 0 and not problems:
        generation += 1
        world.declare(generation)
        for _ in range(min(kills, chance.randint(1, 4))):
            kills -= 1
            if chance.random() < 0.5:
                live(world, stop_after=chance.randint(1, world.changes))
            else:
                live(world, lifetime=chance.uniform(0, world.longest_life))
        problems += _ended_well(world)
    reader.ended.set()
    reader.join()
    world.finish()
    problems += [f"half-written: {text}" for text in reader.torn]
    return problems + [
        f"the journal was of no use: {name}" for name in os.listdir(world.state) if "broken" in name
    ]


def _ended_well(world: World) -> list[str]:
    status = live(world)
    ended = [f"the last run ended with {status}"] if status else []
    return [f"round {world.generation}: {problem}" for problem in (*ended, *world.problems())]


def main() -> int:
    """The command; its exit code is 1 when anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lives", type=int, default=300)
    parser.add_argument("--kind", choices=WORLDS, default="exec")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**9)
    asked = parser.parse_args()
    if asked.kind == "services" and "LIVES_IN_SYSTEMD" not in os.environ:
        boot = str(HERE.parent / "systemd/with-systemd")
        os.environ["LIVES_IN_SYSTEMD"] = "yes"
        arguments = ["--lives", str(asked.lives), "--kind", asked.kind, "--seed", str(asked.seed)]
        os.execv(boot, [boot, sys.executable, str(HERE / "lives.py"), *arguments])
    print(f"{asked.lives} lives, {asked.kind}, seed {asked.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="lives-") as directory:
        wrong = kill_often(Path(directory), asked.lives, asked.seed, asked.kind)
    print("\n".join(wrong) or "nothing was torn, lost or left over", flush=True)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
