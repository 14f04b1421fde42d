"""Describes the changes of a transaction besides the requested ones, and protects the packages of this process."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, cmp_to_key
from typing import Final, NamedTuple

import trio

from reactor import ResourceError
from reactor.resources.enumeration import listed
from reactor.resources.package.planner import Compare, Desired

Versions = Mapping[str, frozenset[str]]
"""The versions of each installed package; most have one."""


class Others(NamedTuple):
    """The other packages that a transaction changes, for messages: each with its name and versions."""

    installed: tuple[str, ...] = ()
    upgraded: tuple[str, ...] = ()
    downgraded: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def description(self, beginning: str) -> str:
        """The end of a sentence about all changes, after ``beginning``; empty if there are none."""
        parts = ("removed", self.removed), ("installed", self.installed), ("upgraded", self.upgraded)
        description = [
            f"{verb} {listed(some)}" for verb, some in (*parts, ("downgraded", self.downgraded)) if some
        ]
        return f"; {beginning} {', '.join(description)}" if description else ""


NOTHING: Final = Others()


def beginning(companions: Sequence[str], *, would: bool) -> str:
    """The beginning of that part of a sentence, for a package that is changed together with ``companions``."""
    if not companions:
        return "would also have" if would else "also"
    others = companions[0] if len(companions) == 1 else f"{len(companions)} other packages"
    return f"one transaction with {others} {'would also have' if would else 'also'}"


def others_between(before: Versions, after: Versions, asked: Collection[str], compare: Compare) -> Others:
    """The changes between two states of the host, without the packages that were ``asked`` for."""
    found: dict[str, list[str]] = {kind: [] for kind in Others._fields}
    for name in sorted(before.keys() | after.keys()):
        if name not in asked and before.get(name) != after.get(name):
            for kind, text in _changes(
                name, before.get(name, frozenset()), after.get(name, frozenset()), compare
            ):
                found[kind].append(text)
    return Others(**{kind: tuple(texts) for kind, texts in found.items()})


def _changes(
    name: str, before: frozenset[str], after: frozenset[str], compare: Compare
) -> Iterator[tuple[str, str]]:
    """The field of `Others` and the message for each change of one package."""
    if not after:
        yield "removed", name
    elif len(before) == len(after) == 1:
        (old,), (new,) = before, after
        yield moved(name, old, new, compare)
    else:
        oldest_first = cmp_to_key(compare)
        for version in sorted(after - before, key=oldest_first):
            yield "installed", f"{name} {version}"
        for version in sorted(before - after, key=oldest_first):
            yield "removed", f"{name} {version}"


def moved(name: str, old: str, new: str, compare: Compare) -> tuple[str, str]:
    """The field of `Others` and the message for a package whose version changes."""
    return "upgraded" if compare(old, new) < 0 else "downgraded", f"{name} from {old} to {new}"


Simulate = Callable[[Mapping[str, Desired]], Awaitable[Others]]
"""Simulates one transaction for the desired states, by package name. Raises ResourceError."""


class Preflight:
    """Simulates many dry runs at once.

    The task with ``lock`` simulates one transaction for all tasks that wait for it.
    """

    def __init__(self, simulate: Simulate, lock: trio.Lock) -> None:
        self._simulate = simulate
        self._lock = lock
        self._waiting: dict[Desired, None] = {}
        self._answers: dict[Desired, str | ResourceError] = {}

    async def predict(self, desired: Desired) -> str:
        """The other changes, as the end of a sentence. Raises ResourceError when the transaction would be refused."""
        self._waiting[desired] = None
        async with self._lock:
            if desired in self._waiting:
                await self._answer([each for each in self._waiting if _goes_with(each, desired)])
            answer = self._answers[desired]
        if isinstance(answer, ResourceError):
            raise answer
        return answer

    async def _answer(self, all_desired: list[Desired]) -> None:
        """Simulate the transaction. If it would be refused, add one package after the other, to find the culprits."""
        for desired in all_desired:
            del self._waiting[desired]
        try:
            self._accept(all_desired, await self._simulation_of(all_desired))
        except ResourceError as refusal:
            if len(all_desired) == 1:
                self._answers[all_desired[0]] = refusal
            else:
                await self._find_culprits(all_desired)

    async def _find_culprits(self, all_desired: list[Desired]) -> None:
        well: list[Desired] = []
        others = NOTHING
        for desired in all_desired:
            try:
                others = await self._simulation_of([*well, desired])
            except ResourceError as refusal:
                self._answers[desired] = await self._refusal_of(desired, refusal)
            else:
                well.append(desired)
        self._accept(well, others)

    async def _refusal_of(self, desired: Desired, together: ResourceError) -> ResourceError:
        """Why ``desired`` alone would be refused; if it would not, why it would be ``together`` with the others."""
        try:
            await self._simulation_of([desired])
        except ResourceError as refusal:
            return refusal
        return together

    async def _simulation_of(self, all_desired: list[Desired]) -> Others:
        return await self._simulate({desired.name: desired for desired in all_desired})

    def _accept(self, all_desired: list[Desired], others: Others) -> None:
        for desired in all_desired:
            companions = [each.name for each in all_desired if each is not desired]
            self._answers[desired] = others.description(beginning(companions, would=True))


def _goes_with(one: Desired, other: Desired) -> bool:
    """Whether one transaction can change both."""
    return one.transaction == other.transaction


@cache
def own_files() -> tuple[str, ...]:
    """The interpreter, the libraries and the modules of this process, with all their names on a merged ``/usr``."""
    files = {os.path.realpath(sys.executable), *_mapped(), *_modules()}
    files |= {
        path.removeprefix("/usr") for path in files if path.startswith(("/usr/lib", "/usr/bin", "/usr/sbin"))
    }
    return tuple(sorted(files))


def refusal_of_own(name: str, asked: Collection[str]) -> ResourceError:
    """The error for a transaction that would remove the package ``name``, which this process needs."""
    others = "" if name in asked else f" (it would be removed with {', '.join(asked)})"
    return ResourceError(
        f"refusing to remove {name}, which reactor itself runs on{others}",
        "if that is intended, do it by hand, or have reactor run on another interpreter",
    )


def _mapped() -> set[str]:
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        paths = (line.rstrip("\n").partition("/")[2] for line in maps)
        return {f"/{path}" for path in paths if path and not path.endswith(" (deleted)") and ".so" in path}


def _modules() -> set[str]:
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return {os.path.realpath(file) for file in files if isinstance(file, str)}
