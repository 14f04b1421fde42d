"""The provider `apt`: packages of Debian and its relatives."""

from __future__ import annotations

import math
import os
import re
import tempfile
import time
from collections.abc import AsyncIterator, Collection, Hashable, Iterable, Mapping
from contextlib import suppress
from typing import Final

from reactor import ResourceError
from reactor.resources.package import apt_trust, dpkg_versions
from reactor.resources.package.apt_answers import (
    parse_policy,
    parse_providers,
    parse_search,
    parse_simulation,
)
from reactor.resources.package.apt_arguments import FIX_BROKEN, installation, removal
from reactor.resources.package.catalog import Catalog, Offer
from reactor.resources.package.commands import PackageCommands
from reactor.resources.package.database import stamp_of, stamps_of
from reactor.resources.package.debconf import preseed
from reactor.resources.package.dpkg_database import PROGRAM, DpkgDatabase
from reactor.resources.package.error_lines import error_lines, error_lines_in, file_conflict
from reactor.resources.package.file_conflicts import (
    downloaded,
    is_overwriting_allowed,
    refuse_overwriting,
)
from reactor.resources.package.locks import released
from reactor.resources.package.planner import Changes, Desired
from reactor.resources.package.provider import Provider
from reactor.resources.package.transaction import Others, own_files, refusal_of_own
from reactor.resources.process import Completed, missing_rights

_QUESTIONS: Final = {
    "DEBIAN_FRONTEND": "noninteractive",
    "APT_LISTBUGS_FRONTEND": "none",
    "APT_LISTCHANGES_FRONTEND": "none",
}
_REMOVAL_NEEDED: Final = "Packages need to be removed but remove is disabled"
_UNMET: Final = "dependency problems prevent configuration"
_OVERWRITE: Final = re.compile(r"trying to overwrite '(.+?)', which is also in package (\S+)")
_STATUS: Final = "-oAPT::Status-Fd="
_CUT: Final = "; the next transaction begins with what is left: if it hangs again, see why, or have it absent"
_NO_LISTS: Final = frozenset(("lock", "partial", "auxfiles"))
"""The entries of the directory of package lists before any list was fetched."""


