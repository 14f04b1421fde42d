"""Chooses the provider of the host. Each provider is one object, so that resources share its database and lock."""

from __future__ import annotations

from functools import cache

from reactor.resources.package import apt, dnf
from reactor.resources.package.apt import Apt
from reactor.resources.package.dnf import Dnf
from reactor.resources.package.provider import Provider

PROVIDERS = ("apt", "dnf")

made: dict[str, Provider] = {}
"""The providers in use, by name."""


def provider_of(name: str | None) -> Provider:
    """The provider ``name``; by default that of the host."""
    name = name or _fitting()
    if name not in made:
        made[name] = Apt() if name == "apt" else Dnf()
    return made[name]


def is_here(name: str) -> bool:
    """Whether this host has the package manager ``name``."""
    return apt.is_here() if name == "apt" else dnf.is_here()


@cache
def _fitting() -> str:
    """The name of the host's provider: apt on a host with both. Without any, apt, whose absence is then reported."""
    return "dnf" if is_here("dnf") and not is_here("apt") else "apt"
