"""The kind `logical_volume`: a logical volume of LVM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator

from reactor import (
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
from reactor.resources.lvm.names import check_volume_name
from reactor.resources.lvm.size import ALL_FREE, Space, VolumeSize, shown
from reactor.resources.lvm.tools import backup_of, change, has_device_mapper, report
from reactor.watchers.uevents import DeviceWatch

_GROUP_FIELDS = ("vg_name", "vg_extent_size", "vg_extent_count", "vg_free_count")
_FIELDS = ("lv_name", "lv_size", "lv_active", "lv_device_open")
_INACTIVE = ("--activate", "n", "--zero", "n", "--wipesignatures", "n")
_ACTIVE = ("--activate", "y", "--zero", "y", "--wipesignatures", "y", "--yes")
"""What an earlier volume has left at the place of a new one is wiped, so that the new one is blank."""


class VolumeState(NamedTuple):
    """The space of the group, None if there is no group; the size of the volume in bytes, None if there is no volume."""

    mapper: bool
    space: Space | None = None
    size: int | None = None
    is_active: bool = False
    is_open: bool = False


class LogicalVolume(Resource[VolumeState], kind="logical_volume"):
    """Manage a logical volume of LVM. It grows with its size, and is never made smaller or removed without force."""

    example = "vg0/data absent"

    name: Annotated[str, AfterValidator(check_volume_name)]
    """The group and the volume: `vg0/data`."""
    ensure: Literal["present", "absent"] = "present"
    size: VolumeSize | None = None
    """Its size, as in `10G`, rounded up to whole extents; `100%FREE` is all that is free, `50%VG` a share of the group."""
    active: Flag = True
    """Whether it is there as a device. Without the device mapper of the kernel, only `false` is possible."""
    force: Flag = False
    """Whether it may be made smaller, or removed with `ensure: absent`: what is lost with that is lost."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        if self.ensure == "present" and self.size is None:
            yield PropertyProblem(("size",), "size is missing", "say how large it is: size: 10G")
        if self.ensure == "absent" and self.size is not None:
            yield PropertyProblem(("size",), "size is only valid with 'ensure: present'", "remove size")

    def watches(self) -> Iterable[Watch]:
        """The backup that LVM writes with each change of the group; the device by inotify and uevents."""
        yield PathWatch(backup_of(self._group))
        yield PathWatch(self._device)
        yield DeviceWatch(self._device)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: Its device, as `/dev/vg0/data` and `/dev/mapper/vg0-data`: a file system on it goes after this.

        Depends on: Its group. One with `100%FREE` goes after all others of the group.
        """
        devices, sized = (self._device, self._mapped), f"volume_group#{self._group}/sized"
        group = f"/dev/{self._group}"
        if self.ensure == "absent":
            return Relations(removes=devices, depends_on=(group,))
        if self.size == ALL_FREE:
            return Relations(provides=devices, depends_on=(group, sized))
        return Relations(provides=(*devices, sized), depends_on=(group,))

    def claims(self) -> Iterable[Claim]:
        """The volume; one of a group has all that is free."""
        wishes = {"ensure": self.ensure, "size": self.size, "active": self.active}
        yield Claim("logical volume", self.name, wishes)
        if self.size == ALL_FREE:
            yield Claim("free space of the volume group", self._group, {"volume": self._volume})

    async def observe(self) -> VolumeState:
        """The volume and the space of its group. Raises ResourceError when they can't be read."""
        mapper = await has_device_mapper()
        groups = await report("vgs", _GROUP_FIELDS, mapper=mapper)
        found = [row for row in groups if row["vg_name"] == self._group]
        if not found:
            return VolumeState(mapper)
        if len(found) > 1:
            words = f"{len(found)} volume groups have the name {self._group}"
            raise ResourceError(words, "rename one by its UUID: vgrename")
        space = Space(*(int(found[0][field]) for field in _GROUP_FIELDS[1:]))
        selection = ("--select", f'vg_name="{self._group}" && lv_name="{self._volume}"')
        rows = await report("lvs", _FIELDS, *selection, mapper=mapper)
        if not rows:
            return VolumeState(mapper, space)
        (row,) = rows
        is_active, is_open = row["lv_active"] == "active", row["lv_device_open"] == "open"
        return VolumeState(mapper, space, int(row["lv_size"]), mapper and is_active, is_open)

    def plan(self, state: VolumeState, *, refresh: bool) -> Plan:  # noqa: ARG002 - there is nothing to refresh
        """Make, resize, activate or remove it. Raises ResourceError for what force must allow, or what can't be done."""
        if self.ensure == "absent":
            return () if state.size is None else (self._removal(state),)
        if state.space is None:
            hint = f"require the volume_group that makes {self._group}"
            words = f"there is no volume group {self._group}"
            raise ResourceError(words, hint, missing=f"/dev/{self._group}")
        if self.active and not state.mapper:
            words = f"{self.name} can't be active: the kernel has no device mapper"
            raise ResourceError(words, "load it (modprobe dm_mod), or write active: false")
        if state.size is None:
            return (self._creation(state, state.space),)
        steps = []
        if self.active is not state.is_active and state.mapper:
            word, flag = ("activated", "y") if self.active else ("deactivated", "n")
            steps.append(self._step(f"{word} it", state, "lvchange", "--activate", flag, self.name))
        return (*steps, *self._resizing(state, state.space, state.size))

    def _creation(self, state: VolumeState, space: Space) -> Action:
        extents = space.extents_of(self.size or 0)
        needed = 1 if extents is None else extents
        self._require_free(space, needed)
        size = (space.free if extents is None else extents) * space.extent
        amount = ALL_FREE if extents is None else str(extents)
        activation = _ACTIVE if self.active else _INACTIVE
        words = ("lvcreate", *activation, "--extents", amount, "--name", self._volume, self._group)
        return self._step(f"made the volume with {shown(size)}", state, *words)

    def _resizing(self, state: VolumeState, space: Space, size: int) -> Iterable[Action]:
        has, wanted = size // space.extent, space.extents_of(self.size or 0)
        if wanted is None:
            wanted = has + space.free
        if wanted == has:
            return
        change_of = f"from {shown(size)} to {shown(wanted * space.extent)}"
        if wanted > has:
            self._require_free(space, wanted - has)
            yield self._step(f"grew it {change_of}", state, "lvextend", "--extents", str(wanted), self.name)
            return
        if not self.force:
            words = f"{self.name} would be made smaller, {change_of}"
            raise ResourceError(
                words, "write the size that it has, or force: true: what is behind it is lost"
            )
        reduce = ("lvreduce", "--force", "--yes", "--extents", str(wanted), self.name)
        yield self._step(f"made it smaller, {change_of}", state, *reduce)

    def _require_free(self, space: Space, extents: int) -> None:
        if extents < 1 or extents > space.free:
            words = f"{self._group} has {shown(space.free * space.extent)} left"
            raise ResourceError(
                f"there is no room for {self.name}: {words}",
                "add a device to the group, or write a smaller size",
            )

    def _removal(self, state: VolumeState) -> Action:
        if not self.force:
            words = f"the volume {self.name} is not removed without force"
            raise ResourceError(words, "write force: true if what it holds may be lost")
        if state.is_open:
            hint = "stop what uses it: this is never done, even with force"
            raise ResourceError(f"{self.name} can't be removed: it is in use", hint)
        return self._step("removed the volume", state, "lvremove", "--force", "--yes", self.name)

    async def describe(self) -> Mapping[str, Any]:
        """Its size in bytes, and whether it is active."""
        state = await self.observe()
        if state.size is None:
            return {"ensure": "absent"}
        return {"ensure": "present", "size": state.size, "active": state.is_active}

    def _step(self, words: str, state: VolumeState, *arguments: str) -> Action:
        return Action.saying(words, partial(change, *arguments, mapper=state.mapper))

    @property
    def _group(self) -> str:
        return self.name.partition("/")[0]

    @property
    def _volume(self) -> str:
        return self.name.partition("/")[2]

    @property
    def _device(self) -> str:
        return f"/dev/{self.name}"

    @property
    def _mapped(self) -> str:
        """The name of the device mapper, in which a hyphen of a name stands twice."""
        return "/dev/mapper/" + "-".join(part.replace("-", "--") for part in self.name.split("/"))
