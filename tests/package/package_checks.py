"""Packages of the manager of a host."""

from __future__ import annotations

from reactor.resources.package import Package


def package(host, name, ensure="present", **properties):
    """A package of the manager of ``host``."""
    return Package(name=name, ensure=ensure, provider=host.manager, **properties)
