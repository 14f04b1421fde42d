"""Directories of packages of a language, which a program such as npm or gem fills: what both kinds have in common."""

from __future__ import annotations

import os
import stat
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import trio
from pydantic import AfterValidator, ConfigDict, Field

from reactor import (
    AbsolutePath,
    Action,
    ChangedPaths,
    Claim,
    Duration,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    ResourceError,
    TimerWatch,
    Watch,
    fragile_mounts,
    register_url_secrets,
)
from reactor.hostfs import ErrorContext, accounts_of, open_path, remove_path
from reactor.resources.file.property_types import Account
from reactor.resources.package_spec import Spec, SpecSyntax
from reactor.resources.process import (
    ENVIRONMENT,
    Command,
    Completed,
    identity_of,
    output_tail,
    require_startable,
    run,
    uid_of,
)
from reactor.resources.trusted_directory import (
    make_directory_for,
    read_by_owner,
    refuse_other_owner,
    refuse_unremovable,
    refuse_unwritable,
    refuse_way,
)

LATEST = "latest"
_MODE = 0o755
_DAY = 86400.0
_OUR_HOME = os.path.expanduser("~")


class Found(Enum):
    """The type of file at the path. The value is the end of a sentence."""

    NOTHING = "nothing"
    OURS = "a directory of packages"
    OTHER = "a directory with other files in it"
    FILE = "not a directory"


class DirectoryState(NamedTuple):
    """The directory, the versions of each package in it, and the newest version of those that follow it."""

    found: Found
    installed: Mapping[str, tuple[str, ...]] = {}
    newest: Mapping[str, str] = {}


def check_registry(url: str) -> str:
    """The URL of a registry. Raises ValueError."""
    register_url_secrets(url)
    if not url.startswith(("https://", "http://")) or " " in url or not url.isprintable():
        raise ValueError("the registry must be a URL: https://packages.example.com/")
    return url


Registry = Annotated[str, AfterValidator(check_registry)]


