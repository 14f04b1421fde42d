"""The kind `link`: one network interface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pydantic import PrivateAttr

from reactor import Claim, Plan, Relations, SandboxAccess, Watch, emit_output
from reactor.resources.network import boot_files
from reactor.resources.network.boot_configuration import configuration, read_files
from reactor.resources.network.boot_files import BootFile
from reactor.resources.network.link_observer import Renames, observe
from reactor.resources.network.link_planner import impending_loss, plan_link
from reactor.resources.network.link_properties import LinkProperties
from reactor.resources.network.link_state import MISSING, LinkState
from reactor.resources.network.losses import lost_with_link
from reactor.resources.network.preflight import refuse_link, refuse_unprivileged
from reactor.resources.network.property_types import link_path, needs_in, qualified
from reactor.resources.network.rtnetlink import RtnetlinkSocket, explained
from reactor.watchers.netlink import NetlinkWatch
from reactor.watchers.netlink_topics import Topic, WatchedTopic

_CLAIMED = ("type", "peer", "parent", "id", "mode", "remote", "mtu", "master", "address")


class Link(LinkProperties, kind="link"):
    """Manage one network interface: its existence and its settings."""

    example = "br0 --type bridge"
    provides_only_its_own = True
    may_undo = frozenset(("link", "address", "route"))

    _renames: Renames | None = PrivateAttr(default=None)
    _reported: str | None = PrivateAttr(default=None)

    def watches(self) -> Iterable[Watch]:
        """The link, and the existence of the links that it needs or that prevent it.

        For a parent also its MTU, which limits the MTU of the link. And its files for the next boot.
        """
        yield NetlinkWatch(self.netns, WatchedTopic(Topic.LINK, self.interface))
        yield from boot_files.watches(self._files)
        for other in filter(None, (*self._others(), self.peer)):
            is_limit = other == self.parent and self.mtu is not None
            yield NetlinkWatch(self.netns, WatchedTopic(Topic.LINK if is_limit else Topic.PRESENCE, other))

    async def observe(self) -> LinkState | None:
        """The link; None if it does not exist. Raises ResourceError when the kernel can't be queried."""
        with RtnetlinkSocket(self.netns) as kernel, explained(f"read the link {self.interface}"):
            state = await self._observe(kernel)
        if self.persist is None:
            return state
        return replace(state or LinkState(MISSING), files=read_files(self.persist, self._files))

    async def _observe(self, kernel: RtnetlinkSocket) -> LinkState | None:
        state = await observe(kernel, self)
        if state is None:
            await self._report_rename(kernel)
            return None
        self._past.record(state)
        loss = impending_loss(self, state)
        if loss is None:
            return state
        return replace(state, losses=await lost_with_link(kernel, state.index, loss))

    async def _report_rename(self, kernel: RtnetlinkSocket) -> None:
        """Report, once, a link that may be this one under a new name: then the user may not want another one."""
        words = await self._past.found(kernel, self) if self.ensure == "present" else None
        if words is not None and words != self._reported:
            self._reported = words
            emit_output(words)

    def plan(self, state: LinkState | None, *, refresh: bool) -> Plan:  # noqa: ARG002  nothing to refresh
        """The plan by the decision table, `plan_link`, then the files for the next boot. Raises ResourceError."""
        return (*plan_link(self, _existing(state)), *boot_files.steps(state.files if state else ()))

    async def preflight(self, state: LinkState | None) -> None:
        """Check that its parent and master exist, and that its files can be written."""
        if plan_link(self, _existing(state)):
            refuse_unprivileged()
        await refuse_link(self, _existing(state))
        boot_files.preflight(state.files if state else ())

    async def describe(self) -> Mapping[str, Any]:
        """The link as it is."""
        found = await super().describe()
        return {"ensure": "absent"} if found.get("state") == MISSING else found

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The link, and the other end that is created with it.

        Depends on: Its parent, its master, the veth that creates it as the other end, and its namespace.
        """
        needed = (self._path, *(link_path(self.netns, other) for other in self._others()))
        if self.ensure == "absent":
            return Relations(removes=(self._path,), depends_on=needed)
        peer = () if self.peer is None else (link_path(self.netns, self.peer),)
        return Relations(provides=(self._path, *peer), depends_on=needed)

    def sandbox_access(self) -> Iterable[SandboxAccess | str]:
        """The permission to change the network, and its files."""
        return (*needs_in(self.netns), *(file.path for file in self._files))

    def claims(self) -> Iterable[Claim]:
        """The link, with all its managed properties."""
        desired: dict[str, object] = {"ensure": self.ensure}
        if self.ensure == "present":
            declared = {name: getattr(self, name) for name in _CLAIMED}
            desired |= {name: value for name, value in declared.items() if value is not None}
            desired["state"] = self.state
            yield Claim("path", self._path, {"ensure": "directory"})
        yield Claim("link", qualified(self.netns, self.interface), desired)

    @property
    def _past(self) -> Renames:
        if self._renames is None:
            self._renames = Renames(qualified(self.netns, self.interface))
        return self._renames

    @property
    def _files(self) -> Iterable[BootFile]:
        return () if self.persist is None else configuration(self.persist).link_files(self)

    @property
    def _path(self) -> str:
        return link_path(self.netns, self.interface)

    def _others(self) -> Iterable[str]:
        return () if self.ensure == "absent" else filter(None, (self.master, self.parent))


def _existing(state: LinkState | None) -> LinkState | None:
    return None if state is None or state.state == MISSING else state
