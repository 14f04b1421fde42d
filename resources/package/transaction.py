"""What a transaction of a package manager changes beside what it was asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cmp_to_key
from typing import Final, NamedTuple

from reactor.resources.package.planner import Compare

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
