"""What a manifest is evaluated with besides its own string."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable


@runtime_checkable
class HostFacts(Protocol):
    """Facts that are gathered as they are read, and may change."""

    @property
    def is_used(self) -> bool:
        """Whether any was read."""

    @property
    def notes(self) -> list[str]:
        """What could not be had, and why."""

    def watch_paths(self) -> list[str]:
        """The paths at which a change may be one of the facts."""

    def refreshed(self) -> set[str]:
        """The keys of what has changed since it was read."""


_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Inputs(NamedTuple):
    """``facts`` about the host, gathered when they are read; ``environ``, the environment.

    ``data`` wins over the data of the manifest, and over those of the file ``site``, which win over them too;
    ``secrets`` are the paths in it that are secret, and ``remarks`` what people should know of it.
    ``moment`` is what time it is to all that is evaluated, None until a manifest is loaded.
    ``files`` are those that any of this came from. ``cache`` is where manifests from elsewhere are kept, unless it is
    the usual place.
    """

    facts: Mapping[str, Any] = _NOTHING
    environ: Mapping[str, str] = _NOTHING
    data: Mapping[str, Any] = _NOTHING
    files: tuple[str, ...] = ()
    cache: str | None = None
    site: str | None = None
    secrets: frozenset[tuple[str, ...]] = frozenset()
    remarks: tuple[str, ...] = ()
    moment: datetime | None = None

    def loaded_now(self) -> Self:
        """The same, for one load: one clock for its data, expressions, templates and child manifests."""
        return self._replace(moment=datetime.now(UTC))

    @property
    def fact_paths(self) -> list[str]:
        """The paths at which a change may be one of the facts that were read; none while none was."""
        return self.facts.watch_paths() if isinstance(self.facts, HostFacts) and self.facts.is_used else []

    def facts_changed(self) -> bool:
        """Whether a fact that was read is another now. Takes some milliseconds."""
        return isinstance(self.facts, HostFacts) and bool(self.facts.refreshed())

    @property
    def notes(self) -> list[str]:
        """What people should know: also what could not be had of the facts, and why."""
        return [*self.remarks, *(self.facts.notes if isinstance(self.facts, HostFacts) else ())]


NO_INPUTS = Inputs()
"""No facts, no environment, no data from outside."""
