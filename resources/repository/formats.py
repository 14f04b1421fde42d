"""The files that tell a package manager of a repository: sources.list(5) in its deb822 style, and dnf.conf(5)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Description:
    """A repository in the words of both formats. ``key`` is the path of the file with the public key."""

    name: str
    url: str
    suites: Sequence[str]
    components: Sequence[str]
    key: str | None
    trusted: bool


class Format(ABC):
    """Where a package manager looks for its repositories below a root directory, and how they are written."""

    @abstractmethod
    def file(self, name: str) -> str:
        """The path of the file about one repository."""

    @abstractmethod
    def key_file(self, name: str) -> str:
        """The path for the key of one repository."""

    @abstractmethod
    def text(self, repository: Description) -> str:
        """What the file holds."""


class Deb822(Format):
    """For apt. A repository without suites is a flat one: its packages are where its URL leads."""

    def file(self, name: str) -> str:
        """A file of its own, with the suffix that says how it is written."""
        return f"/etc/apt/sources.list.d/{name}.sources"

    def key_file(self, name: str) -> str:
        """Where apt does not find it by itself: the key is good for this repository only."""
        return f"/etc/apt/keyrings/{name}.asc"

    def text(self, repository: Description) -> str:
        """One paragraph."""
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
    """For dnf."""

    def file(self, name: str) -> str:
        """A file of its own."""
        return f"/etc/yum.repos.d/{name}.repo"

    def key_file(self, name: str) -> str:
        """Beside those that the distribution brings."""
        return f"/etc/pki/rpm-gpg/{name}.asc"

    def text(self, repository: Description) -> str:
        """One section."""
        key = [f"gpgkey=file://{repository.key}"] if repository.key else []
        check = f"gpgcheck={0 if repository.trusted else 1}"
        name = repository.name
        return _lines([f"[{name}]", f"name={name}", f"baseurl={repository.url}", "enabled=1", check, *key])


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in ("# Written by reactor.", *lines))


FORMATS: dict[str, Format] = {"apt": Deb822(), "dnf": Ini()}
