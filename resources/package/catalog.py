"""The packages that the repositories offer, queried for many names at once; chooses the versions to install."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, replace

from reactor import ResourceError
from reactor.resources.package.planner import Change, Changes, Compare, Refusals


@dataclass(frozen=True, slots=True)
class Offer:
    """A package in the repositories.

    ``newest`` is the version that the package manager would choose, ``versions`` are all. ``newest`` is None if the
    preferences of the administrator keep all versions back. A virtual package has only ``providers``.
    """

    newest: str | None
    versions: tuple[str, ...]
    providers: tuple[str, ...] = ()


Ask = Callable[[Collection[str]], Awaitable[Mapping[str, Offer]]]


class Catalog:
    """Caches offers until ``stamp`` returns another value. Not for concurrent use."""

    def __init__(self, ask: Ask, stamp: Callable[[], Hashable]) -> None:
        self._ask = ask
        self._read_stamp = stamp
        self._stamp: Hashable = None
        self._wanted: set[str] = set()
        self._offers: Mapping[str, Offer] = {}
        self._known: set[str] = set()

    def want(self, name: str) -> None:
        """Add ``name`` to the next query."""
        self._wanted.add(name)

    async def offers(self, names: Collection[str]) -> Mapping[str, Offer]:
        """The offers for ``names``, and possibly others, by name. A package in no repository is missing."""
        stamp = self._read_stamp()
        if stamp != self._stamp or not self._known.issuperset(names):
            wanted = self._wanted.union(names)
            self._offers = await self._ask(sorted(wanted))
            self._stamp, self._known = stamp, wanted
        return self._offers

    def forget(self) -> None:
        """Drop the cached offers."""
        self._stamp = None


def choose(changes: Changes, offers: Mapping[str, Offer], compare: Compare) -> tuple[Changes, Refusals]:
    """Set the exact versions to install, and refuse packages without an offer. ``offers`` are by name.

    A package from a file needs no offer.
    """
    chosen: dict[str, Change] = {}
    refusals: Refusals = {}
    for ref, change in changes.items():
        try:
            chosen[ref] = change if change.file else _chosen(change, offers.get(change.name), compare)
        except ResourceError as refusal:
            refusals[ref] = refusal
    return chosen, refusals


def _chosen(change: Change, offer: Offer | None, compare: Compare) -> Change:
    """``change`` with the version as the repositories spell it: package managers find ``0:1.0`` in this form only."""
    missing = f"package#{change.name}"
    if offer is None:
        raise ResourceError(
            f'no repository has a package "{change.name}"',
            "correct the name, or add the repository that has it",
            missing=missing,
        )
    if offer.providers:
        return _provided(change, offer)
    there_is = f"there is {', '.join(offer.versions)}"
    if change.version is None:
        if offer.newest is None:
            raise ResourceError(
                f'the preferences of the package manager keep back every version of package "{change.name}"',
                f"correct them, or write one as ensure: {there_is}",
                missing=missing,
            )
        return change
    for version in offer.versions:
        if compare(version, change.version) == 0:
            return replace(change, version=version)
    words = f'no repository has version {change.version} of package "{change.name}"'
    raise ResourceError(words, there_is, missing=missing)


def _provided(change: Change, offer: Offer) -> Change:
    """``change`` for a virtual package, with its only provider. If there are several, the manifest must name one."""
    if len(offer.providers) == 1 and change.version is None:
        return change
    names = ", ".join(offer.providers)
    words = f'"{change.name}" is a virtual package'
    hint = f"name one of its providers: {names}"
    if change.version is not None:
        raise ResourceError(f"{words}, which has no versions", hint, missing=f"package#{change.name}")
    raise ResourceError(f"{words}, and several provide it", hint, missing=f"package#{change.name}")
