"""Which of the versions that the repositories offer is to be installed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reactor import ResourceError
from reactor.resources.package.catalog import Offer
from reactor.resources.package.planner import Change, Changes, Compare, Refusals


def choose(changes: Changes, offers: Mapping[str, Offer], compare: Compare) -> tuple[Changes, Refusals]:
    """Put in the very versions to install; refuse what is not on offer. Files need none. ``offers`` are by name."""
    chosen: dict[str, Change] = {}
    refusals: Refusals = {}
    for ref, change in changes.items():
        try:
            chosen[ref] = change if change.file else _chosen(change, offers.get(change.name), compare)
        except ResourceError as refusal:
            refusals[ref] = refusal
    return chosen, refusals


def _chosen(change: Change, offer: Offer | None, compare: Compare) -> Change:
    """The version wanted as the repositories spell it: package managers find ``0:1.0`` by no other name."""
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
    """A virtual package that is provided by one other; of several, the manifest has to name one."""
    if len(offer.providers) == 1 and change.version is None:
        return change
    names = ", ".join(offer.providers)
    words = f'"{change.name}" is a virtual package'
    hint = f"name one of those that provide it: {names}"
    if change.version is not None:
        raise ResourceError(f"{words}, which has no versions", hint, missing=f"package#{change.name}")
    raise ResourceError(f"{words}, and several provide it", hint, missing=f"package#{change.name}")
