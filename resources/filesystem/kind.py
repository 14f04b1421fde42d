"""The kind `filesystem`: its properties, state and plan."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

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
from reactor.hostfs import ErrorContext, Parent, refuse_forbidden, refuse_read_only
from reactor.resources.filesystem import new_file
from reactor.resources.filesystem.device import (
    Content,
    content_of,
    opened,
    refuse_replaceable,
    refuse_used,
    size_of,
)
from reactor.resources.filesystem.growth import GROWN, PROGRAMS, can_grow, grow, refuse_ungrowable
from reactor.resources.filesystem.tools import (
    RELABELLED_IN_USE,
    TOOLS,
    arguments,
    call,
    relabel,
    require_answers,
)
from reactor.resources.process import ENVIRONMENT, Command, require_startable
from reactor.resources.tidy.rule import parse_size
from reactor.watchers.uevents import DeviceWatch

_LEAST: int = 1 << 20
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_EXAMPLE = "3e6be9de-8139-11d1-9106-a43f08d823a6"
_VFAT_ID = re.compile(r"[0-9A-F]{4}-[0-9A-F]{4}")


def _check_label(text: str) -> str:
    if not text.isprintable() or not text.strip() or text.startswith("-") or "/" in text:
        raise ValueError(f"{text!r} is not a label: it has letters and digits, no / and no - at its start")
    return text


def _check_option(text: str) -> str:
    if not text or not text.isprintable() or "/" in text:
        raise ValueError(
            f"{text!r} is not an option: write the option and its value as two items, without a path"
        )
    return text


Size = Annotated[
    int, BeforeValidator(parse_size), WithJsonSchema({"type": ["string", "integer"]}), Field(ge=_LEAST)
]
"""Bytes, as a number or as in 512M or 4G."""


class FilesystemState(NamedTuple):
    """The size of the device in bytes, None if there is no device, and its content, None if it is blank."""

    size: int | None
    content: Content | None = None
    can_grow: bool = False


class Filesystem(Resource[FilesystemState], kind="filesystem"):
    """Manage the file system or swap area on a device or in a file. It is made only on a blank device."""

    example = "/var/lib/disk.img --fstype ext4 --size 8M"

    name: AbsolutePath
    ensure: Literal["present"] = "present"
    fstype: Literal["btrfs", "ext2", "ext3", "ext4", "swap", "vfat", "xfs"] = "ext4"
    """The type of the file system, or swap."""
    label: Annotated[str, AfterValidator(_check_label)] | None = None
    """Its label, which is also set on an existing file system."""
    uuid: str | None = None
    """The UUID of a new file system; of vfat its serial number, as in `1A2B-3C4D`."""
    options: tuple[Annotated[str, AfterValidator(_check_option)], ...] = ()
    """Options for mkfs or mkswap, such as `[-m, "0"]`. They are used only when the file system is made."""
    size: Size | None = None
    """For a file that does not exist: create it with this size, as in `2G`, and mode 0600."""
    resize: Flag = False
    """Whether it grows when its device has grown: all types but vfat and swap."""
    force: Flag = False
    """Whether whatever else the device holds may be destroyed; not while it is in use."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        tools = TOOLS[self.fstype]
        if self.label is not None and len(os.fsencode(self.label)) > tools.longest_label:
            words = f"the label is longer than the {tools.longest_label} bytes that {self.fstype} has for it"
            yield PropertyProblem(("label",), words, "shorten it")
        pattern, form = (_VFAT_ID, "1A2B-3C4D") if self.fstype == "vfat" else (_UUID, _EXAMPLE)
        if self.uuid is not None and not pattern.fullmatch(self.uuid):
            words = f"{self.uuid!r} is not a UUID of {self.fstype}"
            yield PropertyProblem(("uuid",), words, f"write it as {form}")
        if self.resize and self.fstype not in GROWN:
            words = f"resize does not grow {self.fstype}"
            yield PropertyProblem(("resize",), words, f"remove it: it grows {', '.join(GROWN)}")
        for index, option in enumerate(self.options):
            if re.match(rf"-[A-Za-z]*{tools.forcing}|--force", option):
                words = f"{option!r} lets {tools.make[0]} overwrite what the device holds"
                yield PropertyProblem(("options", index), words, "remove it, or write force: true")

    def watches(self) -> Iterable[Watch]:
        """The device: its node or the file by inotify, and its size and medium by uevents."""
        yield PathWatch(self.name)
        yield DeviceWatch(self.name)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The device or file, with its file system: a mount of it, also by its UUID or label, goes after this.

        Depends on: The device, if another resource makes it, such as a logical volume; the directory of the file.
        """
        path = (self.name,)
        tags = {"by-label": self.label, "by-uuid": self.uuid}
        links = [f"/dev/disk/{tag}/{value}" for tag, value in tags.items() if value is not None]
        return Relations(provides=(*path, *links), depends_on=(*path, os.path.dirname(self.name)), edits=path)

    def claims(self) -> Iterable[Claim]:
        """The device."""
        desired = {"fstype": self.fstype, "label": self.label, "uuid": self.uuid}
        yield Claim("file system", self.name, desired)

    async def observe(self) -> FilesystemState:
        """The size and the content of the device. Raises ResourceError when it can't be read."""
        try:
            with opened(self.name) as fd, ErrorContext(f"read {self.name}"):
                content, size = await content_of(fd, self.name), size_of(fd)
                growing = self.resize and content is not None and content.fstype == self.fstype
                return FilesystemState(size, content, growing and await can_grow(fd, self.fstype, size))
        except ResourceError as error:
            if error.missing is None:
                raise
            return FilesystemState(None)

    def plan(self, state: FilesystemState, *, refresh: bool) -> Plan:  # noqa: ARG002 - there is nothing to refresh
        """Make the file system, or change its label and grow it.

        Raises ResourceError for a device that holds something else.
        """
        content = state.content
        if content is None:
            if state.size is None and self.size is not None:
                return (Action.saying(f"created the file with {self.fstype}", self._create),)
            return (Action.saying(f"made {self.fstype}", self._make),)
        if content.fstype != self.fstype:
            if not self.force:
                hint = f"use another device, empty it (wipefs --all {self.name}), or write force: true to destroy that"
                raise ResourceError(f"{self.name} is not blank: it holds {content.words}", hint)
            return (Action.saying(f"made {self.fstype} in place of {content.words}", self._make),)
        if self.uuid is not None and self.uuid.lower() != content.uuid.lower():
            words = f"the file system on {self.name} has the UUID {content.uuid}"
            raise ResourceError(words, "write that as uuid: it is set only when a file system is made")
        steps = []
        if self.label is not None and self.label != content.label:
            was = f" in place of {content.label!r}" if content.label else ""
            steps.append(Action.saying(f"set the label {self.label!r}{was}", self._relabel))
        if state.can_grow:
            would = "Would have grown it to the size of its device"
            steps.append(Action(would, "grew it to the size of its device", self._grow))
        return tuple(steps)

    async def preflight(self, state: FilesystemState) -> None:
        """Check that the device is there and not in use, and that the programs are installed."""
        steps = self.plan(state, refresh=False)
        if not steps:
            return
        if state.size is None:
            self._refuse_missing()
        else:
            with opened(self.name) as fd, ErrorContext(f"change {self.name}"):
                self._refuse_unsafe(fd, state)
        for program in self._programs(state):
            await require_startable(Command((program,), "/", ENVIRONMENT))

    async def describe(self) -> Mapping[str, Any]:
        """The type, label and UUID of the file system."""
        content = (await self.observe()).content
        if content is None:
            return {"ensure": "absent"}
        return {"ensure": "present", "fstype": content.fstype, "label": content.label, "uuid": content.uuid}

    def _programs(self, state: FilesystemState) -> Iterable[str]:
        """The programs that the plan for ``state`` starts."""
        tools, content = TOOLS[self.fstype], state.content
        if content is None or content.fstype != self.fstype:
            yield tools.make[0]
            return
        if self.label not in (None, content.label):
            yield tools.relabel[0]
        if state.can_grow:
            yield from PROGRAMS[self.fstype]

    def _refuse_missing(self) -> None:
        if self.size is None:
            with opened(self.name):  # raises the ResourceError of a missing device
                return
        refuse_replaceable(self.name)
        with ErrorContext(f"create {self.name}"), Parent(self.name) as (directory, _):
            refuse_read_only(directory)
            refuse_forbidden(directory)
            new_file.refuse_full(self.name, directory, self.size)

    def _refuse_unsafe(self, fd: int, state: FilesystemState) -> None:
        """Raise ResourceError where the plan for ``state`` can't be carried out on the device open at ``fd``."""
        if stat.S_ISREG(os.fstat(fd).st_mode):
            refuse_replaceable(self.name)
        content = state.content
        if state.can_grow:
            refuse_ungrowable(fd, self.fstype, self.name)
        is_kept = content is not None and content.fstype == self.fstype
        is_labelled = content is not None and self.label in (None, content.label)
        if not is_kept or not (is_labelled or self.fstype in RELABELLED_IN_USE):
            refuse_used(fd, self.name)

    async def _make(self) -> None:
        """Make the file system on the descriptor whose content was found blank.

        Looks again just before: the device may have been formatted by hand since.
        """
        with opened(self.name) as fd, ErrorContext(f"make {self.fstype} on {self.name}"):
            content = await content_of(fd, self.name)
            self.plan(FilesystemState(size_of(fd), content), refresh=False)
            if content is not None and content.fstype == self.fstype:
                return
            self._refuse_unsafe(fd, FilesystemState(None, content))
            await require_answers(self.fstype)
            if content is not None:
                await call(fd, "wipefs", "--all", "--quiet", "{device}")
            await call(fd, *self._arguments, "{device}")

    async def _create(self) -> None:
        self._refuse_missing()
        with ErrorContext(f"create {self.name}"):
            await require_answers(self.fstype)
            async with new_file.created(self.name, self.size or 0) as fd:
                await call(fd, *self._arguments, "{device}")

    async def _relabel(self) -> None:
        await self._on_ours(partial(relabel, fstype=self.fstype, label=self.label or ""))

    async def _grow(self) -> None:
        await self._on_ours(self._grow_it)

    async def _grow_it(self, fd: int) -> None:
        refuse_ungrowable(fd, self.fstype, self.name)
        try:
            refuse_used(fd, self.name)
        except ResourceError:
            await grow(fd, self.fstype, used=True)
        else:
            await grow(fd, self.fstype, used=False)

    async def _on_ours(self, change: Callable[[int], Awaitable[None]]) -> None:
        """Change the file system, after a look that the device still holds it."""
        with opened(self.name) as fd, ErrorContext(f"change {self.name}"):
            content = await content_of(fd, self.name)
            if content is None or content.fstype != self.fstype:
                raise ResourceError(f"{self.name} has changed meanwhile", "the next check sees what it holds")
            self._refuse_unsafe(fd, FilesystemState(None, content))
            await change(fd)

    @property
    def _arguments(self) -> tuple[str, ...]:
        return arguments(self.fstype, self.label, self.uuid, self.options)
