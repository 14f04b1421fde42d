"""A directory with a system of its own for the real dnf and rpm: nothing outside of it is touched."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Self

from reactor.resources.package.dnf import Dnf

PLUGINS = "/usr/lib/python3/dist-packages/dnf-plugins"


class DnfRoot:
    """``repository`` is a directory with packages and their index."""

    manager = "dnf"

    def __init__(self, root: Path, repository: Path) -> None:
        self.root = root
        for directory in ("var/log", "var/lib/dnf", "var/lib/rpm", "etc/yum.repos.d", "home"):
            (root / directory).mkdir(parents=True)
        # Debian's rpm keeps its database in the home directory, where no other distribution has it.
        (root / "home/.rpmmacros").write_text("%_dbpath /var/lib/rpm\n")
        self.describe("tiny", f"file://{repository}")
        self._know()

    @classmethod
    def at(cls, root: Path) -> Self:
        """The one that another process has made."""
        self = cls.__new__(cls)
        self.root = root
        self._know()
        return self

    def _know(self) -> None:
        root = self.root
        self.environment = {"HOME": str(root / "home")}
        settings = {
            "reposdir": root / "etc/yum.repos.d", "cachedir": root / "var/cache/dnf", "logdir": root / "var/log",
            "persistdir": root / "var/lib/dnf", "plugins": 0, "module_platform_id": "platform:x1",
        }  # fmt: skip
        self.options = ("--releasever=1", *(f"--setopt={key}={value}" for key, value in settings.items()))

    def provider(self) -> Dnf:
        return Dnf(str(self.root), self.options, self.environment)

    def describe(self, name: str, url: str) -> None:
        """Tell dnf of a repository."""
        file = self.root / f"etc/yum.repos.d/{name}.repo"
        file.write_text(f"[{name}]\nname={name}\nbaseurl={url}\ngpgcheck=0\n")

    @property
    def hold_list(self) -> Path:
        """Where the plugin `versionlock` keeps what it locks."""
        return self.root / "etc/dnf/plugins/versionlock.list"

    def lock(self, *entries: str) -> None:
        """Let the plugin `versionlock` work by these."""
        directory = self.root / "etc/dnf/plugins"
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "versionlock.list").write_text("".join(f"{entry}\n" for entry in entries))
        (directory / "versionlock.conf").write_text(
            f"[main]\nenabled=1\nlocklist={directory}/versionlock.list\n"
        )
        self.options += (
            "--setopt=plugins=1", f"--setopt=pluginpath={PLUGINS}", f"--setopt=pluginconfpath={directory}",
            "--disableplugin=*", "--enableplugin=versionlock",
        )  # fmt: skip

    def run(self, *arguments: str) -> str:
        """Run a program as somebody else would, behind our back."""
        environment = os.environ | self.environment | {"LC_ALL": "C"}
        return subprocess.run(arguments, env=environment, check=True, text=True, capture_output=True).stdout

    def dnf(self, *arguments: str) -> None:
        self.run("dnf", "-q", "-y", f"--installroot={self.root}", *self.options, *arguments)

    def install(self, *names: str) -> None:
        self.dnf("install", *names)

    @property
    def packages(self) -> dict[str, str]:
        """The version of each package that rpm itself knows."""
        form = "%{NAME}|%|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE}\n"
        lines = self.run("rpm", "--root", str(self.root), "-qa", "--queryformat", form).splitlines()
        return dict(line.split("|") for line in lines)

    def versions(self, name: str) -> list[str]:
        """Those in which the package is there side by side."""
        command = ("rpm", "--root", str(self.root), "-qa", "--queryformat", "%{VERSION}-%{RELEASE}\n", name)
        return sorted(self.run(*command).splitlines())
