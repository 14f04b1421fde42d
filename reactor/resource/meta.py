"""How the engine treats a resource, whatever its kind."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from reactor.resource.model import FrozenModel
from reactor.resource.properties import Duration, Flag, Rate, Semaphores
from reactor.resource.subscription import RefreshDebounce


class Meta(FrozenModel):
    """How the engine treats a resource, whatever its kind."""

    noop: Flag = False
    """Only say what would be done, as in a rehearsal."""
    mode: Literal["enforce", "warn"] = "enforce"
    """``warn``: detect only, for good. What differs is told as with ``noop``, and nothing is changed."""
    monitor_only: Flag = False
    """Only run the health checks."""
    quiet: RefreshDebounce | None = None
    """Gather refreshes: ``{for: 2s, at_most: 30s}``. Without it, each is made at once."""
    reverse: Flag = False
    """Undo it when it leaves the manifest: what was there before comes back."""
    retry: Annotated[int, Field(ge=-1)] | None = None
    """Further attempts after a failure; -1 is without end. Unset: without end, or none with --converge-once."""
    delay: Annotated[Duration, Field(gt=0)] = 1.0
    """Wait before the first retry; later waits grow from it."""
    timeout: Annotated[Duration, Field(gt=0)] | None = None
    """Longest time one check may take."""
    poll: Annotated[Duration, Field(gt=0)] | None = None
    """Check this often as well, for what sends no events."""
    limit: Rate | None = None
    """At most so many checks; what comes faster waits and is merged."""
    semaphores: Semaphores = ()
    """Names, or ``name:count``, of which only so many may run at once."""
    automatic_edges: Flag = True
    """Whether the program may add ``require`` edges it found by itself."""

    @property
    def only_tells(self) -> bool:
        """Whether nothing may be changed: a rehearsal and detecting only are the same to the engine."""
        return self.noop or self.mode == "warn"


DEFAULT_META = Meta.model_construct()
"""The very object that every resource without a ``meta`` of its own has."""
