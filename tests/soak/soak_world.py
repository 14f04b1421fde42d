"""The world of the soak: what is managed, and how each part of it should be. It knows nothing of reactor but manifests."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

UNITS = Path("/etc/systemd/system")
PER_DIRECTORY = 100
TEMPLATES = 200
COPIES = 20
LINKED = 20


def systemctl(*arguments: str) -> str:
    """What it writes; it may fail."""
    done = subprocess.run(["systemctl", *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def has_systemd() -> bool:
    """Whether the first process is a systemd that answers, in a world that may be spoilt."""
    return os.environ.get("REACTOR_SOAK_SERVICES") == "1" and systemctl("is-system-running") != ""


@dataclass(frozen=True)
class Kept:
    """One file that reactor keeps: its content, and whether only its mode counts."""

    path: Path
    text: str
    mode: int = 0o644

    def is_right(self) -> bool:
        """Whether it is as it should be, by our own stat and read; a file that is replaced meanwhile is not."""
        try:
            found = os.lstat(self.path)
            return (
                stat.S_ISREG(found.st_mode)
                and stat.S_IMODE(found.st_mode) == self.mode
                and (found.st_uid, found.st_gid) == (os.geteuid(), os.getegid())
                and self.path.read_text() == self.text
            )
        except (OSError, UnicodeDecodeError):
            return False


class World:
    """Everything below ``root``, of so many files, commands and services."""

    def __init__(self, root: Path, files: int, commands: int, services: int) -> None:
        self.root = root
        self.spare = root / "spare"
        self.files = [
            Kept(root / f"d{number // PER_DIRECTORY}" / f"f{number}", f"file {number}\n{'x' * 200}\n")
            for number in range(files)
        ]
        self.copies = [Kept(root / "copies" / f"c{number}", f"source {number}\n") for number in range(COPIES)]
        self.linked = [
            Kept(root / "current" / f"l{number}", f"linked {number}\n") for number in range(LINKED)
        ]
        """Below a symlink to a directory."""
        self.made = [
            Kept(root / "made" / f"t{number % 10}" / f"m{number}", f"made {number}\n")
            for number in range(TEMPLATES)
        ]
        self.markers = [root / "marks" / f"k{number}" for number in range(commands)]
        self.units = [f"reactor-soak-{number}.service" for number in range(services)]

    @property
    def all_files(self) -> Iterator[Kept]:
        """Every file that is kept."""
        yield from self.files
        yield from self.linked
        yield from self.copies
        yield from self.made

    def log_of(self, marker: Path) -> Path:
        """Where the subscriber of a command writes a line each time that it is refreshed."""
        return self.root / "logs" / marker.name

    def source_of(self, copy: Kept) -> Path:
        """What is copied there."""
        return self.root / "sources" / copy.path.name

    def template_of(self, made: Kept) -> Path:
        """The template of a file of the scaffold."""
        return self.root / "templates" / made.path.relative_to(self.root / "made")

    def make(self) -> Path:
        """Write what is there before reactor comes; return its manifest."""
        for name in ("spare", "marks", "logs", "sources", "copies"):
            (self.root / name).mkdir()
        for directory in {kept.path.parent for kept in self.files}:
            directory.mkdir()
        (self.root / "release0").mkdir()
        (self.root / "current").symlink_to("release0")
        for copy in self.copies:
            self.source_of(copy).write_text(copy.text)
        for made in self.made:
            self.template_of(made).parent.mkdir(parents=True, exist_ok=True)
            self.template_of(made).write_text(made.text)
        for unit in self.units:
            service = "[Service]\nExecStart=/bin/sleep 100000\n[Install]\nWantedBy=multi-user.target\n"
            (UNITS / unit).write_text(f"[Unit]\nStartLimitIntervalSec=0\n{service}")
        manifest = self.root / "soak.yaml"
        manifest.write_text(json.dumps({"resources": list(self._resources())}))
        return manifest

    def _resources(self) -> Iterator[dict[str, object]]:
        own = {
            "ensure": "present",
            "owner": str(os.geteuid()),
            "group": str(os.getegid()),
            "mode": "0644",
        }
        for kept in (*self.files, *self.linked):
            yield {"file": {"name": str(kept.path), "content": kept.text, **own}}
        for copy in self.copies:
            yield {"file": {"name": str(copy.path), "source": str(self.source_of(copy)), **own}}
        templates = {"name": str(self.root / "made"), "source": str(self.root / "templates")}
        yield {
            "scaffold": {
                **templates,
                "ensure": "present",
                "owner": own["owner"],
                "group": own["group"],
                "file_mode": "0644",
            }
        }
        for marker in self.markers:
            command = f"touch {marker}"
            yield {"exec": {"name": f"make {marker.name}", "command": command, "creates": str(marker)}}
            note = {"command": f"echo x >>{self.log_of(marker)}", "provider": "shell", "refreshonly": True}
            yield {
                "exec": {
                    "name": f"note {marker.name}",
                    **note,
                    "subscribe": [f"exec#make {marker.name}"],
                }
            }
        for unit in self.units:
            yield {"service": {"name": unit, "ensure": "running", "enable": True}}

    def remove(self) -> None:
        """Take it away again."""
        shutil.rmtree(self.root, ignore_errors=True)
