"""Which package manager a host has. Each is one object, shared by all resources: they share its database and its lock."""

from __future__ import annotations

from functools import cache

from reactor.resources.package import apt, dnf
from reactor.resources.package.apt import Apt
from reactor.resources.package.dnf import Dnf
from reactor.resources.package.provider import Provider

PROVIDERS = ("apt", "dnf")

made: dict[str, Provider] = {}
"""Those in use, by name."""


def provider_of(name: str | None) -> Provider:
    """The provider ``name``; without one, that of the host."""
    name = name or _fitting()
    if name not in made:
        made[name] = Apt() if name == "apt" else Dnf()
    return made[name]


def is_here(name: str) -> bool:
    """Whether this host has the package manager ``name``."""
    return apt.is_here() if name == "apt" else dnf.is_here()


@cache
def _fitting() -> str:
    """Both can be on one host, to make packages for another. Where neither is, apt is what is missing."""
    return "dnf" if is_here("dnf") and not is_here("apt") else "apt"
