"""The file formats of repositories: sources.list(5) in its deb822 style for apt, and dnf.conf(5)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Description:
    """A repository, for both formats. ``key`` is the path of the file with the public key."""

    name: str
    url: str
    suites: Sequence[str]
    components: Sequence[str]
    key: str | None
    trusted: bool


class Format(ABC):
    """The paths and the content of the repository files of one package manager."""

    @abstractmethod
    def file(self, name: str) -> str:
        """The path of the file of one repository."""

    @abstractmethod
    def key_file(self, name: str) -> str:
        """The path of the key of one repository."""

    @abstractmethod
    def text(self, repository: Description) -> str:
        """The content of the file."""


class Deb822(Format):
    """The format of apt. A repository without suites is flat: its packages are directly at its URL."""

    def file(self, name: str) -> str:
        """A file of its own; the suffix names the format."""
        return f"/etc/apt/sources.list.d/{name}.sources"

    def key_file(self, name: str) -> str:
        """A file in a directory that apt does not read by itself: the key is trusted for this repository only."""
        return f"/etc/apt/keyrings/{name}.asc"

    def text(self, repository: Description) -> str:
        """One paragraph of fields."""
        fields = {
            "Types": "deb",
            "URIs": repository.url,
            "Suites": " ".join(repository.suites) or "./",
            "Components": " ".join(repository.components),
            "Signed-By": repository.key,
            "Trusted": "yes" if repository.trusted else None,
        }
        return _lines(f"{name}: {value}" for name, value in fields.items() if value)


class Ini(Format):
    """The format of dnf."""

    def file(self, name: str) -> str:
        """A file of its own."""
        return f"/etc/yum.repos.d/{name}.repo"

    def key_file(self, name: str) -> str:
        """A file in the directory of the distribution's keys."""
        return f"/etc/pki/rpm-gpg/{name}.asc"

    def text(self, repository: Description) -> str:
        """One section of settings."""
        key = [f"gpgkey=file://{repository.key}"] if repository.key else []
        check = f"gpgcheck={0 if repository.trusted else 1}"
        name = repository.name
        return _lines([f"[{name}]", f"name={name}", f"baseurl={repository.url}", "enabled=1", check, *key])


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in ("# Written by reactor.", *lines))


FORMATS: dict[str, Format] = {"apt": Deb822(), "dnf": Ini()}
