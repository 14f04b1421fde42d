"""ACL, extended attributes and capabilities of a file or directory: read, compared and planned beside the rest."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from reactor import Action, Plan
from reactor.hostfs import (
    Change,
    FileType,
    Parent,
    accounts,
    accounts_of,
    attributes_diff,
    read_extended,
    refuse_exposed,
    require_support,
    resource_error,
    set_extended,
)
from reactor.resources.file import acl, capabilities
from reactor.resources.file.observer import Observer
from reactor.resources.file.planner import rewrite, writes
from reactor.resources.file.state import FileState

Values = dict[str, bytes | None]
"""By the name of the extended attribute; None for one that must not be there."""


class DesiredExtended(NamedTuple):
    """The managed properties; None for one that is not managed. ``mode`` is the declared mode, without the mask of the ACL."""

    mode: int
    acl: Sequence[acl.Entry] | None = None
    xattrs: Mapping[str, str | None] | None = None
    capabilities: str | None = None


class ExtendedReconciler:
    """Observes and plans the extended attributes of a path, and all else by an `Observer`.

    New content gets them before it replaces the old content.
    """

    __slots__ = ("_found", "_observer", "_wanted")

    def __init__(self, observer: Observer, wanted: DesiredExtended) -> None:
        desired = observer.desired
        if wanted.acl is not None:
            mode = acl.shown_mode(wanted.acl, desired.settings.mode)
            observer.desired = desired._replace(settings=desired.settings._replace(mode=mode))
        self._observer = observer
        self._wanted = wanted
        self._found: Values = {}

    async def observe(self) -> FileState:
        """The state of the path. ``changes`` are the extended attributes that differ. Raises ResourceError."""
        values = await self._values()
        desired = self._observer.desired
        self._observer.desired = desired._replace(settings=desired.settings._replace(extended=values))
        state = await self._observer.observe()
        wanted = FileType.FILE if self._observer.desired.settings.ensure == "present" else FileType.DIRECTORY
        if state.type is not wanted:
            return state
        path = self._observer.desired.path
        try:
            found = read_extended(path, values)
        except FileNotFoundError:  # removed since
            return await self._observer.observe()
        except OSError as error:
            raise resource_error(error, f"inspect {path}") from error
        changes = _changes(found, values)
        return state._replace(changes=changes) if changes else state

    async def _values(self) -> Values:
        wanted, values = self._wanted, Values()
        if wanted.acl is not None:
            ids = {entry: await _id_of(entry) for entry in wanted.acl if entry.name}
            values[acl.ACCESS] = acl.encode(wanted.acl, wanted.mode, ids.__getitem__, is_default=False)
            if self._observer.desired.settings.ensure == "directory":
                values[acl.DEFAULT] = acl.encode(wanted.acl, wanted.mode, ids.__getitem__, is_default=True)
        for name, text in (wanted.xattrs or {}).items():
            values[name] = None if text is None else value_of(text)
        if wanted.capabilities is not None:
            values[capabilities.ATTRIBUTE] = capabilities.encode(wanted.capabilities)
        return values

    def expect_file(self) -> None:
        """Expect a regular file, because one was just put in place."""
        self._observer.expect_file()

    def plan(self, state: FileState) -> Plan:
        """The plan by the decision table of files, and for the extended attributes. Raises ResourceError."""
        desired, plan = self._observer.desired, self._observer.plan(state)
        if not (state.changes or plan) or any(writes(action) for action in plan):
            return plan
        if desired.content is not None and any(each.attribute == "capabilities" for each in state.changes):
            # The file may be another one by now, which its directory's owner has put there.
            return (rewrite(desired, desired.content, state, state.changes),)
        words = ", ".join(map(str, state.changes)) or "set the extended attributes"
        return (
            *plan,
            Action(
                would="Would have updated extended attributes",
                did=words,
                run=partial(set_extended, desired.path, desired.settings.extended or {}),
                diff=partial(attributes_diff, desired.path, state.changes) if state.changes else None,
                is_proof=True,
            ),
        )

    async def preflight(self, state: FileState) -> None:
        """Raise the ResourceError with which the change would fail, as on a file system without such attributes."""
        await self._observer.preflight(state)
        desired = self._observer.desired
        require_support(desired.path, desired.settings.extended or {})
        if desired.content is None and self._wanted.capabilities:
            with Parent(desired.path) as (directory, base):
                refuse_exposed(desired.path, directory, base)


def accounts_in(texts: Sequence[str]) -> Iterator[str]:
    """The users and groups that the entries of an ACL name, as dependencies."""
    for entry in acl.parse_acl(texts):
        if entry.name:
            yield from accounts_of(*((entry.name, None) if acl.is_user(entry) else (None, entry.name)))


async def _id_of(entry: acl.Entry) -> int:
    names = (entry.name, "0") if acl.is_user(entry) else ("0", entry.name)
    ids = accounts.known(*names) or await accounts.look_up(*names)
    return ids[0] if acl.is_user(entry) else ids[1]


def value_of(text: str) -> bytes:
    """The value in ``text``: as it is, or decoded after ``0x`` or ``0s``, as setfattr(1) does. Raises ValueError."""
    try:
        if text[:2] in ("0x", "0X"):
            return bytes.fromhex(text[2:])
        if text[:2] in ("0s", "0S"):
            return base64.b64decode(text[2:], validate=True)
    except (ValueError, binascii.Error):
        raise ValueError(
            f"{text!r} is invalid: hexadecimal digits must follow 0x, and base64 must follow 0s"
        ) from None
    return text.encode()


def text_of(value: bytes) -> str:
    """The text from which `value_of` makes ``value``."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return f"0x{value.hex()}"
    return text if text.isprintable() and text[:2].lower() not in ("0x", "0s") else f"0x{value.hex()}"


def _changes(found: Values, wanted: Values) -> tuple[Change, ...]:
    changes = [
        Change(f"xattr {name}", _shown(found[name]), _shown(value))
        for name, value in wanted.items()
        if name not in (acl.ACCESS, acl.DEFAULT, capabilities.ATTRIBUTE) and found[name] != value
    ]
    lists = [name for name in (acl.ACCESS, acl.DEFAULT) if name in wanted]
    if any(acl.normal(found[name]) != wanted[name] for name in lists):
        changes.append(Change("acl", _acl_shown(found) or "none", _acl_shown(wanted) or "none"))
    name = capabilities.ATTRIBUTE
    if name in wanted and capabilities.normal(found[name]) != wanted[name]:
        old, new = (capabilities.decode(each[name]) or "none" for each in (found, wanted))
        changes.append(Change("capabilities", old, new))
    return tuple(changes)


def _shown(value: bytes | None) -> str:
    return "none" if value is None else text_of(value)


def _acl_shown(values: Values) -> str:
    return ",".join(acl_texts(values, is_whole=True))


def acl_texts(values: Values, *, is_whole: bool = False) -> list[str]:
    """The entries of both lists in ``values``, with ids, as the property has them; with ``is_whole`` all of them."""
    access = acl.texts_of(values.get(acl.ACCESS), is_default=False, is_whole=is_whole)
    return access + acl.texts_of(values.get(acl.DEFAULT), is_default=True)


def extended_properties(path: str) -> dict[str, object]:
    """The ACL and the capabilities of the file at ``path``, as properties; without missing ones.

    Raises OSError and ResourceError.
    """
    found = read_extended(path, (acl.ACCESS, acl.DEFAULT, capabilities.ATTRIBUTE))
    entries, text = acl_texts(found), capabilities.decode(found[capabilities.ATTRIBUTE])
    return {name: value for name, value in (("acl", entries), ("capabilities", text)) if value}
