"""What reactor manages on the disk whose power fails, and what must be true of it afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

FILES, COMMANDS, TEMPLATES, DIRECTORIES = 32, 8, 12, 4
VERSIONS = 4
_OWNER = f"owner: '{os.getuid()}', group: '{os.getgid()}'"
_SIZES = (0, 1, 200, 4096, 9000)
"""Bytes of the files: an empty one, some within a page, a whole page, and several."""


def content(number: int, version: int) -> str:
    """The content of file ``number`` in a version; each version of each file differs in all its bytes from the others."""
    line = f"file {number} of version {version}\n"
    return line + chr(ord("a") + version) * _SIZES[number % len(_SIZES)]


def is_declared(number: int, version: int) -> bool:
    """Every fourth file is present in odd versions, and absent in even ones."""
    return number % 4 > 0 or version % 2 == 1


class PowerWorld:
    """Files, a scaffold and commands that copy some of the files, below ``disk``; the manifest is beside it."""

    def __init__(self, directory: Path, disk: Path) -> None:
        self._disk = disk
        self._manifest = directory / "manifest.yaml"
        self._templates = directory / "templates"
        self._state = disk / "state"
        self._managed = disk / "managed"
        self._copies = disk / "copies"

    def prepare(self) -> None:
        """Write the templates."""
        self._templates.mkdir(exist_ok=True)
        for number in range(TEMPLATES):
            (self._templates / f"t{number}").write_text(
                f"template {number} of version {{{{ data.version }}}}\n"
            )

    def converge(self, version: int) -> None:
        """Run reactor on a version of the manifest. Raises AssertionError unless all is as desired at the end."""
        self._copies.mkdir(exist_ok=True)
        self._manifest.write_text("\n".join(self._lines(version)))
        command = [
            sys.executable,
            "-m",
            "reactor",
            "run",
            "--converge-once",
            "--state-dir",
            self._state,
            self._manifest,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"version {version}: {done.stdout[-2000:]}{done.stderr[-2000:]}"

    def damage(self, oldest: int, newest: int) -> list[str]:
        """What is wrong after a power failure: files that are no whole version, or older than ``oldest``."""
        versions = range(oldest, newest + 1)
        found = []
        for number in range(FILES):
            whole = {
                content(number, version).encode() for version in versions if is_declared(number, version)
            }
            may_lack = not oldest or not all(is_declared(number, version) for version in versions)
            found += self._wrong(self._file(number), whole, may_lack=may_lack)
        for number in range(TEMPLATES):
            whole = {f"template {number} of version {version}\n".encode() for version in versions if version}
            found += self._wrong(self._managed / f"tree/t{number}", whole, may_lack=not oldest)
        for number in range(COMMANDS):
            whole = {content(self._copied(number), version).encode() for version in versions if version}
            found += self._wrong(self._copies / f"c{number}", whole, may_lack=not oldest)
        return found

    def problems(self, version: int) -> list[str]:
        """What is not as a run must leave it that ended well: damage, lost refreshes, temporary files."""
        found = self.damage(version, version)
        expected = {self._file(number) for number in range(FILES) if is_declared(number, version)}
        expected |= {self._managed / f"tree/t{number}" for number in range(TEMPLATES)}
        there = {path for path in self._managed.rglob("*") if not path.is_dir()}
        return found + [f"{path} is left over" for path in sorted(there - expected)]

    def _wrong(self, path: Path, whole: set[bytes], *, may_lack: bool) -> Iterator[str]:
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            if not may_lack:
                yield f"{path} is missing"
            return
        if text not in whole:
            yield f"{path} holds {len(text)} bytes, {text.count(0)} of them zeros: {text[:40]!r}"

    def _file(self, number: int) -> Path:
        return self._managed / f"d{number % DIRECTORIES}/f{number}"

    def _copied(self, number: int) -> int:
        """The file that a command copies: one that is present in each version."""
        return number * 4 + 1

    def _lines(self, version: int) -> Iterator[str]:
        yield f"data: {{version: {version}}}\nresources:\n  - file:"
        yield f"      - defaults: {{{_OWNER}, mode: '0644', ensure: present}}"
        for directory in ("", *(f"/d{number}" for number in range(DIRECTORIES))):
            yield f"      - {self._managed}{directory}: {{ensure: directory, mode: '0755'}}"
        for number in range(FILES):
            text = json.dumps(content(number, version))
            properties = f"content: {text}" if is_declared(number, version) else "ensure: absent"
            yield f"      - {self._file(number)}: {{{properties}}}"
        yield f"  - scaffold:\n      - {self._managed}/tree: {{ensure: present, source: {self._templates}, engine: jinja}}"
        yield "  - exec:"
        for number in range(COMMANDS):
            source, target = self._file(self._copied(number)), self._copies / f"c{number}"
            # The copy is flushed before it counts as made, as a service would do with a file of its own.
            copy = f"cp {source} {target}.new && sync {target}.new && mv {target}.new {target} && sync {self._copies}"
            subscribe = json.dumps([f"file#{source}"])
            yield f"      - copy {number}: {{provider: shell, command: '{copy}', refreshonly: true, subscribe: {subscribe}}}"
