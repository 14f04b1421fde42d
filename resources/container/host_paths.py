"""Refuses directories of the host that another user could exchange below a container."""

from __future__ import annotations

from collections.abc import Sequence

from reactor import fragile_mounts
from reactor.resources.container.property_types import bind_sources
from reactor.resources.trusted_sources import refuse_foreign_place


async def refuse_foreign_volumes(volumes: Sequence[str]) -> None:
    """Raise ResourceError if another user can change where the path of a volume leads. A missing one is accepted.

    The runtime follows symlinks in it as root, at each start of the container, without asking us.
    """
    for source in bind_sources(volumes):
        await fragile_mounts().ask(source)
        refuse_foreign_place(source, "what of the host is in the container")
