"""What a transaction of a package manager changes beside what it was asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, cmp_to_key
from typing import Final, NamedTuple

import trio

from reactor import ResourceError
from reactor.resources.package.planner import Compare, Desired

Versions = Mapping[str, frozenset[str]]
"""The versions of each package that is there: of most one."""


class Others(NamedTuple):
    """The packages that are changed beside those asked for, each as it is told: its name, and the versions it has or had."""

    installed: tuple[str, ...] = ()
    upgraded: tuple[str, ...] = ()
    downgraded: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def told(self, beginning: str) -> str:
        """The end of a sentence: all that there is, after ``beginning``; empty when there is none."""
        parts = ("removed", self.removed), ("installed", self.installed), ("upgraded", self.upgraded)
        told = [f"{verb} {_listed(some)}" for verb, some in (*parts, ("downgraded", self.downgraded)) if some]
        return f"; {beginning} {', '.join(told)}" if told else ""


NOTHING: Final = Others()


def beginning(companions: Sequence[str], *, would: bool) -> str:
    """How the sentence goes on for a package that is changed together with ``companions``."""
    if not companions:
        return "would also have" if would else "also"
    who = companions[0] if len(companions) == 1 else f"{len(companions)} other packages"
    return f"one transaction with {who} {'would also have' if would else 'also'}"


def others_between(before: Versions, after: Versions, asked: Collection[str], compare: Compare) -> Others:
    """What has changed from one state of the host to another, without the packages that were ``asked`` for."""
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
    """The field of `Others` and the words for each change of one package."""
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
    """The field of `Others` and the words for a package whose version changes."""
    return "upgraded" if compare(old, new) < 0 else "downgraded", f"{name} from {old} to {new}"


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


Simulate = Callable[[Mapping[str, Desired]], Awaitable[Others]]
"""Simulates the one transaction that makes wishes true, by the names of their packages. Raises ResourceError."""


class Preflight:
    """Gathers the wishes of those who wait for ``lock``: who gets it asks for all of them."""

    def __init__(self, simulate: Simulate, lock: trio.Lock) -> None:
        self._simulate = simulate
        self._lock = lock
        self._waiting: dict[Desired, None] = {}
        self._answers: dict[Desired, str | ResourceError] = {}

    async def tell(self, desired: Desired) -> str:
        """What else would change, as the end of a sentence. Raises ResourceError when the transaction would be refused."""
        self._waiting[desired] = None
        async with self._lock:
            if desired in self._waiting:
                await self._answer([each for each in self._waiting if _goes_with(each, desired)])
            answer = self._answers[desired]
        if isinstance(answer, ResourceError):
            raise answer
        return answer

    async def _answer(self, all_desired: list[Desired]) -> None:
        """Of a transaction that would be refused as a whole, each is asked for by itself: so a run would find the culprit."""
        for desired in all_desired:
            del self._waiting[desired]
        try:
            others = await self._simulate({desired.name: desired for desired in all_desired})
        except ResourceError as refusal:
            if len(all_desired) == 1:
                self._answers[all_desired[0]] = refusal
                return
            for desired in all_desired:
                self._waiting[desired] = None
                await self._answer([desired])
            return
        for desired in all_desired:
            companions = [each.name for each in all_desired if each is not desired]
            self._answers[desired] = others.told(beginning(companions, would=True))


def _goes_with(one: Desired, other: Desired) -> bool:
    """Whether one transaction would be for both: what is to go leaves in another."""
    return one.transaction == other.transaction


@cache
def own_files() -> tuple[str, ...]:
    """The interpreter, what is mapped into this process, and the modules it has loaded; by all names of a merged ``/usr``."""
    files = {os.path.realpath(sys.executable), *_mapped(), *_modules()}
    files |= {
        path.removeprefix("/usr") for path in files if path.startswith(("/usr/lib", "/usr/bin", "/usr/sbin"))
    }
    return tuple(sorted(files))


def refusal_of_own(name: str, asked: Collection[str]) -> ResourceError:
    """Why a transaction that was ``asked`` for is not made: it would remove the package ``name``."""
    others = "" if name in asked else f" (it would go with {', '.join(asked)})"
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
