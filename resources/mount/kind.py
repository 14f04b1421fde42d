"""The kind `mount`: its properties, and the rules for their combinations."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, WithJsonSchema

from reactor import (
    AbsolutePath,
    Claim,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    ResourceError,
    SandboxAccess,
    TimerWatch,
    Watch,
    fragile_mounts,
    matching_text,
)
from reactor.hostfs import NormalForms
from reactor.resources import textfile
from reactor.resources.mount import preflight, swap
from reactor.resources.mount.comparison import is_known, is_same, overlaid, respelled
from reactor.resources.mount.fstab import FSTAB, SWAP, Entry, entries_at, node_of, subject_of
from reactor.resources.mount.mount_table import Mounted, has_lost_server, is_fuse, mounts_at
from reactor.resources.mount.planner import edits_table, plan_mount
from reactor.resources.mount.state import Desired, MountState
from reactor.resources.mount.swap import areas_at
from reactor.watchers.readiness import MOUNTS, ReadinessWatch

_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_OPTION = re.compile(r"[^\s,]+")
_NOWHERE = "none"
"""The mount point in a line for swap. Any other value means the same."""
_LOOK_AT_SERVERS = 60.0
"""Every how many seconds it is checked whether the servers of FUSE mounts are there."""
_NEEDED = ("/", "/proc", "/sys", "/dev")


def _check_device(text: str) -> str:
    if not text.isprintable() or not text.strip():
        raise ValueError("write a device, such as /dev/sdb1, UUID=..., server:/path, or tmpfs")
    return text


def _split_options(value: Any) -> Any:
    """Split each item of a list at its commas, as from a shell: ``--options rw,noatime``."""
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list | tuple) or not all(isinstance(each, str) for each in given):
        return value
    return tuple(option for each in given for option in each.split(",") if option)


def _check_option(text: str) -> str:
    if not _OPTION.fullmatch(text) or not text.isprintable():
        raise ValueError(f"{text!r} is not an option: write each without spaces")
    if text == "remount":
        raise ValueError("remount is not allowed: a mount with other options is remounted without it")
    return text


_OPTIONS_SCHEMA = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}

Options = Annotated[
    tuple[Annotated[str, AfterValidator(_check_option)], ...],
    BeforeValidator(_split_options),
    WithJsonSchema(_OPTIONS_SCHEMA),
]
"""Mount options, as a list or separated by commas as in fstab."""


class Mount(Resource[MountState], kind="mount"):
    """Manage a mount point or a swap area: what is mounted or in use, and its line in `/etc/fstab`."""

    example = "/mnt --device tmpfs --fstype tmpfs --options size=64m"

    name: AbsolutePath
    ensure: Literal["mounted", "present", "unmounted", "absent"] = "mounted"
    device: Annotated[str, AfterValidator(_check_device)] | None = None
    """The device to mount: a path, `UUID=...`, `server:/path`, a directory to bind, or a word such as `tmpfs`."""
    fstype: (
        Annotated[
            str, matching_text(_TYPE, "is not a type of file system: write it as in ext4, nfs or tmpfs")
        ]
        | None
    ) = None
    """The type of the file system; `none` for a bind mount; `swap` for the swap device or file that is the name."""
    options: Options = ()
    """Mount options, as a list or separated by commas, as in `rw,noatime`."""
    dump: Annotated[int, Field(ge=0, le=9)] = 0
    """The fifth field of the line, for dump(8)."""
    passno: Annotated[int, Field(ge=0, le=9, alias="pass")] = 0
    """The sixth field of the line: the order in which fsck checks it at boot; 0 means never."""

    @classmethod
    def shell_defaults(cls, name: str, ensure: str) -> Mapping[str, str]:
        """An existing mount keeps its device and type."""
        mounts = mounts_at(name) if ensure != "absent" else ()
        return {"device": mounts[-1].source, "fstype": mounts[-1].fstype} if mounts else {}

    async def describe(self) -> Mapping[str, Any]:
        """The topmost mount, and whether there is a line in /etc/fstab."""
        entries, mounts = await self._tables()
        found: dict[str, Any] = {"ensure": "mounted" if mounts else "present" if entries else "absent"}
        if mounts:
            top = mounts[-1]
            found |= {"device": top.source, "fstype": top.fstype, "options": sorted(top.options)}
        return {**found, "in_fstab": bool(entries)}

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        if self.ensure in ("unmounted", "absent") and self.name in _NEEDED:
            message = f"{self.name} can't be {self.ensure}: the host would not work without it"
            yield PropertyProblem(("ensure",), message, "write ensure: mounted or ensure: present")
        if self._is_swap:
            yield from self._swap_problems()
            return
        if self.ensure == "absent":
            return
        examples = {"device": "device: /dev/sdb1", "fstype": "fstype: ext4"}
        if missing := [name for name in examples if getattr(self, name) is None]:
            message = (
                f"{' and '.join(missing)} {'are' if missing[1:] else 'is'} required, unless ensure is absent"
            )
            them = "them" if missing[1:] else "it"
            hint = f"add {them}, for example {', '.join(examples[name] for name in missing)}"
            yield PropertyProblem((), message, hint)

    def _swap_problems(self) -> Iterable[PropertyProblem]:
        if self.device not in (None, self.name):
            words = "the name of a swap resource is its device or file, so device must not be another"
            yield PropertyProblem(("device",), words, "remove device, and use it as the name of the resource")
        if fault := swap.options_problem(self.options):
            yield PropertyProblem(("options",), fault, "correct it")

    def watches(self) -> Iterable[Watch]:
        """The mount table of the kernel, and /etc/fstab. Nothing announces that the server of a FUSE mount has ended."""
        yield ReadinessWatch(swap.SWAPS if self._is_swap else MOUNTS)
        yield PathWatch(FSTAB)
        if self.ensure == "mounted" and is_fuse(self.fstype or ""):
            yield TimerWatch(_LOOK_AT_SERVERS)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The mount point: everything below it is in the mounted file system.

        Depends on: The mount point, which a file system without its server may hide until it is unmounted; /etc/fstab,
        the device if it is a path or a tag such as `UUID=`, and the directories of an overlay.
        """
        needed = [self.name, FSTAB]
        node = node_of(self.device or "")
        if self.ensure != "absent" and node.startswith("/"):
            needed.append(node.rstrip("/") or "/")
        if self.ensure == "mounted":
            needed += overlaid(self.fstype, self.options)
        if self._is_swap:
            return Relations(depends_on=needed)
        if self.ensure == "mounted":
            return Relations(provides=(self.name,), depends_on=needed, repairs=(self.name,))
        cleared = (f"{self.name}/",) if self.ensure in ("unmounted", "absent") else ()
        return Relations(clears=cleared, depends_on=needed, repairs=(self.name,))

    def sandbox_access(self) -> Iterable[SandboxAccess | str]:
        """Mounting, or turning swap on and off, and /etc/fstab."""
        return (SandboxAccess.MOUNT, *((SandboxAccess.SWAP,) if self._is_swap else ()), FSTAB)

    def claims(self) -> Iterable[Claim]:
        """The mount point, or the swap area."""
        desired: dict[str, object] = {"ensure": self.ensure}
        if self.ensure != "absent":
            desired |= {"device": self.device, "fstype": self.fstype, "options": self._entry.options}
        yield Claim("swap area" if self._is_swap else "mount point", self.name, desired)

    async def observe(self) -> MountState:
        """The present mounts, and the lines in /etc/fstab.

        Raises ResourceError when either table can't be read, or another user decides what is mounted.
        """
        if self.ensure in ("mounted", "present"):
            await preflight.refuse_foreign_device(self._entry)
        entries, mounts = await self._tables()
        if self.ensure != "mounted" or not mounts or self._is_swap:
            return MountState(entries, mounts)
        wanted = self._entry
        *below, top = mounts
        same = is_known(wanted.device, top, self._forms) or await is_same(
            wanted.device, wanted.fstype, wanted.options, top, self.name
        )
        is_dead = await has_lost_server(self.name, top)
        return MountState(entries, (*below, respelled(self.options, top, self._forms)), same, is_dead)

    def plan(self, state: MountState, *, refresh: bool) -> Plan:  # noqa: ARG002  a mount has nothing to refresh
        """The plan by the decision table, `plan_mount`."""
        return plan_mount(Desired(self.ensure, self._entry, self.options, self._forms), state)

    async def preflight(self, state: MountState) -> None:
        """Check that the mount point and the device exist, and that the table can be written."""
        refuse = swap.refuse if self._is_swap else preflight.refuse
        desired = Desired(self.ensure, self._entry, self.options)
        await refuse(desired, state)
        if edits_table(desired, state):
            textfile.refuse_unwritable(FSTAB)

    async def reversal(self, state: MountState) -> Self:
        """The line as it was in /etc/fstab, mounted if it was mounted; or no line.

        Raises ResourceError for a mount without a line.
        """
        hint = "do it by hand, or remove reverse"
        kind = {"fstype": SWAP} if self._is_swap else {}
        if not state.entries:
            if state.mounts:
                words = f"the mount at {self.name} is not in {FSTAB}, and reverse could not restore it"
                raise ResourceError(words, hint)
            return type(self)(name=self.name, ensure="absent", **kind)
        entry = state.entries[0]
        former = "present" if self.ensure == "present" else "mounted" if state.mounts else "unmounted"
        properties = {"device": entry.device, "fstype": entry.fstype, "options": sorted(entry.options)}
        try:
            return type(self)(
                name=self.name, ensure=former, **properties, dump=entry.dump, **{"pass": entry.passno}
            )
        except ValidationError as error:
            words = f"reverse could not restore the line of {self.name} in {FSTAB}"
            raise ResourceError(words, hint) from error

    async def _tables(self) -> tuple[tuple[Entry, ...], tuple[Mounted, ...]]:
        """The lines in /etc/fstab, and the mounts.

        Only the parent directory must answer, not the mounted file system.
        """
        await fragile_mounts().ask(os.path.dirname(self.name))
        if self._is_swap:
            found = entries_at(textfile.read(FSTAB) or "", subject_of(self._entry))
            return tuple(each._replace(device=self.name, point=_NOWHERE) for each in found), areas_at(
                self.name
            )
        return entries_at(textfile.read(FSTAB) or "", self.name), mounts_at(self.name)

    @property
    def _is_swap(self) -> bool:
        return self.fstype == SWAP

    @cached_property
    def _forms(self) -> NormalForms:
        return NormalForms(self.kind, self.name)

    @property
    def _entry(self) -> Entry:
        options = frozenset(self.options) - {"defaults"}
        device, fstype = self.device or "", self.fstype or ""
        if self._is_swap:
            return Entry(self.name, _NOWHERE, SWAP, options, self.dump, self.passno)
        return Entry(device, self.name, fstype, options, self.dump, self.passno)
