"""The kind `volume_group`: a volume group of LVM and its devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

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
    Watch,
)
from reactor.resources.lvm.devices import (
    FIELDS,
    Device,
    Member,
    device_at,
    member_of,
    not_blank,
    prepare,
    refuse_unusable,
)
from reactor.resources.lvm.names import GroupName
from reactor.resources.lvm.tools import backup_of, change, has_device_mapper, report
from reactor.watchers.uevents import DeviceWatch


class GroupState(NamedTuple):
    """The physical volumes of the group, none if there is no group, and what the declared devices hold.

    ``volumes`` are its logical volumes, and ``open`` those that are in use; both only if it shall be removed.
    """

    mapper: bool
    members: tuple[Member, ...] = ()
    devices: tuple[Device, ...] = ()
    volumes: tuple[str, ...] = ()
    open: tuple[str, ...] = ()


class VolumeGroup(Resource[GroupState], kind="volume_group"):
    """Manage a volume group of LVM. Only blank devices become a part of it."""

    example = "vg0 absent"

    name: GroupName
    ensure: Literal["present", "absent"] = "present"
    devices: tuple[AbsolutePath, ...] = ()
    """All its devices: whole disks or partitions. Each becomes a physical volume."""
    resize: Flag = False
    """Whether its physical volumes grow when their devices have grown."""
    force: Flag = False
    """Whether what a new device holds may be destroyed, other devices removed from the group, and with `ensure: absent` all volumes removed."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        if self.ensure == "present" and not self.devices:
            yield PropertyProblem(("devices",), "devices is missing", "name its devices: devices: [/dev/sdb]")
        if self.ensure == "absent" and (self.devices or self.resize):
            name = "devices" if self.devices else "resize"
            yield PropertyProblem((name,), f"{name} is only valid with 'ensure: present'", f"remove {name}")

    def watches(self) -> Iterable[Watch]:
        """The backup that LVM writes with each change; each device: its node by inotify, its size by uevents."""
        yield PathWatch(backup_of(self.name))
        for path in self.devices:
            yield PathWatch(path)
            yield DeviceWatch(path)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The directory of its volumes, `/dev/NAME`: they go after the group.

        Depends on: Its devices.
        """
        directory = (f"/dev/{self.name}",)
        if self.ensure == "absent":
            return Relations(removes=directory)
        return Relations(provides=directory, depends_on=self.devices)

    def claims(self) -> Iterable[Claim]:
        """The name of the group, and its devices."""
        yield Claim("volume group", self.name, {"ensure": self.ensure, "devices": self.devices})
        for path in self.devices:
            yield Claim("file system", path, {"fstype": f"LVM, for {self.name}"})

    async def observe(self) -> GroupState:
        """The group and its devices. Raises ResourceError when they can't be read."""
        mapper = await has_device_mapper()
        rows = await report("pvs", (*FIELDS, "vg_uuid"), mapper=mapper)
        groups = {row["vg_uuid"] for row in rows if row["vg_name"] == self.name}
        if len(groups) > 1:
            words = f"{len(groups)} volume groups have the name {self.name}"
            raise ResourceError(words, "rename one by its UUID: vgrename")
        found = [member_of(row) for row in rows]
        members = tuple([each for each in found if each.group == self.name])
        if self.ensure == "present":
            devices = tuple([await device_at(path, found) for path in self.devices])
            return GroupState(mapper, members, devices)
        if not members:
            return GroupState(mapper)
        selection = ("--select", f'vg_name="{self.name}"')
        volumes = await report("lvs", ("lv_name", "lv_device_open"), *selection, mapper=mapper)
        names, in_use = (
            tuple([row["lv_name"] for row in volumes if not only_open or row["lv_device_open"] == "open"])
            for only_open in (False, True)
        )
        return GroupState(mapper, members, (), names, in_use)

    def plan(self, state: GroupState, *, refresh: bool) -> Plan:  # noqa: ARG002 - there is nothing to refresh
        """Make the group, add and remove devices, or remove the group. Raises ResourceError where that would destroy data."""
        if self.ensure == "absent":
            return self._removal(state) if state.members else ()
        if gone := [each.node for each in state.members if each.is_missing]:
            words = f"{len(gone)} of the devices of {self.name} {'is' if len(gone) == 1 else 'are'} missing"
            raise ResourceError(words, f"bring it back, or give it up: vgreduce --removemissing {self.name}")
        new = [device for device in state.devices if self._is_new(device)]
        if not state.members:
            words = f"made the volume group of {', '.join(device.path for device in new)}"
            return (Action.saying(words, partial(self._make, new, mapper=state.mapper)),)
        steps = [
            Action.saying(f"added {device.path}", partial(self._add, device, mapper=state.mapper))
            for device in new
        ]
        declared = {device.member.node for device in state.devices if device.member is not None}
        for member in state.members:
            if member.node not in declared:
                self._refuse_other(member)
                run = partial(self._take_out, member, mapper=state.mapper)
                steps.append(Action.saying(f"removed {member.node} from the group", run))
            elif self.resize and member.can_grow:
                run = partial(change, "pvresize", member.node, mapper=state.mapper)
                steps.append(Action.saying(f"grew {member.node} to the size of its device", run))
        return tuple(steps)

    def _removal(self, state: GroupState) -> Plan:
        with_it = f" with {', '.join(state.volumes)}" if state.volumes else ""
        if not self.force:
            words = f"the volume group {self.name}{with_it} is not removed without force"
            raise ResourceError(words, "write force: true if all of that may be lost")
        if state.open:
            words = f"{self.name} can't be removed: {', '.join(state.open)} is in use"
            raise ResourceError(words, "stop what uses it: this is never done, even with force")
        return (Action.saying(f"removed the volume group{with_it}", partial(self._remove, state)),)

    def _is_new(self, device: Device) -> bool:
        """Whether the device must be added. Raises ResourceError if it holds something else."""
        if device.member is not None and device.member.group == self.name:
            return False
        if device.member is not None and device.member.group:
            words = f"{device.path} is in the volume group {device.member.group}"
            raise ResourceError(
                words, "remove it from that group first, with vgreduce: reactor never does, even with force"
            )
        if device.content is not None and not self.force:
            raise not_blank(device.path, device.content)
        return True

    def _refuse_other(self, member: Member) -> None:
        """Raise ResourceError if a device that is not declared must stay."""
        if not self.force:
            words = f"{self.name} also has {member.node}, which is not in devices"
            raise ResourceError(
                words, "add the device to devices, or write force: true to remove it from the group"
            )
        if member.used:
            words = f"{member.node} can't be removed from {self.name}: parts of volumes are on it"
            raise ResourceError(
                words, f"move the volumes to other devices of the group first: pvmove {member.node}"
            )

    async def preflight(self, state: GroupState) -> None:
        """Check that no new device is in use."""
        for device in state.devices:
            if self._is_new(device):
                refuse_unusable(device)

    async def describe(self) -> Mapping[str, Any]:
        """Its devices."""
        mapper = await has_device_mapper()
        rows = await report("pvs", FIELDS, mapper=mapper)
        nodes = sorted(row["pv_name"] for row in rows if row["vg_name"] == self.name)
        return {"ensure": "present", "devices": nodes} if nodes else {"ensure": "absent"}

    async def _make(self, devices: list[Device], *, mapper: bool) -> None:
        for device in devices:
            await prepare(device, force=self.force)
        await change("vgcreate", self.name, *(device.node for device in devices), mapper=mapper)

    async def _add(self, device: Device, *, mapper: bool) -> None:
        await prepare(device, force=self.force)
        await change("vgextend", self.name, device.node, mapper=mapper)

    async def _take_out(self, member: Member, *, mapper: bool) -> None:
        await change("vgreduce", self.name, member.node, mapper=mapper)
        await change("pvremove", member.node, mapper=mapper)

    async def _remove(self, state: GroupState) -> None:
        await change("vgremove", "--force", "--yes", self.name, mapper=state.mapper)
        for member in state.members:
            if not member.is_missing:
                await change("pvremove", member.node, mapper=state.mapper)
