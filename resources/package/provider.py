"""What both package managers have in common: one transaction at a time, and a fresh look before each."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from reactor import GroupError, ResourceError, emit_output
from reactor.resources.download.source import is_url
from reactor.resources.package.catalog import Catalog, choose
from reactor.resources.package.commands import released
from reactor.resources.package.database import Database, stamps_of
from reactor.resources.package.error_lines import complaint
from reactor.resources.package.observer import PackageObserver, tell_lines
from reactor.resources.package.package_files import PackageFiles
from reactor.resources.package.planner import (
    Change,
    Changes,
    Desired,
    Refusals,
    Step,
    plan_package,
)
from reactor.resources.package.transaction import (
    NOTHING,
    Others,
    Preflight,
    Versions,
    beginning,
    others_between,
)
from reactor.resources.process import Completed, missing_rights

_MARKS: Final = (Step.HOLD, Step.RELEASE)
"""Changes of what is known of a package, and not of the package."""

FRESH: Final = 300.0
"""Seconds for which lists are new enough to say that a package is in no repository."""


class Applied(NamedTuple):
    """What became of wishes, by the refs of the resources: why some can't be made true, and what else was changed."""

    refusals: Refusals
    others: Mapping[str, str]


class Provider(PackageObserver):
    """One package manager: it looks at packages, as `PackageObserver`, and changes them in transactions."""

    def __init__(self, database: Database, catalog: Catalog) -> None:
        super().__init__(database, catalog)
        self._preflight = Preflight(self._simulate_wishes, self._one_at_a_time)

    async def apply(self, all_desired: Mapping[str, Desired]) -> Applied:
        """Make all wishes true in as few transactions as can be.

        Raises GroupError when a transaction failed, and it is not known because of which.
        """
        async with self._one_at_a_time:
            await released(self.database.lock)
            await self.database.load()
            before = self.database.versions()
            await self._mend(
                [desired for desired in all_desired.values() if not (await self._look(desired)).is_whole]
            )
            changes, refusals = await self._decide(all_desired)
            try:
                await self._release(
                    [all_desired[ref].name for ref in changes if all_desired[ref].hold is not None]
                )
                await self._change(all_desired, _without_marks(changes), refusals)
                await self._hold(
                    [all_desired[ref].name for ref in changes.keys() - refusals if all_desired[ref].hold]
                )
            except ResourceError as error:
                if told := (await self._others(before, all_desired)).told("it has also"):
                    emit_output(f"the transaction failed{told}")
                raise GroupError(error.message, error.hint, refusals=refusals) from error
            others = await self._others(before, all_desired)
            return Applied(refusals, _told_to_each({ref: all_desired[ref] for ref in changes}, others))

    async def preflight(self, desired: Desired) -> None:
        """Raise what `apply` would for want of a package in the repositories; lists are fetched as that would."""
        self._catalog.want(desired.name)
        async with self._one_at_a_time:
            change = plan_package(desired, await self._look(desired), self.compare)
            if change is None or change.step.is_removal or change.step in _MARKS:
                return
            if desired.source is not None:
                await self._rehearse_file(desired)
                return
            _, refusals = await self._choose({desired.name: change})
            if refusals and self._has_lists():
                raise refusals[desired.name]

    async def foresee(self, desired: Desired) -> str:
        """What else would change with the package, as the end of a sentence.

        Raises ResourceError when the transaction would be refused.
        """
        if not self._has_lists():
            return "; what else would change is not known: there are no package lists"
        if missing_rights() is not None and not self.simulates_for_all:
            return f"; what else would change is not known: {self.program} tells it to root only"
        return await self._preflight.tell(desired)

    async def fetch_from(self, file: str) -> None:
        """Fetch what one repository offers, of which nobody else knows yet: ``file`` describes it, alone in its directory.

        Raises ResourceError when it can't be reached or trusted.
        """
        async with self._one_at_a_time:
            await self._fetch_from(file)

    @abstractmethod
    async def _fetch_from(self, file: str) -> None: ...

    @abstractmethod
    async def _mend(self, broken: Iterable[Desired]) -> None:
        """Let an interrupted transaction come to its end."""

    @abstractmethod
    async def _hold(self, names: Collection[str]) -> None:
        """Have the package manager keep packages as they are. Raises ResourceError when that fails."""

    @abstractmethod
    async def _release(self, names: Collection[str]) -> None:
        """Let packages be changed again, whether they are held or not. Raises ResourceError when that fails."""

    @abstractmethod
    async def _answer(self, answers: Collection[str]) -> None:
        """Tell whoever asks questions during an installation the answers."""

    @abstractmethod
    async def _install(self, changes: Changes) -> Completed: ...

    @abstractmethod
    async def _remove(self, changes: Changes) -> Completed: ...

    @abstractmethod
    async def _simulate(self, changes: Changes) -> Others:
        """What one transaction would change beside what it is asked for. Raises ResourceError when it would be refused."""

    async def _simulate_wishes(self, all_desired: Mapping[str, Desired]) -> Others:
        decided, refusals = await self._decide(all_desired)
        changes: Changes = _without_marks(decided)
        with self._files() as files:
            if any(not change.step.is_removal for change in changes.values()):
                changes, unusable = await files.put_in(all_desired, changes)
                changes, unavailable = await self._choose(changes)
                refusals |= unusable | unavailable
            for refusal in refusals.values():
                raise refusal
            return await self._simulate(changes) if changes else NOTHING

    async def _rehearse_file(self, desired: Desired) -> None:
        """Raise what keeps the file of ``desired`` from being installed. A server is not asked, but by a simulation."""
        if not is_url(desired.source or ""):
            with self._files() as files:
                await files.copy_of(desired)

    async def _others(self, before: Versions, all_desired: Mapping[str, Desired]) -> Others:
        """What has changed since, beside what was asked for."""
        await self._catch_up()
        asked = {desired.name for desired in all_desired.values()}
        return others_between(before, self.database.versions(), asked, self.compare)

    async def _change(self, all_desired: Mapping[str, Desired], changes: Changes, refusals: Refusals) -> None:
        """Remove what is to go, then install the rest; what can't be done is added to ``refusals``."""
        removals = {ref: change for ref, change in changes.items() if change.step.is_removal}
        if removals:
            refusals.update(await self._finish(all_desired, removals, await self._remove(removals)))
        if wanted := {ref: change for ref, change in changes.items() if ref not in removals}:
            with self._files() as files:
                usable, unusable = await files.put_in(all_desired, wanted)
                refusals.update(unusable)
                await self._bring(all_desired, usable, refusals, files)

    async def _bring(
        self, all_desired: Mapping[str, Desired], wanted: Changes, refusals: Refusals, files: PackageFiles
    ) -> None:
        """Install what is ``wanted``; what is in no repository is added to ``refusals``."""
        installs, unavailable = await self._choose(wanted)
        await self._answer([all_desired[ref].answers for ref in installs])
        completed = await self._install(installs) if installs else None
        if completed is not None and self._was_outdated(completed):
            await self._try_to_refresh()
            wanted, _ = await self._decide({ref: all_desired[ref] for ref in wanted})
            wanted, _ = await files.put_in(all_desired, wanted)
            installs, unavailable = await self._choose_from_lists(wanted)
            completed = await self._install(installs) if installs else None
        refusals.update(unavailable)
        if completed is not None:
            refusals.update(await self._finish(all_desired, installs, completed))

    def _was_outdated(self, completed: Completed) -> bool:
        """Whether fresh lists may help: repositories drop a version when there is a newer one."""
        output = completed.stdout + completed.stderr
        return any(words in output for words in self.fetch_complaints) and self._age() > self._freshness()

    async def _decide(self, all_desired: Mapping[str, Desired]) -> tuple[Changes, Refusals]:
        changes: dict[str, Change] = {}
        refusals: Refusals = {}
        for ref, desired in all_desired.items():
            try:
                change = plan_package(desired, await self._look(desired), self.compare)
            except ResourceError as held:
                refusals[ref] = held
            else:
                if change is not None:
                    changes[ref] = change
        return changes, refusals

    async def _choose(self, changes: Changes) -> tuple[Changes, Refusals]:
        """Put in the very versions to install. What no repository has is refused, after a look at fresh lists."""
        chosen, refusals = await self._choose_from_lists(changes)
        if refusals and self._age() > self._freshness():
            await self._try_to_refresh()
            chosen, refusals = await self._choose_from_lists(changes)
        return chosen, refusals

    def _freshness(self) -> float:
        """Seconds for which lists are believed: less than `FRESH` if repositories were added since they were fetched."""
        changes = [stamp.modified / 1e9 for stamp in stamps_of(self.sources) if stamp]
        return min(FRESH, time.time() - max(changes, default=0.0))

    async def _choose_from_lists(self, changes: Changes) -> tuple[Changes, Refusals]:
        names = [change.name for change in changes.values() if not change.file]
        offers = await self._catalog.offers(names) if names else {}
        return choose(changes, offers, self.compare)

    async def _finish(
        self, all_desired: Mapping[str, Desired], changes: Changes, completed: Completed
    ) -> Refusals:
        """Judge a transaction by what it reached: a package that was broken before fails those of others.

        Returns what one that succeeded did not do. Raises ResourceError for one that failed.
        """
        self.database.forget()
        left, _ = await self._decide({ref: replace(all_desired[ref], hold=None) for ref in changes})
        if completed.exit_code == 0:
            return {ref: self._ignored(change) for ref, change in left.items()}
        words = complaint(completed)
        if not left:
            tell_lines(
                f"{self.program} exited {completed.exit_code}, but not because of what was asked for:{words}"
            )
            return {}
        names = ", ".join(f'"{change.name}"' for change in left.values())
        verb = "uninstall" if next(iter(left.values())).step.is_removal else "install"
        raise ResourceError(
            f"failed to {verb} package {names}, {self.program} exited {completed.exit_code}{words}",
            missing_rights() or self._advice(words),
        )

    def _advice(self, words: str) -> str | None:  # noqa: ARG002 - a provider may know what they mean
        """How to mend what the package manager complains of in ``words``, where it does not say so itself."""
        return None

    def _ignored(self, change: Change) -> ResourceError:
        command = "remove" if change.step.is_removal else "install"
        return ResourceError(
            f'{self.program} succeeded, but package "{change.name}" is not {change.step}',
            f"another may have taken its place: see what {self.program} {command} {change.name} says",
        )


def _told_to_each(changed: Mapping[str, Desired], others: Others) -> dict[str, str]:
    """What each of those that were changed in one transaction tells of what else that did."""
    told = {}
    for ref in changed:
        companions = [desired.name for other, desired in changed.items() if other != ref]
        told[ref] = others.told(beginning(companions, would=False))
    return told


def _without_marks(changes: Changes) -> dict[str, Change]:
    return {ref: change for ref, change in changes.items() if change.step not in _MARKS}
