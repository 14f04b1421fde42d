"""The base class of both providers. Runs one transaction at a time, planned from the state right before it."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from reactor import GroupError, ResourceError, emit_output
from reactor.resources.download.source import is_url
from reactor.resources.enumeration import listed
from reactor.resources.package.catalog import Catalog, choose
from reactor.resources.package.database import Database, stamps_of
from reactor.resources.package.error_lines import cause_of, error_lines, failed_scripts
from reactor.resources.package.locks import refuse_forbidden, released
from reactor.resources.package.observer import PackageObserver, emit_lines
from reactor.resources.package.package_files import PackageFiles
from reactor.resources.package.planner import (
    Change,
    Changes,
    Desired,
    Refusals,
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

FRESH: Final = 300.0
"""Seconds for which package lists are new enough to conclude that a package is in no repository."""


class Applied(NamedTuple):
    """The result of `Provider.apply` by ref: the errors, and the other changes for messages."""

    refusals: Refusals
    others: Mapping[str, str]


class Provider(PackageObserver):
    """One package manager: reads packages, as `PackageObserver`, and changes them in transactions."""

    def __init__(self, database: Database, catalog: Catalog) -> None:
        super().__init__(database, catalog)
        self._kept: Collection[str] = ()
        self._preflight = Preflight(self._simulate_desired, self._one_at_a_time)

    async def apply(self, all_desired: Mapping[str, Desired], kept: Collection[str] = ()) -> Applied:
        """Change all packages to their desired states, in as few transactions as possible.

        No installation removes a package in ``kept``, which the manifest has. Raises GroupError when a transaction failed and
        the package that caused it is unknown.
        """
        async with self._one_at_a_time:
            self._kept = kept
            await released(*self.database.locks)
            await self.database.load()
            before = self.database.versions()
            broken = {
                ref: desired
                for ref, desired in all_desired.items()
                if not (await self._observe(desired)).is_whole
            }
            await self._repair(broken.values())
            changes, refusals = await self._decide(all_desired)
            try:
                await self._release(
                    [all_desired[ref].name for ref in changes if all_desired[ref].hold is not None]
                )
                await self._change(all_desired, _without_marks(changes), refusals)
                await self._keep_all(all_desired[ref].name for ref in changes.keys() - refusals)
                await self._hold(
                    [all_desired[ref].name for ref in changes.keys() - refusals if all_desired[ref].hold]
                )
            except ResourceError as error:
                if description := (await self._others(before, all_desired)).description("it has also"):
                    emit_output(f"the transaction failed{description}")
                raise GroupError(error.message, error.hint, refusals=refusals) from error
            others = await self._others(before, all_desired)
            changed = {ref: all_desired[ref] for ref in (*_without_marks(changes), *broken)}
            return Applied(refusals, _notes_for_each(changed, others))

    async def preflight(self, desired: Desired) -> None:
        """Raise the ResourceError of `apply` for a package in no repository, or where this user may change none.

        Fetches package lists as `apply` does.
        """
        self._catalog.want(desired.name)
        async with self._one_at_a_time:
            change = plan_package(desired, await self._observe(desired), self.compare)
            if change is None:
                return
            refuse_forbidden(self.database.locks)
            if change.step.is_removal or change.step.is_mark:
                return
            if desired.source is not None:
                await self._check_file(desired)
                return
            _, refusals = await self._choose({desired.name: change})
            if refusals and self._has_lists():
                raise refusals[desired.name]

    async def predict(self, desired: Desired, kept: Collection[str] = ()) -> str:
        """The other changes that the change of the package would cause, as the end of a sentence.

        Raises ResourceError when the transaction would be refused.
        """
        if not self._has_lists():
            return "; what else would change is not known: there are no package lists"
        if missing_rights() is not None and not self.simulates_for_all:
            return f"; what else would change is not known: {self.program} simulates it for root only"
        self._kept = kept
        return await self._preflight.predict(desired)

    def _refuse_to_lose(self, removed: Collection[str], names: Collection[str]) -> None:
        """Raise ResourceError if the installation of ``names`` would remove a package that the manifest has."""
        if lost := [name for name in removed if name in self._kept]:
            words = f"can't install {listed(list(names))}: that would remove {listed(lost)}, which the manifest has, too"
            raise ResourceError(words, "the packages exclude each other: remove one from the manifest")

    async def fetch_from(self, file: str) -> None:
        """Fetch the lists of a new repository. ``file`` describes it, and is the only file in its directory.

        Raises ResourceError when it can't be reached or trusted.
        """
        async with self._one_at_a_time:
            await self._fetch_from(file)

    @abstractmethod
    async def _fetch_from(self, file: str) -> None: ...

    @abstractmethod
    async def _repair(self, broken: Collection[Desired]) -> None:
        """Complete an interrupted transaction."""

    @abstractmethod
    async def _hold(self, names: Collection[str]) -> None:
        """Hold packages at their versions. Raises ResourceError."""

    @abstractmethod
    async def _release(self, names: Collection[str]) -> None:
        """Release packages, whether they are held or not. Raises ResourceError."""

    async def _keep_all(self, names: Iterable[str]) -> None:
        """Mark as manually installed what is still there as a dependency: installing it may have done so."""
        await self._catch_up()
        if automatic := [name for name in names if self.database.find(name).is_automatic]:
            await self._keep(automatic)

    @abstractmethod
    async def _keep(self, names: Collection[str]) -> None:
        """Mark packages as manually installed. Raises ResourceError."""

    @abstractmethod
    async def _answer(self, answers: Collection[str]) -> None:
        """Store the answers to the questions that an installation asks."""

    @abstractmethod
    async def _install(self, changes: Changes) -> Completed: ...

    @abstractmethod
    async def _remove(self, changes: Changes) -> Completed: ...

    @abstractmethod
    async def _simulate(self, changes: Changes) -> Others:
        """The other changes that a transaction would make. Raises ResourceError when it would be refused."""

    @abstractmethod
    async def _refuse_more(self, changes: Changes, others: Others) -> None:
        """Raise ResourceError if an installation would fail for a reason that a simulation does not test.

        That is a file of another package that would be overwritten, or a package that can't be authenticated.

        Only packages that are on this host already are read: nothing is downloaded.
        """

    async def _simulate_desired(self, all_desired: Mapping[str, Desired]) -> Others:
        decided, refusals = await self._decide(all_desired)
        changes: Changes = _without_marks(decided)
        with self._files() as files:
            if any(not change.step.is_removal for change in changes.values()):
                changes, unusable = await files.with_files(all_desired, changes)
                changes, unavailable = await self._choose(changes)
                refusals |= unusable | unavailable
            for refusal in refusals.values():
                raise refusal
            if not changes:
                return NOTHING
            others = await self._simulate(changes)
            if any(not change.step.is_removal for change in changes.values()):
                await self._refuse_more(changes, others)
            return others

    async def _check_file(self, desired: Desired) -> None:
        """Raise ResourceError when the file of ``desired`` can't be installed. Only a simulation downloads a URL."""
        if not is_url(desired.source or ""):
            with self._files() as files:
                await files.copy_of(desired)

    async def _others(self, before: Versions, all_desired: Mapping[str, Desired]) -> Others:
        """The other changes since ``before``."""
        await self._catch_up()
        asked = await self._names_of([desired.name for desired in all_desired.values()])
        return others_between(before, self.database.versions(), asked, self.compare)

    async def _names_of(self, names: Collection[str]) -> Collection[str]:
        """The ``names`` of resources as the database of the package manager spells them."""
        return names

    async def _change(self, all_desired: Mapping[str, Desired], changes: Changes, refusals: Refusals) -> None:
        """Remove packages, then install the others. Errors of single packages are added to ``refusals``."""
        self.database.forget()  # a timeout may end it at any time
        removals = {ref: change for ref, change in changes.items() if change.step.is_removal}
        if removals:
            refusals.update(await self._finish(all_desired, removals, await self._remove(removals)))
        if wanted := {ref: change for ref, change in changes.items() if ref not in removals}:
            with self._files() as files:
                usable, unusable = await files.with_files(all_desired, wanted)
                refusals.update(unusable)
                await self._install_all(all_desired, usable, refusals, files)

    async def _install_all(
        self, all_desired: Mapping[str, Desired], wanted: Changes, refusals: Refusals, files: PackageFiles
    ) -> None:
        """Install the ``wanted`` packages. Packages in no repository are added to ``refusals``."""
        installs, unavailable = await self._choose(wanted)
        await self._answer([all_desired[ref].answers for ref in installs])
        completed = await self._install(installs) if installs else None
        if completed is not None and self._was_outdated(completed):
            await self._try_to_refresh()
            wanted, _ = await self._decide({ref: all_desired[ref] for ref in wanted})
            wanted, _ = await files.with_files(all_desired, wanted)
            installs, unavailable = await self._choose_from_lists(wanted)
            completed = await self._install(installs) if installs else None
        refusals.update(unavailable)
        if completed is not None:
            refusals.update(await self._finish(all_desired, installs, completed))

    def _was_outdated(self, completed: Completed) -> bool:
        """Whether new lists may help after this failure: repositories drop a version when there is a newer one."""
        output = completed.stdout + completed.stderr
        return any(words in output for words in self.fetch_complaints) and self._age() > self._freshness()

    async def _decide(self, all_desired: Mapping[str, Desired]) -> tuple[Changes, Refusals]:
        changes: dict[str, Change] = {}
        refusals: Refusals = {}
        for ref, desired in all_desired.items():
            try:
                change = plan_package(desired, await self._observe(desired), self.compare)
            except ResourceError as held:
                refusals[ref] = held
            else:
                if change is not None:
                    changes[ref] = change
        return changes, refusals

    async def _choose(self, changes: Changes) -> tuple[Changes, Refusals]:
        """Set the exact versions to install. A package in no repository is refused, after new lists were fetched."""
        chosen, refusals = await self._choose_from_lists(changes)
        if refusals and self._age() > self._freshness():
            await self._try_to_refresh()
            chosen, refusals = await self._choose_from_lists(changes)
        if self._not_refreshed:
            refusals = {ref: self._in_old_lists(refusal) for ref, refusal in refusals.items()}
        return chosen, refusals

    def _in_old_lists(self, refusal: ResourceError) -> ResourceError:
        """``refusal``, with the reason for which the lists may be wrong."""
        reason = cause_of(self._not_refreshed)
        words = f"{refusal.message}; but the package lists could not be refreshed: {reason}"
        return ResourceError(words, f"see to that first; else {refusal.hint}", missing=refusal.missing)

    def _freshness(self) -> float:
        """Seconds for which lists are new enough: less than `FRESH` if repositories were changed since the fetch."""
        changes = [stamp.modified / 1e9 for stamp in stamps_of(self.sources) if stamp]
        return min(FRESH, time.time() - max(changes, default=0.0))

    async def _choose_from_lists(self, changes: Changes) -> tuple[Changes, Refusals]:
        names = [change.name for change in changes.values() if not change.file]
        offers = await self._catalog.offers(names) if names else {}
        return choose(changes, offers, self.compare)

    async def _finish(
        self, all_desired: Mapping[str, Desired], changes: Changes, completed: Completed
    ) -> Refusals:
        """Judge a transaction by its effect, since an unrelated broken package also makes the package manager fail.

        Returns the errors of packages that a successful transaction did not change. Raises ResourceError for a failed
        one.
        """
        self.database.forget()
        decided, _ = await self._decide({ref: replace(all_desired[ref], hold=None) for ref in changes})
        left = _without_marks(decided)
        if completed.exit_code == 0:
            if words := failed_scripts(completed):
                emit_lines(f"{self.program} succeeded, although a script of a package failed:{words}")
            return {ref: self._ignored(change) for ref, change in left.items()}
        words = error_lines(completed)
        if not left:
            emit_lines(
                f"{self.program} exited {completed.exit_code}, but not because of the requested packages:{words}"
            )
            return {}
        names = ", ".join(f'"{change.name}"' for change in left.values())
        verb = "uninstall" if next(iter(left.values())).step.is_removal else "install"
        raise ResourceError(
            f"failed to {verb} package {names}, {self.program} exited {completed.exit_code}{words}",
            missing_rights() or self._advice(words),
        )

    def _advice(self, words: str) -> str | None:  # noqa: ARG002 - a provider may use the words
        """A hint for the error in ``words``, if the package manager gives none."""
        return None

    def _ignored(self, change: Change) -> ResourceError:
        command = "remove" if change.step.is_removal else "install"
        return ResourceError(
            f'{self.program} succeeded, but package "{change.name}" is not {change.step}',
            f"another may have taken its place: see what {self.program} {command} {change.name} says",
        )


def _notes_for_each(changed: Mapping[str, Desired], others: Others) -> dict[str, str]:
    """For each package of a transaction, the message about the other changes."""
    description = {}
    for ref in changed:
        companions = [desired.name for other, desired in changed.items() if other != ref]
        description[ref] = others.description(beginning(companions, would=False))
    return description


def _without_marks(changes: Changes) -> dict[str, Change]:
    return {ref: change for ref, change in changes.items() if not change.step.is_mark}
