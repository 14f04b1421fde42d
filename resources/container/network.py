"""The kind `container_network`: one network of docker or podman, which containers are in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from ipaddress import ip_address, ip_network
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, Field

from reactor import (
    AbsolutePath,
    Action,
    Claim,
    Flag,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    ResourceError,
    SandboxAccess,
    Watch,
)
from reactor.resources.container.daemon import Daemon, usual_socket
from reactor.resources.container.property_types import (
    BUILT_IN_NETWORKS,
    check_container_name,
    every_container,
)
from reactor.resources.container.subnets import is_bridge, link_in, networks_in, pools
from reactor.watchers.containers import ContainerWatch, Link

_TIMEOUT = 60.0
"""Seconds within which the daemon must answer."""


def _check_subnet(text: str) -> str:
    return str(ip_network(text))  # raises ValueError with the reason


def _check_gateway(text: str) -> str:
    return str(ip_address(text))


class NetworkState(NamedTuple):
    """What the daemon has: whether there is such a network, how it differs, and the containers in it."""

    exists: bool
    fault: str | None = None
    """Why it must be replaced; None if it is as declared."""
    containers: tuple[str, ...] = ()


class ContainerNetwork(Resource[NetworkState], kind="container_network"):
    """Keep one network of docker or podman as it is declared."""

    example = "backend absent --runtime docker"

    name: Annotated[str, AfterValidator(check_container_name)]
    ensure: Literal["present", "absent"] = "present"
    driver: Annotated[str, AfterValidator(check_container_name)] = "bridge"
    """The driver: `bridge`, `macvlan`, `ipvlan`, or that of a plugin."""
    subnet: Annotated[str, AfterValidator(_check_subnet)] | None = None
    """The addresses of its containers: `10.89.7.0/24`; by default the daemon chooses free ones."""
    gateway: Annotated[str, AfterValidator(_check_gateway)] | None = None
    """The address of the host in it; by default the first one of the subnet."""
    internal: Flag = False
    """Whether its containers reach nothing outside of it."""
    options: dict[str, str] = Field(default_factory=dict)
    """Options of the driver: `com.docker.network.driver.mtu: "1400"`."""
    labels: dict[str, str] = Field(default_factory=dict)
    """Labels of the network."""
    runtime: Literal["docker", "podman"] | None = None
    """Whose network it is; by default that of the daemon that is there."""
    socket: AbsolutePath | None = None
    """The unix socket of the daemon."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """The names of networks that every daemon has, and a gateway that is not in the subnet."""
        yield from super().property_problems()
        if self.name in BUILT_IN_NETWORKS:
            yield PropertyProblem(("name",), f"{self.name} is a network of the daemon", "choose another name")
        if self.gateway is None:
            return
        if self.subnet is None:
            yield PropertyProblem(("gateway",), "gateway is only valid with a subnet", "add subnet")
        elif ip_address(self.gateway) not in ip_network(self.subnet):
            words = f"{self.gateway} is not in {self.subnet}"
            yield PropertyProblem(("gateway",), words, "name an address of the subnet")

    def watches(self) -> Iterable[Watch]:
        """The network, by the events of its daemon; and the socket of the daemon."""
        yield ContainerWatch(self._socket, self.name, self._link, "network")
        yield PathWatch(self._socket, is_name=True)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The network by its name: containers that are in it go after it.

        Depends on: The socket of the daemon. A network is removed after all changes of containers.
        """
        network = f"container_network#{self.name}"
        if self.ensure == "absent":
            return Relations(removes=(network, every_container(self._socket)))
        return Relations(provides=(network,), depends_on=(self._socket,))

    def claims(self) -> Iterable[Claim]:
        """The name of the network."""
        wishes = {
            "ensure": self.ensure,
            "driver": self.driver,
            "subnet": self.subnet,
            "internal": self.internal,
        }
        yield Claim("container network", f"{self._socket} {self.name}", wishes)

    def sandbox_access(self) -> Iterable[SandboxAccess | str]:
        """None: the daemon acts, on requests over its socket."""
        return ()

    async def observe(self) -> NetworkState:
        """The network and its containers. Raises ResourceError when the daemon can't be asked."""
        found = await self._daemon.network(self.name)
        self._link.reached()
        if found is None:
            return NetworkState(False)
        fault = None if self.ensure == "absent" else self._fault(found)
        needs_removal = self.ensure == "absent" or fault is not None
        return NetworkState(True, fault, await self._daemon.containers_in(self.name) if needs_removal else ())

    def plan(self, state: NetworkState, *, refresh: bool) -> Plan:  # noqa: ARG002  there is nothing to refresh
        """Create, replace or remove it. Raises ResourceError when containers are in a network that must be removed."""
        if self.ensure == "absent":
            if not state.exists:
                return ()
            self._refuse_used(state.containers, "removed")
            return (Action.saying("removed the network", partial(self._daemon.remove_network, self.name)),)
        if not state.exists:
            return (Action.saying("created the network", self._create),)
        if state.fault is None:
            return ()
        self._refuse_used(state.containers, f"replaced, as {state.fault}")
        return (Action.saying(f"replaced the network, as {state.fault}", self._replace),)

    async def describe(self) -> Mapping[str, Any]:
        """Its driver, its subnets, and whether it is internal."""
        found = await self._daemon.network(self.name)
        if found is None:
            return {"ensure": "absent"}
        subnets = [each["Subnet"] for each in pools(found) if each.get("Subnet")]
        internal = bool(found.get("Internal"))
        return {"ensure": "present", "driver": found.get("Driver"), "subnets": subnets, "internal": internal}

    async def reversal(self, state: NetworkState) -> Self:
        """No network, if there was none. Raises ResourceError otherwise."""
        if not state.exists:
            return type(self)(name=self.name, ensure="absent", runtime=self.runtime, socket=self.socket)
        raise ResourceError(f"reverse could not restore the network {self.name}", "remove reverse")

    def is_undone_by(self, recorded: Self) -> bool | None:
        """Always, unless another program makes it now."""
        return True if (recorded.runtime, recorded.socket) == (self.runtime, self.socket) else None

    def _fault(self, found: Mapping[str, Any]) -> str | None:
        """The reason why the network must be replaced. What is not declared is not compared."""
        wanted = {"Driver": self.driver, "Internal": self.internal}
        for name, value in wanted.items():
            if found.get(name, False) != value:
                return f"its {name.lower()} is {found.get(name)!s}"
        for name, value in (("Subnet", self.subnet), ("Gateway", self.gateway)):
            there = [str(pool.get(name)) for pool in pools(found)]
            if value is not None and value not in there:
                return f"its {name.lower()} is {', '.join(there) or 'missing'}"
        for name, wished in (("Options", self.options), ("Labels", self.labels)):
            if not wished.items() <= (found.get(name) or {}).items():
                return f"its {name.lower()} are others"
        return None

    def _refuse_used(self, containers: Sequence[str], change: str) -> None:
        if containers:
            words = f"the network can't be {change}: {', '.join(containers)} {'is' if len(containers) == 1 else 'are'} in it"
            raise ResourceError(
                words, "remove these containers first: docker rm, or container with ensure: absent"
            )

    async def _replace(self) -> None:
        if others := await self._networks_in_the_way():
            words = f"the subnet {self.subnet} is used by the network {', '.join(others)}"
            raise ResourceError(words, "write another subnet, or remove that network first")
        await self._daemon.remove_network(self.name)
        await self._create()

    async def _networks_in_the_way(self) -> list[str]:
        """The other networks with addresses of the subnet. Raises ResourceError when the daemon can't be asked."""
        if self.subnet is None:
            return []
        return networks_in(self.subnet, await self._daemon.act("GET", "/networks") or (), self.name)

    async def _create(self) -> None:
        pool = {"Subnet": self.subnet, "Gateway": self.gateway}
        body = {
            "Name": self.name,
            "CheckDuplicate": True,
            "Driver": self.driver,
            "Internal": self.internal,
            "Options": self.options,
            "Labels": self.labels,
        }
        if self.subnet is not None:
            body["IPAM"] = {"Config": [{name: value for name, value in pool.items() if value is not None}]}
        try:
            await self._daemon.act("POST", "/networks/create", body)
        except ResourceError as error:
            raise ResourceError(error.message, error.hint or await self._hint_for_taken()) from error

    async def _hint_for_taken(self) -> str | None:
        """How the subnet becomes free; None if nothing is known to have it. podman may leave a bridge behind."""
        if others := await self._networks_in_the_way():
            return f"write another subnet, or remove the network that has it first: {', '.join(others)}"
        if self.subnet is None or not (left := await link_in(self.subnet)):
            return None
        delete = f", or, if nothing needs it: ip link delete {left}" if is_bridge(left) else ""
        return f"{left} has an address in it: write another subnet{delete}"

    @property
    def _socket(self) -> str:
        return self.socket or usual_socket(self.runtime)

    @cached_property
    def _daemon(self) -> Daemon:
        return Daemon(self._socket, _TIMEOUT)

    @cached_property
    def _link(self) -> Link:
        return Link()
