"""Tiny RPM packages and a repository of them, made by the real rpmbuild and createrepo_c."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Rpm:
    """One package; ``before`` and ``after`` are Lua scriptlets that run before and after it is installed."""

    name: str
    version: str = "1.0"
    release: str = "1"
    epoch: int = 0
    requires: str = ""
    provides: str = ""
    obsoletes: str = ""
    recommends: str = ""
    file: str = ""
    before: str = ""
    after: str = ""

    @property
    def spec(self) -> str:
        lines = [
            f"Name: {self.name}", f"Version: {self.version}", f"Release: {self.release}", f"Epoch: {self.epoch}",
            "Summary: tiny", "License: MIT", "BuildArch: noarch", *([f"Requires: {self.requires}"] * bool(self.requires)),
            *([f"Provides: {self.provides}"] * bool(self.provides)), *([f"Obsoletes: {self.obsoletes}"] * bool(self.obsoletes)),
            *([f"Recommends: {self.recommends}"] * bool(self.recommends)),
            "%description", "tiny",
            "%install", f"mkdir -p %{{buildroot}}/usr/share/{self.name}",
            f"touch %{{buildroot}}/usr/share/{self.name}/{self.version}",
            *([f"echo {self.name} >%{{buildroot}}/usr/share/{self.name}/../{self.file}"] * bool(self.file)),
            "%files", f"/usr/share/{self.name}/{self.version}", *([f"/usr/share/{self.file}"] * bool(self.file)),
            *(["%pre -p <lua>", self.before] if self.before else []),
            *(["%post -p <lua>", self.after] if self.after else []),
        ]  # fmt: skip
        return "\n".join(lines) + "\n"


def write_repository(directory: Path, rpms: Iterable[Rpm]) -> None:
    """A repository of the packages."""
    directory.mkdir(parents=True, exist_ok=True)
    for rpm in rpms:
        path, content = _built(rpm)
        (directory / path).parent.mkdir(exist_ok=True)
        (directory / path).write_bytes(content)
    subprocess.run(["createrepo_c", "-q", directory], check=True)


@cache
def _built(rpm: Rpm) -> tuple[str, bytes]:
    """The path of the package in a repository, and its content. Many tests want the same, and to build it takes long."""
    with tempfile.TemporaryDirectory() as scratch:
        spec, packages = Path(scratch, "tiny.spec"), Path(scratch, "packages")
        spec.write_text(rpm.spec)
        defines = {
            "_topdir": scratch,
            "_build_id_links": "none",
            "_rpmdir": packages,
            "_dbpath": f"{scratch}/db",
        }
        options = [word for key, value in defines.items() for word in ("--define", f"{key} {value}")]
        subprocess.run(["rpmbuild", "-bb", "--quiet", *options, spec], check=True, capture_output=True)
        (file,) = packages.rglob("*.rpm")
        return str(file.relative_to(packages)), file.read_bytes()


def add_module(directory: Path, name: str, versions: Iterable[str]) -> None:
    """Let the packages of that name belong to a module of the same: each version to a stream called like it."""
    streams = (
        f"""\
---
document: modulemd
version: 2
data:
  {{name: {name}, stream: "{version}", version: 1, context: c, arch: noarch, summary: tiny, description: tiny,
   license: {{module: [MIT]}}, artifacts: {{rpms: ["{name}-0:{version}-1.noarch"]}}}}
...
"""
        for version in versions
    )
    file = directory / "modules.yaml"
    file.write_text("".join(streams))
    subprocess.run(["modifyrepo_c", "--mdtype=modules", file, directory / "repodata"], check=True)
