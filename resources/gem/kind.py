"""The kind `gem`: the command line of gem, and the gems in its directory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from pydantic import AfterValidator

from reactor.resources.package_directory import PackageDirectory
from reactor.resources.package_spec import Spec, SpecSyntax

_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_VERSION = r"\d+(?:\.[0-9A-Za-z]+)*"
_SYNTAX = SpecSyntax(
    re.compile(rf"(?P<name>{_NAME})(:(?P<version>latest|{_VERSION}))?"), "rake, rake:13.2.1 or rake:latest"
)
_FILE = re.compile(rf"(?P<name>{_NAME}?)-(?P<version>{_VERSION})(-[a-z0-9_.-]+)?\.gemspec")
_SPECIFICATIONS = "specifications"
_LISTED = re.compile(r"^(?P<name>\S+) \((?P<versions>[^)]*)\)", re.MULTILINE)


class Gem(PackageDirectory, kind="gem"):
    """Keep packages of Ruby in a directory of their own (`GEM_HOME`), with their programs in `bin`."""

    example = "/opt/gems absent"
    program = "gem"
    syntax = _SYNTAX
    parts = frozenset(("bin", "build_info", "cache", "doc", "extensions", "gems", "plugins", _SPECIFICATIONS))
    listed_in = _SPECIFICATIONS

    packages: tuple[Annotated[str, AfterValidator(_SYNTAX.check)], ...] = ()
    """The packages: `rake`, `rake:13.2.1`, `rake:latest`."""
    unwanted: tuple[Annotated[str, AfterValidator(_SYNTAX.check_name)], ...] = ()
    """Names of packages that must not be there, in any version."""

    def read_installed(self, directory: int) -> Mapping[str, tuple[str, ...]]:
        """The versions in the names of the specifications. Raises OSError."""
        installed: dict[str, tuple[str, ...]] = {}
        try:
            names = os.listdir(f"/proc/self/fd/{directory}/{_SPECIFICATIONS}")
        except (FileNotFoundError, NotADirectoryError):
            return installed
        for found in filter(None, map(_FILE.fullmatch, sorted(names))):
            installed[found["name"]] = (*installed.get(found["name"], ()), found["version"])
        return installed

    def install_commands(self, specs: Sequence[Spec]) -> Iterable[Sequence[str]]:
        """One call for all."""
        names = (f"{each.name}:{each.version}" if each.version else each.name for each in specs)
        yield "install", *self._where, "--no-document", "--bindir", f"{self.name}/bin", *self._sources, *names

    def uninstall_commands(self, names: Sequence[str]) -> Iterable[Sequence[str]]:
        """One call for all. Other packages that need them stay."""
        bin_directory = ("--bindir", f"{self.name}/bin")
        yield (
            "uninstall",
            *self._where,
            *bin_directory,
            "--all",
            "--executables",
            "--ignore-dependencies",
            *names,
        )

    async def versions_of(self, name: str) -> Sequence[str]:
        """The versions that the registry has, the newest first. Raises ResourceError."""
        output = await self.call("list", "--remote", "--all", "--exact", *self._sources, name)
        for found in _LISTED.finditer(output):
            if found["name"] == name:
                return [each.split()[0] for each in found["versions"].split(", ") if each]
        return ()

    def settings(self) -> Mapping[str, str]:
        """The directory, in which gem also looks for installed gems."""
        return {"GEM_HOME": self.name, "GEM_PATH": self.name}

    @property
    def _where(self) -> tuple[str, ...]:
        return ("--install-dir", self.name)

    @property
    def _sources(self) -> tuple[str, ...]:
        return () if self.registry is None else ("--clear-sources", "--source", self.registry)
