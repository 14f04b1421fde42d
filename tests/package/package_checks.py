"""Packages of the manager of a host, and how their checks end."""

from __future__ import annotations

from reactor.engine.options import RunOptions
from reactor.resources.package import Package
from reactor.testing.story import converge_once


def package(host, name, ensure="present", **properties):
    """A package of the manager of ``host``."""
    return Package(name=name, ensure=ensure, provider=host.manager, **properties)


async def converge(resource, **options):
    """One run over the resource: how its check ended."""
    _, story = await converge_once(resource, options=RunOptions(**options))
    (check,) = story.checks(resource.ref)
    return check
