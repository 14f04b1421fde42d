"""Tiny .deb files and a repository of them, written by Python alone: hundreds take no time."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Deb:
    """One package. ``scripts`` are shell scripts by name (postinst, prerm ...), without their first line.

    ``phased``: the percentage of hosts that it is for as yet.
    """

    name: str
    version: str = "1.0"
    depends: str = ""
    provides: str = ""
    conflicts: str = ""
    replaces: str = ""
    recommends: str = ""
    essential: bool = False
    multi_arch: str = ""
    phased: int = 100
    architecture: str = "all"
    files: dict[str, str] = field(default_factory=dict)
    conffiles: dict[str, str] = field(default_factory=dict)
    scripts: dict[str, str] = field(default_factory=dict)

    @property
    def control(self) -> str:
        fields = {"Depends": self.depends, "Provides": self.provides, "Multi-Arch": self.multi_arch}
        fields |= {
            "Recommends": self.recommends,
            "Conflicts": self.conflicts,
            "Replaces": self.replaces,
            "Essential": "yes" * self.essential,
        }
        if self.phased < 100:
            fields["Phased-Update-Percentage"] = str(self.phased)
        others = "".join(f"{field}: {text}\n" for field, text in fields.items() if text)
        return (
            f"Package: {self.name}\nVersion: {self.version}\nArchitecture: {self.architecture}\n"
            f"Maintainer: Nobody <nobody@example.com>\nDescription: tiny\n{others}"
        )

    def content(self) -> bytes:
        """The file, by deb(5)."""
        control = {"./control": (self.control, 0o644)}
        control |= {f"./{name}": (f"#!/bin/sh\n{text}\n", 0o755) for name, text in self.scripts.items()}
        if self.conffiles:
            control["./conffiles"] = ("".join(f"{path}\n" for path in self.conffiles), 0o644)
        files = self.files | self.conffiles or {f"/usr/share/{self.name}/version": self.version}
        data = {f".{path}": (text, 0o644) for path, text in files.items()}
        members = {"debian-binary": b"2.0\n", "control.tar.gz": _tar(control), "data.tar.gz": _tar(data)}
        return b"!<arch>\n" + b"".join(_member(name, content) for name, content in members.items())


def write_repository(directory: Path, *debs: Deb) -> None:
    """A flat repository: the packages and their index."""
    directory.mkdir(parents=True, exist_ok=True)
    entries = []
    for deb in debs:
        content = deb.content()
        file = f"{deb.name}_{deb.version.replace(':', '%3a')}_{deb.architecture}.deb"
        (directory / file).write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        entries.append(f"{deb.control}Filename: ./{file}\nSize: {len(content)}\nSHA256: {digest}\n")
    (directory / "Packages").write_text("\n".join(entries))


def _member(name: str, content: bytes) -> bytes:
    header = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode()
    return header + content + b"\n" * (len(content) % 2)


def _tar(files: dict[str, tuple[str, int]]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for directory in sorted({str(parent) for path in files for parent in Path(path).parents}):
            member = tarfile.TarInfo("./" if directory == "." else f"./{directory}/")
            member.type, member.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(member)
        for path, (text, mode) in files.items():
            member = tarfile.TarInfo(path)
            member.mode, member.size = mode, len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return gzip.compress(packed.getvalue(), 1, mtime=0)