class PackageDirectory(Resource[DirectoryState]):
    """A directory of packages.

    Each kind defines the command line of its program, and how to find the installed packages.
    """

    model_config = ConfigDict(hide_input_in_errors=True)
    program: ClassVar[str]
    syntax: ClassVar[SpecSyntax]
    parts: ClassVar[frozenset[str]]
    """The names that such a directory may hold."""
    listed_in: ClassVar[str]
    """The directory below it in which each package has a name."""

    name: AbsolutePath
    ensure: Literal["present", "absent"] = "present"
    packages: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()
    """Names of packages that must not be there."""
    user: Account | None = None
    """The user that the program runs as, and to whom the directory belongs; by default the user that runs reactor."""
    registry: Registry | None = None
    """The URL of the registry, instead of the public one."""
    interval: Annotated[Duration, Field(gt=0)] = _DAY
    """How often the registry is asked for a newer version of packages with the version `latest`."""
    timeout: Annotated[Duration, Field(gt=0)] = 900.0
    """The longest time that one run of the program may take."""

    @abstractmethod
    def read_installed(self, directory: int) -> Mapping[str, tuple[str, ...]]:
        """The versions of each package in the directory open at ``directory``. Raises OSError."""

    @abstractmethod
    def install_commands(self, specs: Sequence[Spec]) -> Iterable[Sequence[str]]:
        """The arguments of the program that install packages."""

    @abstractmethod
    def uninstall_commands(self, names: Sequence[str]) -> Iterable[Sequence[str]]:
        """The arguments of the program that remove packages."""

    @abstractmethod
    async def versions_of(self, name: str) -> Sequence[str]:
        """The versions that the registry has, the newest first. Raises ResourceError."""

    @abstractmethod
    def settings(self) -> Mapping[str, str]:
        """The settings of the program, as environment variables: arguments can be seen by all."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        names = [self.syntax.parse(text).name for text in self.packages]
        for index, name in enumerate(names):
            if name in names[:index]:
                yield PropertyProblem(("packages", index), f"{name} is listed twice", "keep one of them")
        for index, name in enumerate(self.unwanted):
            if name in names:
                hint = "remove it from one of the lists"
                yield PropertyProblem(("unwanted", index), f"{name} is wanted and unwanted", hint)

    def watches(self) -> Iterable[Watch]:
        """The directory, the names of its packages; a timer if the newest version is wanted."""
        yield PathWatch(self.name)
        if self.ensure == "present":
            yield PathWatch(f"{self.name}/{self.listed_in}", self._changed_paths, without=self._not_entered)
            if self._followed:
                yield TimerWatch(self.interval)

    _not_entered: ClassVar[frozenset[str]] = frozenset("*")

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The directory.

        Depends on: The directory above, and the user.
        """
        needed = (os.path.dirname(self.name), *accounts_of(self.user, None))
        if self.ensure == "absent":
            return Relations(clears=(self.name,), depends_on=needed)
        return Relations(provides=(self.name,), depends_on=needed)

    def claims(self) -> Iterable[Claim]:
        """The path, as a directory."""
        yield Claim("path", self.name, {"ensure": "absent" if self.ensure == "absent" else "directory"})

    async def observe(self) -> DirectoryState:
        """The installed packages, by their files.

        The registry is asked only after the interval. Raises ResourceError.
        """
        await fragile_mounts().ask(self.name)
        identity = await identity_of(self.user)
        self._changed_paths.take()
        with ErrorContext(f"inspect {self.name}"):
            uid = uid_of(identity)
            state = await read_by_owner(uid, partial(self._read, uid))
        if self.ensure == "absent":
            return state
        return state._replace(newest={name: await self._newest(name) for name in self._followed})

    def plan(self, state: DirectoryState, *, refresh: bool) -> Plan:  # noqa: ARG002 - there is nothing to refresh
        """Install missing packages, and remove unwanted ones. Raises ResourceError."""
        if state.found in (Found.OTHER, Found.FILE):
            words = f"{self.name} is {state.found.value}; cannot manage it"
            in_the_way = self.name if state.found is Found.FILE else None
            raise ResourceError(words, "choose another path, or move away what is there", missing=in_the_way)
        if self.ensure == "absent":
            run_it = partial(remove_path, self.name, recursive=True)
            return () if state.found is Found.NOTHING else (Action.saying("removed the directory", run_it),)
        plan = []
        if state.found is Found.NOTHING:
            plan.append(Action.saying("made the directory", self._make))
        if missing := self._missing(state):
            words = ", ".join(f"{each.name} {each.version}".strip() for each in missing)
            plan.append(
                Action.saying(f"installed {words}", partial(self._call_all, self.install_commands(missing)))
            )
        if unwanted := [name for name in self.unwanted if name in state.installed]:
            run_it = partial(self._call_all, self.uninstall_commands(unwanted))
            plan.append(Action.saying(f"removed {', '.join(unwanted)}", run_it))
        return tuple(plan)

    async def preflight(self, state: DirectoryState) -> None:
        """Check that the program exists, that the directory can be changed, and that the registry has the packages."""
        if self.ensure == "absent":
            with ErrorContext(f"remove {self.name}"):
                await refuse_unremovable(self.name)
            return
        with ErrorContext(f"write {self.name}"):
            refuse_unwritable(self.name, self.listed_in)
        await require_startable(await self._command(()))
        for spec in self._missing(state):
            found = await self.versions_of(spec.name)
            if not found or (spec.version and spec.version not in found):
                words = f"the registry has no {spec.name} {spec.version}".strip()
                raise ResourceError(words, f"it has {', '.join(found[:5])}" if found else "check the name")

    async def describe(self) -> Mapping[str, Any]:
        """The installed packages."""
        with ErrorContext(f"inspect {self.name}"):
            identity = await identity_of(self.user)
            uid = uid_of(identity)
            state = await read_by_owner(uid, partial(self._read, uid))
        if state.found is Found.NOTHING:
            return {"ensure": "absent"}
        packages = [
            f"{name} {version}" for name in sorted(state.installed) for version in state.installed[name]
        ]
        return {"ensure": "present", "packages": packages}

    async def reversal(self, state: DirectoryState) -> Self:
        """No directory, if there was none. Raises ResourceError otherwise: other packages may have changed, too."""
        if state.found is Found.NOTHING:
            return type(self)(name=self.name, ensure="absent", user=self.user)
        raise ResourceError(f"reverse could not restore the packages in {self.name}", "remove reverse")

    async def call(self, *arguments: str) -> str:
        """Run the program; return the end of its output. Raises ResourceError."""
        done = await self.complete(*arguments)
        if done.exit_code != 0:
            words = f"{self.program} failed with exit code {done.exit_code}"
            raise ResourceError(
                words + output_tail(done.stdout, done.stderr), self.hint_for(done.stdout + done.stderr)
            )
        return done.stdout

    def hint_for(self, output: str) -> str | None:  # noqa: ARG002 - a kind may use it
        """What to do about a failure with this ``output`` of the program, if it does not say so itself."""
        return None

    async def complete(self, *arguments: str) -> Completed:
        """Run the program to its end, however it ends. Raises ResourceError when it can't be started."""
        return await run(await self._command(arguments))

    def _read(self, uid: int) -> DirectoryState:
        try:
            fd = open_path(self.name)
        except (FileNotFoundError, NotADirectoryError):
            refuse_way(self.name, uid)
            return DirectoryState(Found.NOTHING)
        try:
            found = os.fstat(fd)
            if not stat.S_ISDIR(found.st_mode):
                return DirectoryState(Found.FILE)
            refuse_other_owner(self.name, found, uid)
            refuse_way(self.name, uid)
            names = set(os.listdir(f"/proc/self/fd/{fd}"))
            for name in sorted(names & self.parts):
                refuse_other_owner(
                    f"{self.name}/{name}", os.stat(name, dir_fd=fd, follow_symlinks=False), uid
                )
            if names - self.parts:
                return DirectoryState(Found.OTHER)
            return DirectoryState(Found.OURS, self.read_installed(fd))
        finally:
            os.close(fd)

    def _missing(self, state: DirectoryState) -> list[Spec]:
        """The packages to install, each with the version that it is to have."""
        missing = []
        for name, version in map(self.syntax.parse, self.packages):
            wanted = state.newest[name] if version == LATEST else version
            found = state.installed.get(name, ())
            if not found or (wanted and wanted not in found):
                missing.append(Spec(name, wanted))
        return missing

    async def _newest(self, name: str) -> str:
        asked_at, version = self._asked.get(name, (None, ""))
        now = trio.current_time()
        if asked_at is None or now - asked_at >= self.interval * 0.9:  # the timer is up to 5 % early
            found = await self.versions_of(name)
            if not found:
                raise ResourceError(f"the registry has no {name}", "check the name")
            self._asked[name] = now, found[0]
            return found[0]
        return version

    async def _make(self) -> None:
        identity = await identity_of(self.user)
        make_directory_for(self.name, identity, _MODE)
        # Another user may have made the directory above since the last look.
        refuse_way(self.name, uid_of(identity))

    async def _call_all(self, commands: Iterable[Sequence[str]]) -> None:
        for arguments in commands:
            await self.call(*arguments)

    async def _command(self, arguments: Sequence[str]) -> Command:
        identity = await identity_of(self.user)
        variables = {"HOME": _OUR_HOME} if identity is None else identity.environment
        environment = {**ENVIRONMENT, **variables, **self.settings()}
        return Command((self.program, *arguments), "/", environment, self.timeout, identity=identity)

    @property
    def _followed(self) -> list[str]:
        """The packages whose newest version is wanted."""
        specs = map(self.syntax.parse, self.packages)
        return [spec.name for spec in specs if spec.version == LATEST]

    @cached_property
    def _changed_paths(self) -> ChangedPaths:
        return ChangedPaths()

    @cached_property
    def _asked(self) -> dict[str, tuple[float, str]]:
        """When the registry was asked for a package, by the clock of the loop; and its newest version."""
        return {}
