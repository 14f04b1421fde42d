"""The kind `pip`: its properties, state and plan."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property, partial
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, ConfigDict, Field

from reactor import (
    AbsolutePath,
    Action,
    ChangedPaths,
    Claim,
    Duration,
    Flag,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    ResourceError,
    Watch,
    fragile_mounts,
    register_url_secrets,
)
from reactor.hostfs import ErrorContext, accounts_of, read_record
from reactor.resources import textfile
from reactor.resources.file.property_types import Account
from reactor.resources.pip.environment import Environment, Found, read_environment
from reactor.resources.pip.installer import Installer
from reactor.resources.pip.requirements import Listed, PackageSpec, missing, name_of, read_requirements
from reactor.resources.process import has_our_rights, uid_of
from reactor.resources.trusted_directory import (
    read_by_owner,
    refuse_fixed,
    refuse_unremovable,
    refuse_unwritable,
)
from reactor.resources.trusted_sources import refuse_foreign_file, refuse_foreign_tree

_ALL = frozenset("*")
_MAKES = {
    Found.NOTHING: "made the environment",
    Found.UNFINISHED: "completed the environment",
    Found.BROKEN: "made the environment again, as its Python was gone",
}


def _check_index(url: str) -> str:
    register_url_secrets(url)
    if not url.startswith(("https://", "http://", "file://")) or " " in url or not url.isprintable():
        raise ValueError("the index must be a URL: https://pypi.example.com/simple")
    return url


class PipState(NamedTuple):
    """The environment, the file of requirements, and whether that file was installed as it is."""

    environment: Environment
    listed: Listed | None = None
    is_recorded: bool = True


class Pip(Resource[PipState], kind="pip"):
    """Keep a virtual environment of Python, and packages in it."""

    model_config = ConfigDict(hide_input_in_errors=True)
    example = "/opt/app/venv --python python3"

    name: AbsolutePath
    ensure: Literal["present", "absent"] = "present"
    packages: tuple[PackageSpec, ...] = ()
    """The packages, as pip takes them: `httpie`, `httpie==3.2.4` or `httpie>=3,<4`."""
    requirements: AbsolutePath | None = None
    """A file of requirements; it is installed again when it changes."""
    unwanted: tuple[PackageSpec, ...] = ()
    """Names of packages that must not be there."""
    python: Annotated[str, Field(pattern=r"^[^\s\x00-][^\x00]*$")] = "python3"
    """The Python that makes the environment: the name of a program, or its absolute path."""
    user: Account | None = None
    """The user that pip runs as, and to whom the environment belongs; by default the user that runs reactor."""
    index: Annotated[str, AfterValidator(_check_index)] | None = None
    """The URL of the package index, instead of PyPI."""
    find_links: AbsolutePath | None = None
    """A directory of packages, which are used besides those of the index."""
    no_index: Flag = False
    """Whether packages come from `find_links` only."""
    timeout: Annotated[Duration, Field(gt=0)] = 900.0
    """The longest time that one run of pip may take."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        names = [name_of(spec) for spec in self.packages]
        for index, name in enumerate(names):
            if name in names[:index]:
                yield PropertyProblem(("packages", index), f"{name} is listed twice", "keep one of them")
        for index, spec in enumerate(self.unwanted):
            if name_of(spec) in names:
                words = f"{name_of(spec)} is wanted and unwanted"
                yield PropertyProblem(("unwanted", index), words, "remove it from one of the lists")
        if self.no_index and self.find_links is None:
            yield PropertyProblem(("no_index",), "no_index requires find_links to be set", "add find_links")
        if self.no_index and self.index is not None:
            yield PropertyProblem(
                ("no_index",), "no_index and index are mutually exclusive", "remove one of them"
            )

    def watches(self) -> Iterable[Watch]:
        """The environment, the list of its packages, and the file of requirements."""
        yield PathWatch(self.name)
        if self.ensure == "absent":
            return
        for name in ("pyvenv.cfg", "bin/python"):
            yield PathWatch(f"{self.name}/{name}")
        for python in self._pythons():
            path = f"{self.name}/lib/{python}/site-packages"
            yield PathWatch(path, self._changed_paths, without=_ALL)
        if self.requirements is not None:
            yield PathWatch(self.requirements, is_input=True)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The environment.

        Depends on: The directory above, the user, the file of requirements, and the directory of packages.
        """
        needed = [os.path.dirname(self.name), *accounts_of(self.user, None)]
        if self.ensure == "absent":
            return Relations(clears=(self.name,), depends_on=needed)
        needed += [path for path in (self.requirements, self.find_links) if path is not None]
        needed += [self.python] if self.python.startswith("/") else []
        return Relations(provides=(self.name,), depends_on=needed)

    def claims(self) -> Iterable[Claim]:
        """The path, as a directory."""
        yield Claim("path", self.name, {"ensure": "absent" if self.ensure == "absent" else "directory"})

    def source_files(self) -> Collection[str]:
        """The file of requirements."""
        return () if self.requirements is None else (self.requirements,)

    async def observe(self) -> PipState:
        """The environment and the file of requirements. No Python is started. Raises ResourceError."""
        await fragile_mounts().ask(self.name)
        identity = await self._installer.identity()
        self._changed_paths.take()
        uid = uid_of(identity)
        with ErrorContext(f"inspect {self.name}"):
            environment = await read_by_owner(uid, partial(read_environment, self.name, uid))
        if self.ensure == "present":
            await self._refuse_foreign_sources(uid)
        if self.ensure == "absent" or self.requirements is None:
            return PipState(environment)
        text = textfile.read(self.requirements)
        if text is None:
            hint = "require the resource that makes it, or correct requirements"
            raise ResourceError(f"there is no {self.requirements}", hint, missing=self.requirements)
        listed = read_requirements(text)
        record = read_record(self.kind, self.name)
        is_recorded = not listed.is_opaque if record is None else record.get("requirements") == listed.digest
        return PipState(environment, listed, is_recorded)

    def plan(self, state: PipState, *, refresh: bool) -> Plan:  # noqa: ARG002 - there is nothing to refresh
        """Make the environment, install missing packages, and remove unwanted ones. Raises ResourceError."""
        found = state.environment.found
        if found in (Found.OTHER, Found.FILE):
            words = f"{self.name} is {found.value}; cannot manage it"
            in_the_way = self.name if found is Found.FILE else None
            raise ResourceError(words, "choose another path, or move away what is there", missing=in_the_way)
        if self.ensure == "absent":
            return (
                ()
                if found is Found.NOTHING
                else (Action.saying("removed the environment", self._installer.remove),)
            )
        plan = []
        if found in _MAKES:
            plan.append(Action.saying(_MAKES[found], partial(self._installer.make, found)))
        specs, file = self._missing(state)
        if specs or file is not None:
            words = " and ".join(
                [*([", ".join(specs)] if specs else []), *([f"the requirements of {file}"] if file else [])]
            )
            digest = state.listed.digest if state.listed is not None and file is not None else None
            plan.append(
                Action.saying(f"installed {words}", partial(self._installer.install, specs, file, digest))
            )
        unwanted = [name_of(spec) for spec in self.unwanted if name_of(spec) in state.environment.installed]
        if unwanted and found is Found.ENVIRONMENT:
            words = f"removed {', '.join(unwanted)}"
            plan.append(Action.saying(words, partial(self._installer.uninstall, unwanted)))
        return tuple(plan)

    async def preflight(self, state: PipState) -> None:
        """Check that the environment can be made, or that pip finds the packages that are missing in it."""
        if self.ensure == "absent":
            with ErrorContext(f"remove {self.name}"):
                await refuse_unremovable(self.name)
            return
        if state.environment.found is not Found.ENVIRONMENT:
            with ErrorContext(f"write {self.name}"):
                refuse_unwritable(self.name)
            await self._installer.refuse_unmakeable()
            return
        with ErrorContext(f"write {self.name}"):
            refuse_fixed(f"{self.name}/lib/{state.environment.python}/site-packages")
        specs, file = self._missing(state)
        if specs or file is not None:
            await self._installer.refuse_unavailable(specs, file)

    async def describe(self) -> Mapping[str, Any]:
        """The installed packages."""
        state = await self.observe()
        if state.environment.found is Found.NOTHING:
            return {"ensure": "absent"}
        found = state.environment.installed
        packages = [f"{name}=={version}" for name in sorted(found) for version in found[name]]
        return {"ensure": "present", "packages": packages, "python": state.environment.python}

    async def reversal(self, state: PipState) -> Self:
        """No environment, if there was none. Raises ResourceError otherwise: pip may have changed other packages."""
        if state.environment.found is Found.NOTHING:
            return type(self)(name=self.name, ensure="absent", user=self.user)
        raise ResourceError(f"reverse could not restore the packages in {self.name}", "remove reverse")

    async def _refuse_foreign_sources(self, uid: int) -> None:
        """Raise ResourceError if pip runs as ``uid`` with our rights, and others can change what it installs.

        A file of requirements can name any index, and the setup of a package runs as the user that pip runs as.
        """
        if not has_our_rights(uid):
            return
        what, otherwise = "what pip would install with our rights", "add user"
        if self.requirements is not None:
            refuse_foreign_file(self.requirements, what, otherwise)
        if self.find_links is not None:
            await refuse_foreign_tree(self.find_links, what, otherwise)

    def _missing(self, state: PipState) -> tuple[list[str], str | None]:
        """The packages to install, and the file of requirements if it must be installed."""
        installed = state.environment.installed if state.environment.found is Found.ENVIRONMENT else {}
        python = state.environment.python
        specs = missing(self.packages, installed, python)
        if state.listed is None:
            return specs, None
        is_whole = state.is_recorded and not missing(state.listed.lines, installed, python)
        is_made = state.environment.found is Found.ENVIRONMENT
        return specs, None if is_whole and is_made else self.requirements

    def _pythons(self) -> Iterable[str]:
        """The names of the Pythons whose packages the environment may have, as in ``python3.11``."""
        with ErrorContext(f"inspect {self.name}"):
            try:
                found = [name for name in os.listdir(f"{self.name}/lib") if name.startswith("python3")]
            except OSError:
                found = []
        if found:
            return found
        search = ("/usr/bin", "/usr/local/bin") if "/" not in self.python else ("",)
        real = (os.path.basename(os.path.realpath(os.path.join(each, self.python))) for each in search)
        return {name for name in real if name.startswith("python3.")}

    @cached_property
    def _changed_paths(self) -> ChangedPaths:
        return ChangedPaths()

    @cached_property
    def _installer(self) -> Installer:
        settings = {}
        if self.index is not None:
            settings["PIP_INDEX_URL"] = self.index
        if self.find_links is not None:
            settings["PIP_FIND_LINKS"] = self.find_links
        if self.no_index:
            settings["PIP_NO_INDEX"] = "1"
        return Installer(self.name, self.python, self.user, settings, self.timeout)
