"""The base of every kind: the properties all resources share, and the four methods a kind writes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from reactor.resource.claim import Claim
from reactor.resource.diagnostic import InvalidPropertiesError, Place, PropertyProblem
from reactor.resource.plan import Plan
from reactor.resource.properties import Duration, Flag, Rate, References, did_you_mean
from reactor.resource.watch import Watch


class Meta(BaseModel):
    """How the engine treats a resource, whatever its kind."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    noop: Flag = False
    """Only say what would be done."""
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
    semaphores: tuple[str, ...] = ()
    """Names, or ``name:count``, of which only so many may run at once."""
    automatic_edges: Flag = True
    """Whether the program may add ``require`` edges it found by itself."""


DEFAULT_META = Meta()
"""The very object that every resource without a ``meta`` of its own has."""


class Resource(BaseModel, ABC):
    """One thing on the host with a desired state.

    A kind is a subclass: ``class File(Resource, kind="file")``. Its fields are its properties. It writes
    `watches`, `observe` and `plan`, and where it makes sense `verify`, `conflicts`, `provides`, `removes`,
    `uses` and `claims`. Everything else is the engine's. Nothing here may keep what `observe` found as input to a later
    decision, except a stamp that proves the world has not moved since.
    """

    model_config = ConfigDict(extra="forbid")

    kind: ClassVar[str]
    providers: ClassVar[tuple[str, ...]] = ()

    name: Annotated[str, Field(min_length=1)]
    ensure: str
    alias: Annotated[str, Field(min_length=1)] | None = None
    provider: str | None = None
    require: References = ()
    subscribe: References = ()
    after: References = ()
    meta: Meta = DEFAULT_META

    _place: Place | None = PrivateAttr(default=None)

    def __init_subclass__(cls, *, kind: str = "", providers: tuple[str, ...] = (), **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if kind:
            cls.kind = kind
            cls.providers = providers

    @property
    def ref(self) -> str:
        """The identity in the graph: ``kind#name``."""
        return f"{self.kind}#{self.name}"

    @property
    def place(self) -> Place | None:
        """Where the manifest declares this resource; None for one built in Python."""
        return self._place

    @model_validator(mode="after")
    def _reject_conflicts(self) -> Resource:
        if problems := list(self.conflicts()):
            raise InvalidPropertiesError(problems)
        return self

    def conflicts(self) -> Iterable[PropertyProblem]:
        """What is wrong with the properties taken together. A kind extends it: ``yield from super()...``."""
        if self.provider is not None and self.provider not in self.providers:
            hint = did_you_mean(self.provider, self.providers) or f"providers: {', '.join(self.providers)}"
            yield PropertyProblem(("provider",), f"{self.kind} has no provider {self.provider!r}", hint)

    def watches(self) -> Iterable[Watch]:
        """What could make this drift. Declarations only."""
        return ()

    @abstractmethod
    async def observe(self) -> Any:
        """Read the world and return the state found, a value of the kind's own. Never changes anything.

        Raises ResourceError or OSError when the world can't be read.
        """

    @abstractmethod
    def plan(self, state: Any, *, refresh: bool) -> Plan:
        """What to do about ``state``. Pure: same state, same plan. An empty plan means: as desired.

        ``refresh`` tells that something this resource subscribes to has changed. Raises ResourceError when the
        desired state can't be reached from ``state``.
        """

    async def verify(self) -> Plan:
        """What is still to be done after an apply; anything but empty fails the resource."""
        return self.plan(await self.observe(), refresh=False)

    def provides(self) -> Iterable[str]:
        """Absolute paths that exist because of this resource."""
        return ()

    def removes(self) -> Iterable[str]:
        """Absolute paths that are gone because of this resource; what uses them goes first."""
        return ()

    def uses(self) -> Iterable[str]:
        """Absolute paths this relies on: each gives an edge from the nearest resource at or above it."""
        return ()

    def claims(self) -> Iterable[Claim]:
        """What this wants of things that another resource could want otherwise: then the manifest is refused."""
        return ()
