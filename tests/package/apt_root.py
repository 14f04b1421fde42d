"""A directory with a system of its own for the real apt and dpkg: nothing outside of it is touched."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Self

import trio
from deb_packages import Deb, write_repository

from reactor.resources.package.apt import Apt

DIRECTORIES = (
    "etc/apt/apt.conf.d", "etc/apt/preferences.d", "etc/apt/sources.list.d", "etc/apt/keyrings", "tmp", "var/log/apt",
    "var/lib/apt/lists/partial", "var/cache/apt/archives/partial", "var/lib/dpkg/info", "var/lib/dpkg/updates",
    "var/lib/dpkg/triggers", "var/lib/dpkg/alternatives",
)  # fmt: skip
CONFIGURATION = """\
Dir "{root}";
Dir::State::status "{root}/var/lib/dpkg/status";
Dir::Bin::dpkg "/usr/bin/dpkg";
Dir::Etc "{root}/etc/apt";
Dir::Log "{root}/var/log/apt";
DPkg::Options {{ "--root={root}"; "--log={root}/var/log/dpkg.log"; "--force-script-chrootless"; "--force-unsafe-io"; }};
APT::Sandbox::User "";
APT::Architectures {{ "amd64"; "i386"; }};
Acquire::Languages "none";
"""


async def eventually(condition: Callable[[], object]) -> None:
    """Wait for something that only asking can tell."""
    with trio.fail_after(60):
        while True:
            if condition():
                return
            await trio.sleep(0.01)


class AptRoot:
    """``repository`` is where its only source leads."""

    manager = "apt"

    def __init__(self, root: Path, *debs: Deb) -> None:
        self.root = root
        self.repository = root / "repository"
        for directory in DIRECTORIES:
            (root / directory).mkdir(parents=True)
        for file in ("status", "available"):
            (root / "var/lib/dpkg" / file).touch()
        self.offer(*debs)
        (root / "etc/apt/sources.list").write_text(f"deb [trusted=yes] copy:{self.repository} ./\n")
        (root / "apt.conf").write_text(CONFIGURATION.format(root=root))

    @classmethod
    def at(cls, root: Path) -> Self:
        """The one that another process has made."""
        self = cls.__new__(cls)
        self.root, self.repository = root, root / "repository"
        return self

    @property
    def environment(self) -> dict[str, str]:
        """The variables that make apt and dpkg work in it."""
        return {
            "APT_CONFIG": str(self.root / "apt.conf"),
            "DPKG_ROOT": str(self.root),
            "DPKG_FORCE": "security-mac,downgrade,script-chrootless,unsafe-io",
        }

    def provider(self) -> Apt:
        return Apt(str(self.root), self.environment)

    def offer(self, *debs: Deb) -> None:
        """Let the repository have these packages."""
        write_repository(self.repository, *debs)

    def run(self, *arguments: str) -> str:
        """Run a program as somebody else would, behind our back."""
        environment = {**self.environment, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
        environment["DEBIAN_FRONTEND"] = "noninteractive"
        done = subprocess.run(
            arguments, env=environment, check=True, text=True, capture_output=True, stdin=subprocess.DEVNULL
        )
        return done.stdout

    def update(self) -> None:
        self.run("apt-get", "-q", "update")

    def apt_get(self, *arguments: str) -> None:
        self.run("apt-get", "-y", "-q", *arguments)

    def install(self, *names: str) -> None:
        self.apt_get("install", *names)

    @property
    def packages(self) -> dict[str, str]:
        """The version of each package that dpkg itself calls installed."""
        lines = self.run("dpkg-query", "-W", "-f", "${db:Status-Abbrev}|${Package}|${Version}\n").splitlines()
        words = (line.split("|") for line in lines)
        return {name: version for status, name, version in words if status[1] == "i"}

    @property
    def transactions(self) -> list[str]:
        """The command line of each run of apt-get that changed something, by apt's own log."""
        log = self.root / "var/log/apt/history.log"
        return re.findall(r"^Commandline: (.*)$", log.read_text(), re.MULTILINE) if log.exists() else []