class Apt(Provider):
    """The provider apt.

    ``root`` is the root directory of the system; ``environment`` are variables for all programs.
    """

    name = "apt"
    program = "apt-get"
    simulates_for_all = True
    locks = "apt-mark showhold"
    fetch_complaints = ("Unable to fetch some archives",)

    def __init__(self, root: str = "", environment: Mapping[str, str] | None = None) -> None:
        self.root = root
        self._lists = f"{root}/var/lib/apt/lists"
        self._archives_lock = f"{root}/var/cache/apt/archives/lock"
        preferences = ("preferences", "preferences.d", "apt.conf", "apt.conf.d")
        self._preferences = tuple(f"{root}/etc/apt/{part}" for part in preferences)
        self.sources = (f"{root}/etc/apt/sources.list", f"{root}/etc/apt/sources.list.d")
        self.settings = (f"{root}/etc/apt/", f"{root}/usr/share/keyrings/")
        self._environment = {**_QUESTIONS, **(environment or {})}
        self._programs = PackageCommands(self._environment)
        self._refreshed = 0.0
        self._own: frozenset[str] | None = None
        self._dpkg = DpkgDatabase(f"{root}/var/lib/dpkg", f"{root}/var/lib/apt/extended_states")
        super().__init__(self._dpkg, Catalog(self._policy, self._catalog_stamp))

    def compare(self, installed: str, wanted: str) -> int:
        """Compare two versions by the rules of dpkg."""
        return dpkg_versions.compare(installed, wanted)

    async def _providers_here(self, name: str) -> tuple[str, ...]:
        return self._dpkg.providers(name)

    async def _refresh(self) -> None:
        # A failed attempt counts, too: unreachable repositories are not asked at every check.
        self._refreshed = time.time()
        await self._update()
        self._date(time.time_ns())  # without new lists, apt does not change the time of the directory

    async def _fetch_from(self, file: str) -> None:
        """Fetch the lists of one repository.

        The recorded age does not change: it is that of the lists of all repositories.
        """
        await self._refuse_conflicts(file)
        fetched = self._fetched()
        only = (f"Dir::Etc::sourcelist={file}", "Dir::Etc::sourceparts=-", "APT::Get::List-Cleanup=false")
        await self._update(*(word for option in only for word in ("-o", option)))
        self._date(fetched)

    async def _refuse_conflicts(self, file: str) -> None:
        """Raise ResourceError if apt can read the other sources, but not with ``file``, which would stop apt."""
        name = os.path.basename(file)
        _, directory = self.sources
        with tempfile.TemporaryDirectory(prefix="reactor-") as together:
            for other in {*os.listdir(directory)} - {name}:
                os.symlink(f"{directory}/{other}", f"{together}/{other}")
            os.symlink(file, f"{together}/{name}")
            read = ("apt-get", "-o", f"Dir::Etc::sourceparts={together}", "indextargets")
            completed = await self._programs.run(*read)
            if completed.exit_code == 0:
                return
            os.unlink(f"{together}/{name}")
            if (await self._programs.run(*read)).exit_code == 0:
                raise ResourceError(
                    f"apt can't read this repository together with the others{error_lines(completed)}",
                    "check whether another file describes the same repository with another key",
                )

    async def _update(self, *options: str) -> None:
        await released(f"{self._lists}/lock")
        self._catalog.forget()
        completed = await self._programs.run(
            "apt-get", "-q", "-o", "APT::Update::Error-Mode=any", *options, "update", status=_STATUS
        )
        if completed.exit_code != 0:
            raise ResourceError(
                f"apt-get update failed{error_lines(completed)}",
                missing_rights()
                or "check that the repositories can be reached, and that their keys are known",
            )

    def _age(self) -> float:
        """The seconds since the lists were fetched. A time in the future is ignored: the clock was set."""
        fetched = (self._refreshed, self._fetched() / 1e9)
        return min((age for each in fetched if (age := time.time() - each) >= 0), default=math.inf)

    def _fetched(self) -> int:
        """The time when the lists were fetched, in nanoseconds since 1970; 0 without lists."""
        changed = stamp_of(self._lists) if self._has_lists() else None
        return changed.modified if changed else 0

    def _date(self, fetched: int) -> None:
        with suppress(FileNotFoundError):  # apt is configured to keep them elsewhere
            os.utime(self._lists, ns=(fetched, fetched))

    def _has_lists(self) -> bool:
        """Whether any list was fetched: images are often built without lists."""
        with suppress(FileNotFoundError):
            return not _NO_LISTS.issuperset(os.listdir(self._lists))
        return False

    async def _let_through(self, name: str, installed: str, newest: str) -> str:
        """The installed version if the package is held, since a hold keeps back every other version."""
        return installed if self._dpkg.find(name).is_held else newest

    async def _repair(self, broken: Collection[Desired]) -> None:
        """Configure the interrupted packages, with what they lack. Errors fail the resource of the package later.

        What will be removed is left as it is: its script may be what hung. dpkg then only completes its database.
        """
        unwanted = {desired.name for desired in broken if desired.is_removal}
        if not (self._dpkg.was_interrupted or broken):
            return
        configure = ("dpkg", "--force-confold", "--configure")
        if not unwanted:
            done = await self._programs.run(*configure, "-a", after_a_cut=_CUT)
            if _UNMET in done.stdout + done.stderr:
                await self._apt_get(*FIX_BROKEN)
        elif wanted := self._dpkg.unpacked(without=unwanted):
            await self._programs.run(*configure, *wanted, after_a_cut=_CUT)
        else:
            await self._programs.run("dpkg", "--set-selections")

    def _are_broken(self, names: Iterable[str]) -> bool:
        """Whether one of the packages is there and not configured: what it depends on may be missing."""
        states = map(self._dpkg.find, names)
        return any(state.version is not None and not state.is_whole for state in states)

    async def _read_file(self, path: str) -> str:
        form = r"${Package}\t${Architecture}\t${Version}\n"
        return await self._programs.read("dpkg-deb", "--show", "--showformat", form, path)

    async def _verify_file(self, path: str) -> None:
        """Do nothing: a .deb has no signature."""

    async def _answer(self, answers: Collection[str]) -> None:
        await preseed(answers, self._environment)

    async def _install(self, changes: Changes) -> Completed:
        """Install packages.

        If apt refuses because it would remove others, simulate the transaction before allowing that.
        """
        command, *arguments = installation(changes)
        completed = await self._apt_get(command, "--no-remove", *arguments)
        if completed.exit_code == 0 or _REMOVAL_NEEDED not in completed.stdout + completed.stderr:
            return completed
        await self._simulate(changes)
        return await self._apt_get(command, *arguments)

    async def _remove(self, changes: Changes) -> Completed:
        await self._simulate(changes)
        return await self._apt_get(*removal(changes))

    async def _simulate(self, changes: Changes) -> Others:
        is_removal = any(change.step.is_removal for change in changes.values())
        arguments = removal(changes) if is_removal else installation(changes)
        code, text = await self._programs.simulate("apt-get", "--simulate", *arguments)
        names = [change.name for change in changes.values()]
        if code != 0 and not is_removal and self._are_broken(names):
            code, fixed = await self._programs.simulate("apt-get", "--simulate", *FIX_BROKEN)
            text = text if code else fixed
        if code != 0:
            verb = "uninstall" if is_removal else "install"
            raise ResourceError(f"can't {verb} {', '.join(names)}: apt-get refuses it{error_lines_in(text)}")
        others = parse_simulation(text, await self._names_of(names), self.compare)
        if not is_removal:
            self._refuse_to_lose(others.removed, names)
        await self._refuse_to_take((*names, *others.removed) if is_removal else others.removed, asked=names)
        return others

    async def _refuse_more(self, changes: Changes, others: Others) -> None:
        await apt_trust.refuse_unauthenticated(installation(changes), self._programs.read)
        if is_overwriting_allowed(self.root):
            return
        files = [change.file for change in changes.values() if change.file]
        files += [path async for path in self._downloaded(changes, others)]
        if files:
            changing = (text.partition(" ")[0] for text in (*others.upgraded, *others.downgraded))
            leaving = {*(change.name for change in changes.values()), *others.removed, *changing}
            await refuse_overwriting(
                files, leaving, self._is_installed, self._programs.read, self._programs.simulate
            )

    def _is_installed(self, name: str) -> bool:
        return self._dpkg.find(name).version is not None

    async def _downloaded(self, changes: Changes, others: Others) -> AsyncIterator[str]:
        """The packages of a transaction that apt has downloaded already."""
        offers = await self._catalog.offers([change.name for change in changes.values() if not change.file])
        wanted = [
            (change.name, change.version or (offers[change.name].newest if change.name in offers else None))
            for change in changes.values()
            if not change.file
        ]
        wanted += [(text.split()[0], text.split()[-1]) for text in (*others.installed, *others.upgraded)]
        for name, version in wanted:
            if version and (path := downloaded(os.path.dirname(self._archives_lock), name, version)):
                yield path

    async def _refuse_to_take(self, names: Collection[str], asked: Collection[str]) -> None:
        """Raise ResourceError if this process needs one of the packages. apt protects held and essential ones."""
        if names and (needed := (await self._own_packages()).intersection(names)):
            raise refusal_of_own(min(needed), asked)

    async def _own_packages(self) -> frozenset[str]:
        """The packages that own the files of this process. Files without a package are ignored."""
        if self._own is None:
            _, text = await self._programs.simulate("dpkg-query", "--search", *own_files())
            self._own = parse_search(text)
        return self._own

    async def _names_of(self, names: Collection[str]) -> Collection[str]:
        """As in the base class: without the architecture of the host, which apt and dpkg leave out."""
        if not any(":" in name for name in names):
            return names
        left_out = ("all", await self._architecture())
        return [name.partition(":")[0] if name.endswith(left_out) else name for name in names]

    def _advice(self, words: str) -> str | None:
        """A hint for a file that belongs to two packages, or for a package that can't be authenticated."""
        found = _OVERWRITE.search(words)
        return apt_trust.advice(words) if found is None else file_conflict(*found.groups())

    async def _hold(self, names: Collection[str]) -> None:
        await self._mark("hold", names)

    async def _release(self, names: Collection[str]) -> None:
        await self._mark("unhold", [name for name in names if self._dpkg.find(name).is_held])

    async def _keep(self, names: Collection[str]) -> None:
        await self._mark("manual", names)

    async def _mark(self, verb: str, names: Collection[str]) -> None:
        if not names:
            return
        completed = await self._programs.run("apt-mark", verb, *names)
        self._dpkg.forget()
        if completed.exit_code != 0:
            raise ResourceError(f"apt-mark {verb} failed{error_lines(completed)}", missing_rights())

    async def _apt_get(self, *words: str) -> Completed:
        """Run apt-get, once no downloading program locks the archives: apt-get itself does not wait for that lock."""
        await released(self._archives_lock)
        return await self._programs.run("apt-get", *words, status=_STATUS, after_a_cut=_CUT)

    async def _policy(self, names: Collection[str]) -> dict[str, Offer]:
        """Ask apt-cache for offers. Its answer omits the architecture of the host, also if the name contains it."""
        pattern = "APT::Cmd::Pattern-Only=true"
        offers = parse_policy(await self._programs.read("apt-cache", "-o", pattern, "policy", *names))
        for name in (name for name in names if name not in offers and ":" not in name):
            if providers := parse_providers(await self._programs.read("apt-cache", "showpkg", name)):
                offers[name] = Offer(None, (), providers)
        qualified = [name for name in names if ":" in name and name not in offers]
        left_out = ("all", await self._architecture()) if qualified else ()
        for name in qualified:
            stem, _, architecture = name.partition(":")
            if architecture in left_out and stem in offers:
                offers[name] = offers[stem]
        return offers

    async def _architecture(self) -> str:
        return (await self._programs.read("dpkg", "--print-architecture")).strip()

    def _catalog_stamp(self) -> Hashable:
        return (stamp_of(self._lists), stamps_of((*self.sources, *self._preferences)))


def is_here() -> bool:
    """Whether this host uses apt."""
    return os.access(PROGRAM, os.X_OK) and bool(stamp_of("/var/lib/dpkg/status"))
