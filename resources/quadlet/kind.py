"""The kind `quadlet`: its properties, state and plan."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, Field

from reactor import (
    AbsolutePath,
    Action,
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
)
from reactor.hostfs import (
    Attributes,
    Inline,
    create_directory,
    forget_record,
    read_record,
    remove_path,
    write_file,
    write_record,
)
from reactor.resources import own_file, shared_lines
from reactor.resources.container.host_paths import refuse_foreign_volumes
from reactor.resources.container.property_types import (
    Image,
    PortText,
    VolumeText,
    bind_sources,
    check_container_name,
    network_problem,
    port_claims,
    volume_problems,
)
from reactor.resources.process import perform
from reactor.resources.quadlet import generator
from reactor.resources.quadlet.container_text import Wanted, container_text
from reactor.resources.service import Service, own_unit_files
from reactor.resources.service.kind import ALLOWED, name_problem
from reactor.resources.service.state import NOT_FOUND, UnitState
from reactor.resources.service.systemd import Job
from reactor.resources.shared_lines import Found
from reactor.resources.trusted_sources import refuse_foreign_file

_DIRECTORY = "/etc/containers/systemd"
_OF_DIRECTORY = Attributes(0, 0, 0o755)
_KIND = "quadlet"


def _check_value(text: str) -> str:
    if not text.isprintable():
        raise ValueError("this is one line of text")
    return text


def _check_line(text: str) -> str:
    if text.endswith("\\"):
        raise ValueError("a backslash at the end would join the next line")
    return _check_value(text)


Line = Annotated[str, Field(min_length=1), AfterValidator(_check_line)]
Value = Annotated[str, AfterValidator(_check_value)]


class QuadletState(NamedTuple):
    """The file, None for a missing one; the unit; and whether the unit was started with the file as declared."""

    file: Found | None
    unit: UnitState
    is_current: bool = True


class Quadlet(Resource[QuadletState], kind="quadlet", providers=("systemd",)):
    """Keep a container of podman that systemd runs: its file for quadlet, and the unit that podman makes of it."""

    example = "web --image docker.io/library/nginx:1.27"

    name: Annotated[str, AfterValidator(check_container_name)]
    ensure: Literal["running", "stopped", "absent"] = "running"
    image: Image | None = None
    """The image: `docker.io/library/nginx:1.27`, `quay.io/app@sha256:...`; without a tag, `latest`."""
    command: tuple[Annotated[Value, Field(min_length=1)], ...] | None = None
    """The command and its arguments, instead of those of the image."""
    entrypoint: tuple[Value, ...] | None = None
    """The program that gets the command as arguments, instead of that of the image. It needs podman 5.0."""
    ports: tuple[PortText, ...] = ()
    """Ports of the host that lead to ports of the container: `8080:80`, `127.0.0.1:8080:80`, `53:53/udp`."""
    volumes: tuple[Annotated[VolumeText, AfterValidator(_check_line)], ...] = ()
    """Directories of the host and named volumes: `/srv/data:/data`, `cache:/cache`, `/etc/app:/etc/app:ro`."""
    environment: dict[Line, Value] = Field(default_factory=dict)
    """Environment variables. Every user of the host can read them: secrets go into `environment_files`."""
    environment_files: tuple[Annotated[AbsolutePath, AfterValidator(_check_line)], ...] = ()
    """Files with environment variables, in lines as `NAME=value`."""
    labels: dict[Line, Value] = Field(default_factory=dict)
    """Labels of the container, beside those of the image."""
    networks: tuple[Line, ...] = ()
    """The networks that it is in; by default that of podman. `host` and `none` stand alone."""
    hostname: Annotated[Line, Field(max_length=63)] | None = None
    """The host name within the container; by default podman chooses one."""
    user: Line | None = None
    """The user that its processes run as, in the container, and after a colon the group."""
    working_directory: Annotated[AbsolutePath, AfterValidator(_check_line)] | None = None
    """The directory that the command starts in; by default that of the image. It needs podman 5.0."""
    restart: Literal["no", "always", "on-failure"] = "always"
    """When systemd restarts it."""
    enable: Flag = True
    """Whether it starts at boot."""
    start_timeout: Annotated[Duration, Field(gt=0)] = 900.0
    """The longest time that a start may take, with fetching the image."""
    description: Line | None = None
    """What it is for; by default the name."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        if fault := name_problem(self.name):
            yield PropertyProblem(("name",), fault, ALLOWED)
        if self.ensure != "absent" and self.image is None:
            yield PropertyProblem(("image",), "image is missing", "add image: docker.io/library/nginx:1.27")
        yield from network_problem(self.networks, self.ports)
        yield from volume_problems(self.volumes)
        for name in self.environment:
            if "=" in name:
                yield PropertyProblem(("environment",), f"{name!r} is not a name of a variable", "correct it")

    def watches(self) -> Iterable[Watch]:
        """The file, and the unit in systemd."""
        yield PathWatch(self._path)
        yield from self._unit.watches()

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The file.

        Depends on: The directories of the host that it mounts, its networks, the files of variables, and the
        generator of podman.
        """
        if self.ensure == "absent":
            return Relations(removes=(self._path,))
        networks = (f"container_network#{name}" for name in self.networks)
        needed = (*bind_sources(self.volumes), *networks, *self.environment_files, generator.USUAL)
        return Relations(provides=(self._path,), depends_on=needed)

    def sandbox_access(self) -> Iterable[str]:
        """The file. systemd and podman make the other changes."""
        return (self._path,)

    def claims(self) -> Iterable[Claim]:
        """The file, the unit, and the ports of the host."""
        is_there = self.ensure != "absent"
        content = {"content": self._text} if is_there else {}
        yield Claim("path", self._path, {"ensure": "present" if is_there else "absent", **content})
        yield from self._unit.claims()
        if self.ensure == "running":
            yield from port_claims(self.ports, self.name)

    @classmethod
    def unavailable_reason(cls, provider: str) -> str | None:
        """The reason if systemd does not run."""
        return Service.unavailable_reason(provider)

    async def observe(self) -> QuadletState:
        """The file and the unit.

        Raises ResourceError when podman has no quadlet, systemd does not answer, a unit of that name comes from
        elsewhere, or another user can exchange what it mounts.
        """
        if self.ensure != "absent":
            await refuse_foreign_volumes(self.volumes)
            generator.find()
            self._refuse_secrets()
            own_unit_files.refuse_foreign(self._unit.unit)
        record = read_record(_KIND, self.name)
        is_current = record is None or record.get("digest") == self._digest
        return QuadletState(shared_lines.find(self._path), await self._unit.observe(), is_current)

    def plan(self, state: QuadletState, *, refresh: bool) -> Plan:
        """The file first, then the unit; for absent, the other way round."""
        if self.ensure == "absent":
            stop = self._unit.plan(state.unit, refresh=False) if state.unit.is_there else ()
            remove = (Action.proven(f"removed {self._path}", self._remove),) if state.file is not None else ()
            return (*stop, *remove)
        files = tuple(own_file.steps_of(self._path, self._path, self._text, state.file, self._store))
        is_written = state.file is not None and state.file.data == self._text.encode()
        if is_written and state.is_current and _is_made(state.unit):
            return (*files, *self._unit.plan(state.unit, refresh=refresh))
        if self.ensure == "stopped":
            words = "stopped the container" if state.unit.is_up else "had systemd read it"
        else:
            words = "restarted the container" if state.unit.is_up else "started the container"
        return (*files, Action.proven(words, self._activate))

    async def preflight(self, state: QuadletState) -> None:
        """Ask podman whether it understands the file, and whether the file can be written and its mounts are there."""
        if self.ensure == "absent":
            return
        self._require_mounted()
        await generator.refuse_misread(self._file_name, self._text)
        self._refuse_unwritable()
        if state.unit.is_there:
            await self._unit.preflight(state.unit)

    async def describe(self) -> Mapping[str, Any]:
        """Whether there is a file, and whether its unit runs."""
        if shared_lines.find(self._path) is None:
            return {"ensure": "absent"}
        unit = await self._unit.observe()
        return {"ensure": "running" if unit.is_running else "stopped", "unit": self._unit.unit}

    async def reversal(self, state: QuadletState) -> Self:
        """No container, if there was none."""
        if state.file is not None:
            raise ResourceError(f"reverse could not restore the container {self.name}", "remove reverse")
        return type(self)(name=self.name, ensure="absent")

    def _refuse_secrets(self) -> None:
        if self.secrets:
            words = (
                f"every user of the host can read the file and its unit, and {self.name} has a secret in it"
            )
            raise ResourceError(
                words, "write the secret into a file of mode 0600, and name it in environment_files"
            )

    def _refuse_unwritable(self) -> None:
        if os.path.isdir(_DIRECTORY):
            shared_lines.refuse_unwritable(self._path)

    def _require_mounted(self) -> None:
        for path in (*bind_sources(self.volumes), *self.environment_files):
            if not os.path.exists(path):
                raise ResourceError(f"there is no {path}", f"declare file#{path}", missing=path)
        for path in self.environment_files:  # podman reads it as root, also what a symlink leads to
            refuse_foreign_file(path, "which file podman reads as root")

    async def _store(self) -> None:
        """Write the file. Until the unit is started with it, the record has no digest: a crash in between is noticed."""
        self._require_mounted()
        await generator.refuse_misread(self._file_name, self._text)
        if not os.path.isdir(_DIRECTORY):  # noqa: ASYNC240 - below /etc
            await create_directory(_DIRECTORY, _OF_DIRECTORY)
        write_record(_KIND, self.name, {"digest": None})
        await write_file(self._path, Inline(self._text), own_file.ATTRIBUTES)

    async def _activate(self) -> None:
        """Let podman make the unit again, and start it with that, or stop it."""
        await own_unit_files.let_systemd_read(self._unit, [self._unit.unit], must_load=True)
        found = await self._unit.observe()
        if not _is_made(found):
            hint = f"see why: {generator.find()} --dryrun, and journalctl -b -t quadlet-generator"
            raise ResourceError(f"podman made no unit of {self._path}", hint)
        if self.ensure == "running":
            if found.active == "failed":  # starts of the former file don't count against this one
                await perform("systemctl", "reset-failed", self._unit.unit)
            await self._run(Job.RESTART if found.is_up else Job.START)
        elif found.is_up:
            await self._run(Job.STOP)
        write_record(_KIND, self.name, {"digest": self._digest})

    async def _run(self, job: Job) -> None:
        await self._unit.with_systemd(lambda systemd: systemd.run(job, self._unit.unit))

    async def _remove(self) -> None:
        await remove_path(self._path, recursive=False)
        await own_unit_files.let_systemd_read(self._unit, [self._unit.unit], must_load=False)
        forget_record(_KIND, self.name)

    @cached_property
    def _unit(self) -> Service:
        """The unit that podman makes of the file."""
        return Service(
            name=f"{self.name}.service", ensure="running" if self.ensure == "running" else "stopped"
        )

    @property
    def _file_name(self) -> str:
        return f"{self.name}.container"

    @property
    def _path(self) -> str:
        return f"{_DIRECTORY}/{self._file_name}"

    @property
    def _digest(self) -> str:
        return hashlib.sha256(self._text.encode()).hexdigest()

    @property
    def _text(self) -> str:
        return container_text(
            Wanted(
                self.name, self.description or self.name, self.image or "", self.command, self.entrypoint,
                self.ports, self.volumes, self.environment, self.environment_files, self.labels, self.networks,
                self.hostname, self.user, self.working_directory, self.restart, self.start_timeout, self.enable,
            )
        )  # fmt: skip


def _is_made(unit: UnitState) -> bool:
    """Whether podman has made the unit. A container that runs without one does not start again."""
    return unit.is_there and unit.load != NOT_FOUND
