"""The base of every kind: the properties all resources share, and the four methods a kind writes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from reactor.errors import Place
from reactor.resource.claim import Claim, Exclusion
from reactor.resource.control import Control
from reactor.resource.deferred import Deferred
from reactor.resource.diagnostic import InvalidPropertiesError, PropertyProblem
from reactor.resource.health import HealthCheck
from reactor.resource.model import FrozenModel, Model
from reactor.resource.plan import Plan, ResourceError
from reactor.resource.presentation import Presentation
from reactor.resource.properties import Duration, Flag, Rate, References, Semaphores, did_you_mean
from reactor.resource.registration import Registration
from reactor.resource.sandbox_access import SandboxAccess
from reactor.resource.subscription import RefreshDebounce, Subscriptions
from reactor.resource.watch import Watch


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


def numbered(ref: str, number: int) -> str:
    """What the resource ``ref`` is called when it is the one with this number of its name, from 1."""
    return ref if number == 1 else f"{ref} ({number})"


class Resource(Presentation, Model, ABC):
    """One thing on the host with a desired state.

    A kind is a subclass: ``class File(Resource, kind="file")``. Its fields are its properties. It writes
    `watches`, `observe` and `plan`, and where it makes sense `verify`, `preflight`, `reversal`, `property_problems`, `provides`,
    `removes`, `depends_on_paths` and `claims`. Everything else is the engine's. Nothing here may keep what `observe` found as input to a later
    decision, except a stamp that proves the world has not moved since.
    """

    kind: ClassVar[str]
    providers: ClassVar[tuple[str, ...]] = ()
    example: ClassVar[str] = ""
    """What may follow ``reactor ensure KIND``, for its help."""
    deferred_properties: ClassVar[frozenset[str]] = frozenset()
    """Properties whose expressions are evaluated when the resource is checked, not when the manifest is loaded."""
    deferred: ClassVar[Deferred | None] = None
    """The expressions of this resource that are evaluated late; `settle_with` sets it on an instance."""
    members: ClassVar[tuple[str, ...]] = ()
    """The refs this resource stands for: it is changed, failed or ok by them. `stand_for` sets it on an instance."""
    weak_subscribe: ClassVar[bool] = False
    """Whether ``subscribe`` only tells of changes and does not require: `keep_to_ccm` sets it on an instance."""
    allow_automatic_edges: ClassVar[bool] = True
    """Whether the form of its manifest lets the program find edges; ``meta.automatic_edges`` must let it as well."""
    secrets: ClassVar[frozenset[str]] = frozenset()
    """Properties whose values must not be shown. `keep_secret` sets it on an instance."""
    may_undo: ClassVar[frozenset[str]] = frozenset()
    """The kinds of resources that a change by this kind may undo without their doing: a run that ends looks at those again."""
    brings_undeclared: ClassVar[bool] = False
    """Whether more comes with it than `provides` says, as with a package: a rehearsal can't tell then who misses that."""
    is_covered: ClassVar[bool] = False
    """Whether what goes later mounts something on its path: `be_covered` sets it on an instance."""
    declared: ClassVar[tuple[Callable[[int], Place], int] | None] = None
    """What finds the place of an offset in the manifest, and the offset of this. `declare_at` sets it on an instance."""

    name: Annotated[str, Field(min_length=1)]
    """What it is about; for a file, its path."""
    ensure: str
    """The desired state."""
    alias: Annotated[str, Field(min_length=1)] | None = None
    """A second name to refer to it by."""
    provider: str | None = None
    """Which implementation of the kind; by default the one that fits."""
    require: References = ()
    """These must be ok first."""
    subscribe: Subscriptions = ()
    """As ``require``, and be refreshed when they change."""
    after: References = ()
    """Order only: these go first if they have work; their failure does not block."""
    control: Control | None = None
    """Expressions that decide whether it is managed on this host."""
    health_checks: tuple[HealthCheck, ...] = ()
    """Commands and goss rules that tell whether it does its work."""
    register_when_stable: tuple[Registration, ...] = ()
    """CCM's service registrations; checked, and published nowhere."""
    meta: Meta = DEFAULT_META
    """How the engine treats it."""

    def __init_subclass__(cls, *, kind: str = "", providers: tuple[str, ...] = (), **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if kind:
            cls.kind = kind
            cls.providers = providers

    @cached_property
    def ref(self) -> str:
        """The identity in the graph: ``kind#name``, and a number after it where names may repeat."""
        return f"{self.kind}#{self.name}"

    def declare_at(self, locate: Callable[[int], Place], at: int, number: int = 1) -> None:
        """Say where the manifest declares it: ``locate`` is called when somebody asks. For the manifest only.

        Where names may repeat, it is the one with this ``number`` of its kind and name, from 1.
        """
        self.__dict__.update(declared=(locate, at), ref=numbered(f"{self.kind}#{self.name}", number))

    @property
    def place(self) -> Place | None:
        """Where the manifest declares this resource; None for one built in Python."""
        if self.declared is None:
            return None
        locate, at = self.declared
        return locate(at)

    def settle_with(self, late: Deferred) -> None:
        """Have expressions evaluated before each check. For the manifest only."""
        self.__dict__["deferred"] = late

    def stand_for(self, members: tuple[str, ...]) -> None:
        """Be changed, failed or ok by these refs instead of a check of its own. For the manifest only."""
        self.__dict__["members"] = members

    def keep_to_ccm(self, *, in_order: bool) -> None:
        """Be refreshed by what it subscribes to, but not blocked by it; ``in_order``, need no automatic edges.

        That is what the users of the ``ccm:`` form are used to. For the manifest only.
        """
        self.__dict__.update(weak_subscribe=True, allow_automatic_edges=not in_order)

    def keep_secret(self, properties: Iterable[str]) -> None:
        """Never show the values of these properties. For the manifest only."""
        self.__dict__["secrets"] = frozenset(properties)

    def be_covered(self) -> None:
        """Take no root of a file system for what is below it. For the graph only."""
        self.__dict__["is_covered"] = True

    @property
    def holds_secrets(self) -> bool:
        """Whether what it makes on the host may show a secret."""
        return bool(self.secrets)

    def become(self, other: Resource, secrets: frozenset[str]) -> None:
        """Take the place of ``other``, whose late values have changed."""
        self.__dict__.update(declared=other.declared, ref=other.ref, deferred=other.deferred, secrets=secrets)
        self.stand_for(other.members)

    def asks_the_same_as(self, other: Resource) -> bool:
        """Whether both ask for the same: kind, properties and members, wherever they are declared."""
        return (
            type(self) is type(other)
            and (self.members, self.is_covered) == (other.members, other.is_covered)
            and all(getattr(self, name) == getattr(other, name) for name in type(self).model_fields)
        )

    def rebind(self, other: Resource) -> None:
        """Take over the expressions of ``other``, which has the same values, and later may have others."""
        if other.deferred is not None or self.deferred is not None:
            self.__dict__["deferred"] = other.deferred

    def run_again(self) -> None:
        """A health check is critical: what is done once in a generation of the manifest is to be done again."""

    @property
    def unconditional(self) -> bool:
        """Whether it does its work once in every run, whatever it finds: then that is no repair of drift."""
        return False

    @model_validator(mode="after")
    def _reject_conflicts(self) -> Resource:
        if problems := list(self.property_problems()):
            raise InvalidPropertiesError(problems)
        return self

    def property_problems(self) -> Iterable[PropertyProblem]:
        """What is wrong with the properties taken together. A kind extends it: ``yield from super()...``."""
        if self.provider is not None and self.provider not in self.providers:
            hint = did_you_mean(self.provider, self.providers) or f"providers: {', '.join(self.providers)}"
            yield PropertyProblem(("provider",), f"{self.kind} has no provider {self.provider!r}", hint)
        if self.meta.reverse and type(self).reversal is Resource.reversal:
            hint = "remove reverse; what leaves the manifest is then let go"
            yield PropertyProblem(("meta", "reverse"), f"{self.kind} can't be undone", hint)

    def warnings(self) -> Iterable[PropertyProblem]:
        """What may be meant, and most likely is a mistake: the manifest is valid, and people are told."""
        return ()

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

    async def preflight(self, state: Any) -> None:
        """Raise the ResourceError that a change from ``state`` is known to end in, where looking closer tells it.

        Only a rehearsal asks this, where something would be changed: it may take longer than `observe`, and changes as
        little.
        """

    def ensuing(self, changed: Collection[str]) -> Sequence[str]:  # noqa: ARG002 - most do nothing about it
        """Sentences of what this would do because ``changed`` would be other: paths that others provide or remove.

        Only a rehearsal asks this, of what goes before: in a run, `observe` sees it.
        """
        return ()

    def group_key(self) -> Hashable | None:
        """Resources of one kind with equal keys, ready at the same time, are applied in one go; None: always alone.

        A key stays the same for the life of the resource. To change one may change others of the kind: a run that does
        not watch looks at all of them once more at its end.
        """
        return None

    @classmethod
    async def apply_group(cls, members: Sequence[Self]) -> Mapping[str, ResourceError]:
        """Bring all ``members``, which have equal keys, to their desired states in one go, in place of their plans.

        Returns, by ref, what kept single ones from it. Raises ResourceError or OSError when the whole failed and it is
        not known because of which: then those that are still not as desired are tried in halves, but for those whose
        refusals a GroupError tells. Whatever raises or returns, each member is verified by itself.
        """
        raise NotImplementedError

    async def reversal(self, state: Any) -> Resource:
        """What undoes this resource: one of the same kind and name that brings back ``state``.

        For ``meta: {reverse: true}``; a kind that does not write it can't be undone. Asked once, with what `observe`
        found before the first change, and written down: it is checked like any resource when this one has left the
        manifest, maybe by a later process. What is too big for a property is kept by `hold`. Raises ResourceError when
        ``state`` can't be brought back: then nothing is changed. A rehearsal asks only to know that.
        """
        raise NotImplementedError

    async def outputs(self) -> Mapping[str, Any] | None:
        """What expressions of other resources may take from this one, once it is as desired; None for nothing yet.

        By default, what `present` tells.
        """
        return await self.present()

    def purged_directory(self) -> str | None:
        """The directory in which it removes what nobody manages; what others do is told by `exclude_from_purge`."""
        return None

    def exclude_from_purge(self, managed: frozenset[str]) -> None:
        """Leave the paths ``managed`` alone, with all that is below them: other resources of the manifest provide them."""

    def provides(self) -> Iterable[str]:
        """Absolute paths, and accounts such as ``user#ada`` and ``group#33``, that exist because of this."""
        return ()

    def might_provide(self, missing: str) -> bool:  # noqa: ARG002 - others know more
        """Whether ``missing`` of a `ResourceError` may come by this, when it is applied. Only a rehearsal asks."""
        return True

    def reads(self) -> Collection[str]:
        """Absolute paths of files that say what is desired: a change of one is an edit, and not drift.

        One that ends with a slash stands for all that is in a directory.
        """
        return ()

    def removes(self) -> Iterable[str]:
        """Absolute paths and accounts that are gone because of this resource; what uses them goes first."""
        return ()

    def clears(self) -> Iterable[str]:
        """Absolute paths at or below which this takes away what is there now: an unmounted file system, a home, units.

        What uses or removes something there goes first, what is to be there comes after. One that ends in ``/`` is about
        what is below the directory only.
        """
        return ()

    def depends_on_paths(self) -> Iterable[str]:
        """Absolute paths and accounts this relies on: each gives an edge from the nearest resource at or above it.

        A path that ends in ``/`` stands for all that is in a directory: what is provided below it gives an edge too.
        """
        return ()

    def sandbox_access(self) -> Iterable[SandboxAccess | str]:
        """What the sandbox of the service has to leave open to this: needs, and absolute paths that it writes.

        With a kind that does not say, nothing is closed. What systemd or another service does when it is asked over its
        bus or socket needs nothing.
        """
        return (SandboxAccess.ANYTHING,)

    def claims(self) -> Iterable[Claim]:
        """What this wants of things that another resource could want otherwise: then the manifest is refused."""
        return ()

    def excludes(self) -> Iterable[Exclusion]:
        """What this leaves no room for: a claim of another resource there is a contradiction as well."""
        return ()
