"""The kind `container`: its properties, state and plan."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property, partial
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, ConfigDict, Field

from reactor import (
    AbsolutePath,
    Action,
    Claim,
    Duration,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    ResourceError,
    SandboxAccess,
    Watch,
    register_secret,
)
from reactor.hostfs import read_record
from reactor.resources.container.changes import FORMER, KIND, NEW, Changes
from reactor.resources.container.daemon import Daemon, bare_id, usual_socket
from reactor.resources.container.declaration import LABEL, Declaration, form_of
from reactor.resources.container.host_paths import refuse_foreign_volumes
from reactor.resources.container.property_types import (
    BUILT_IN_NETWORKS,
    Image,
    PortText,
    Restart,
    VolumeText,
    bind_sources,
    check_container_name,
    every_container,
    network_problem,
    port_claims,
    volume_problems,
)
from reactor.watchers.containers import ContainerWatch, Link


class ContainerState(NamedTuple):
    """What the daemon has."""

    status: Literal["missing", "running", "paused", "stopped"]
    fault: str | None = None
    """Why the container must be replaced; None if it is as declared."""
    has_image: bool = True
    leftovers: bool = False
    """Whether a killed run left a container."""


class Container(Resource[ContainerState], kind="container"):
    """Keep one container of docker or podman as it is declared."""

    model_config = ConfigDict(hide_input_in_errors=True)
    example = "web absent --runtime docker"
    needed_to_show = frozenset(("image",))

    name: Annotated[str, AfterValidator(check_container_name)]
    ensure: Literal["running", "stopped", "absent"] = "running"
    image: Image | None = None
    """The image: `nginx:1.27`, `registry.example.com/app@sha256:...`; without a tag, `latest`."""
    pull: Literal["missing", "always", "never"] = "missing"
    """When the image is fetched: when the host lacks it, or also before each creation of the container."""
    command: tuple[str, ...] | None = None
    """The command and its arguments, instead of those of the image."""
    entrypoint: tuple[str, ...] | None = None
    """The program that gets the command as arguments, instead of that of the image."""
    ports: tuple[PortText, ...] = ()
    """Ports of the host that lead to ports of the container: `8080:80`, `127.0.0.1:8080:80`, `53:53/udp`."""
    volumes: tuple[VolumeText, ...] = ()
    """Directories of the host and named volumes: `/srv/data:/data`, `cache:/cache`, `/etc/app:/etc/app:ro`."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Environment variables. Their values are never shown."""
    labels: dict[str, str] = Field(default_factory=dict)
    """Labels of the container, beside those of the image."""
    networks: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """The networks that it is in; by default that of the daemon. `host` and `none` stand alone."""
    restart: Restart = "unless-stopped"
    """When the daemon restarts it: `no`, `always`, `unless-stopped`, `on-failure:5`."""
    hostname: Annotated[str, Field(min_length=1, max_length=63)] | None = None
    """The host name within the container; by default the daemon chooses one."""
    user: Annotated[str, Field(min_length=1)] | None = None
    """The user that its processes run as, in the container."""
    working_directory: AbsolutePath | None = None
    """The directory that the command starts in; by default that of the image."""
    runtime: Literal["docker", "podman"] | None = None
    """Whose container it is; by default that of the daemon that is there."""
    socket: AbsolutePath | None = None
    """The unix socket of the daemon."""
    registry_user: Annotated[str, Field(min_length=1)] | None = None
    """The user that the image is fetched as."""
    registry_password: Annotated[str, Field(min_length=1)] | None = None
    """The password at the registry."""
    stop_timeout: Annotated[Duration, Field(ge=0)] = 10.0
    """The time that it has to stop, before it is killed."""
    timeout: Annotated[Duration, Field(gt=0)] = 600.0
    """The longest time that fetching the image, or the start, may take."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        if self.ensure != "absent" and self.image is None:
            yield PropertyProblem(("image",), "image is missing", "add image: nginx:1.27")
        if LABEL in self.labels:
            yield PropertyProblem(("labels",), f"{LABEL} is a label of reactor", "remove it")
        if (self.registry_user is None) != (self.registry_password is None):
            words = "registry_user and registry_password go together"
            given = "registry_user" if self.registry_user else "registry_password"
            yield PropertyProblem((given,), words, "set both, or none")
        yield from network_problem(self.networks, self.ports)
        yield from volume_problems(self.volumes)
        for name in self.environment:
            if not name or "=" in name or "\0" in name:
                yield PropertyProblem(("environment",), f"{name!r} is not a name of a variable", "correct it")

    def watches(self) -> Iterable[Watch]:
        """The container, by the events of its daemon; and the socket of the daemon."""
        yield ContainerWatch(self._socket, self.name, self._link)
        yield PathWatch(self._socket, is_name=True)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: Nothing.

        Depends on: The directories of the host that it mounts, its networks, and the socket of the daemon.
        """
        peers = every_container(self._socket)
        if self.ensure == "absent":
            return Relations(depends_on=(peers,))
        networks = (f"container_network#{name}" for name in self.networks)
        return Relations(depends_on=(*bind_sources(self.volumes), *networks, self._socket, peers))

    def claims(self) -> Iterable[Claim]:
        """The name of the container, and the ports of the host."""
        yield Claim("container", f"{self._socket} {self.name}", {"ensure": self.ensure, "image": self.image})
        if self.ensure == "running":
            yield from port_claims(self.ports, self.name)

    def sandbox_access(self) -> Iterable[SandboxAccess | str]:
        """None: the daemon acts, on requests over its socket."""
        return ()

    def secret_properties(self) -> Collection[str]:
        """The environment, and the password of the registry."""
        secret = ("environment", "registry_password")
        return [name for name in secret if getattr(self, name)]

    async def observe(self) -> ContainerState:
        """The container and its image. Raises ResourceError when the daemon can't be asked."""
        for value in (*self.environment.values(), self.registry_password):
            register_secret(value)
        inspected = await self._daemon.inspect(self.name)
        self._link.reached()
        leftovers = await self._has_leftovers()
        if self.ensure == "absent":
            return ContainerState("missing" if inspected is None else "stopped", leftovers=leftovers)
        await refuse_foreign_volumes(self.volumes)
        image = await self._daemon.image_id(self.image or "")
        if inspected is None:
            return ContainerState("missing", has_image=image is not None, leftovers=leftovers)
        state = inspected.get("State") or {}
        is_running = bool(state.get("Running")) or state.get("Status") == "paused"
        status: Literal["running", "paused", "stopped"] = "stopped"
        if is_running:
            status = "paused" if state.get("Paused") or state.get("Status") == "paused" else "running"
        return ContainerState(status, self._fault(inspected, image), image is not None, leftovers)

    def plan(self, state: ContainerState, *, refresh: bool) -> Plan:  # noqa: ARG002 - see below
        """Fetch the image, create or replace the container, start or stop it."""
        if self.ensure == "absent":
            is_gone = state.status == "missing" and not state.leftovers
            return () if is_gone else (Action.saying("removed the container", self._changes.remove),)
        is_made = state.status == "missing" or state.fault is not None
        plan = [] if (change := self._change(state)) is None else [change]
        if (is_made and self.pull == "always") or not state.has_image:
            plan.insert(0, Action.saying(f"fetched {self.image}", self._pull))
        if not is_made and state.leftovers:
            plan.append(Action.saying("removed what a killed run left", self._changes.clear))
        return tuple(plan)

    def _change(self, state: ContainerState) -> Action | None:
        """The change of a container that must exist; None if it is as desired."""
        is_to_run = self.ensure == "running"
        if state.status == "missing":
            words = "created and started the container" if is_to_run else "created the container"
            return Action.saying(words, partial(self._create, replace=False))
        if state.fault is not None:
            run = partial(self._create, replace=True)
            return Action.saying(f"replaced the container, as {state.fault}", run)
        match state.status:
            case "stopped" if is_to_run:
                return Action.saying("started the container", self._changes.start)
            case "paused" if is_to_run:
                return Action.saying("resumed the container", self._changes.resume)
            case "running" | "paused" if not is_to_run:
                return Action.saying("stopped the container", self._changes.stop)
        return None

    async def preflight(self, state: ContainerState) -> None:
        """Check that an image that may not be fetched, the mounted directories, and the networks are there."""
        if self.ensure == "absent":
            return
        if not state.has_image and self.pull == "never":
            raise ResourceError(f"this host has no image {self.image}", "write pull: missing")
        self._require_mounted()
        for network in self.networks:
            if network not in BUILT_IN_NETWORKS and await self._daemon.network(network) is None:
                missing = f"container_network#{network}"
                raise ResourceError(f"there is no network {network}", f"declare {missing}", missing=missing)

    async def describe(self) -> Mapping[str, Any]:
        """Whether it runs, and its image."""
        inspected = await self._daemon.inspect(self.name)
        if inspected is None:
            return {"ensure": "absent"}
        is_running = bool((inspected.get("State") or {}).get("Running"))
        image = (inspected.get("Config") or {}).get("Image")
        return {"ensure": "running" if is_running else "stopped", "image": image}

    async def reversal(self, state: ContainerState) -> Self:
        """No container, if there was none. Raises ResourceError otherwise: what was in it is gone."""
        if state.status == "missing":
            return type(self)(name=self.name, ensure="absent", runtime=self.runtime, socket=self.socket)
        raise ResourceError(f"reverse could not restore the container {self.name}", "remove reverse")

    def is_undone_by(self, recorded: Self) -> bool | None:
        """Always, unless another program makes it now."""
        return True if (recorded.runtime, recorded.socket) == (self.runtime, self.socket) else None

    def _fault(self, inspected: Mapping[str, Any], image: str | None) -> str | None:
        """The reason why the container must be replaced."""
        labels = (inspected.get("Config") or {}).get("Labels") or {}
        if labels.get(LABEL) is None:
            return "it was not made by reactor"
        if labels[LABEL] != self._declaration.digest:
            return "its declaration has changed"
        if image is not None and bare_id(inspected.get("Image")) != image:
            return "its image has changed"
        record = read_record(KIND, self._changes.record_name) or {}
        if record.get("id") == inspected.get("Id") and record.get("form") != form_of(inspected):
            return "its settings were changed"
        return None

    def _require_mounted(self) -> None:
        """Raise ResourceError when a directory to mount is missing: podman would make it."""
        for source in bind_sources(self.volumes):
            if not os.path.exists(source):
                hint = f"declare file#{source} with ensure: directory"
                raise ResourceError(f"there is no {source} to mount", hint, missing=source)

    async def _create(self, *, replace: bool) -> None:
        self._require_mounted()
        change = self._changes.replace if replace else self._changes.create
        await change(self._declaration, start=self.ensure == "running")

    async def _has_leftovers(self) -> bool:
        for suffix in (NEW, FORMER):
            if await self._daemon.inspect(f"{self.name}{suffix}") is not None:
                return True
        return False

    async def _pull(self) -> None:
        if self.pull == "never":
            raise ResourceError(f"this host has no image {self.image}", "write pull: missing")
        await self._daemon.pull(self.image or "")

    @property
    def _declaration(self) -> Declaration:
        return Declaration(
            self.image or "", self.command, self.entrypoint, self.ports, self.volumes, self.environment,
            self.labels, self.networks, self.restart, self.hostname, self.user, self.working_directory,
        )  # fmt: skip

    @property
    def _socket(self) -> str:
        return self.socket or usual_socket(self.runtime)

    @cached_property
    def _daemon(self) -> Daemon:
        credentials = None
        if self.registry_user is not None and self.registry_password is not None:
            credentials = self.registry_user, self.registry_password
        return Daemon(self._socket, self.timeout, credentials)

    @cached_property
    def _changes(self) -> Changes:
        return Changes(self._daemon, self.name, self.stop_timeout)

    @cached_property
    def _link(self) -> Link:
        return Link()
