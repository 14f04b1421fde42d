"""What the killed runs change: a manifest with a new generation for every round, and what must be true of it."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

FILES, COMMANDS = 24, 6
IDS = f"owner: '{os.getuid()}', group: '{os.getgid()}'"


class World:
    """A directory with a manifest and the state directory beside it. Kinds fill in the rest."""

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
        return _content(number, generation)

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

    def torn(self) -> list[str]:
        """Which files hold neither what this generation declares nor what the last one did."""
        found = []
        for name, number in {**self.names(self.generation - 1), **self.names(self.generation)}.items():
            whole = {self.content(number, self.generation + back) for back in (-1, 0)}
            with suppress(FileNotFoundError):
                text = (self.managed / name).read_text()
                if text not in whole:
                    found.append(f"{name} is torn: {text[:80]!r}")
        return found

    def problems(self) -> list[str]:
        """What is not as it must be after a run that ended."""
        found = self.torn()
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
        expected = {f"c{number}" for number in range(COMMANDS)}
        return found + [f"{name} is left over" for name in os.listdir(self.copies) if name not in expected]


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


@lru_cache(maxsize=1000)
def _content(number: int, generation: int) -> str:
    return f"file {number} of generation {generation}\n" * (1 + 150 * (number % 3))
