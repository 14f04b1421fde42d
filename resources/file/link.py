"""Symbolic links: the state of the link itself, never of what it leads to, and the decision table."""

from __future__ import annotations

import os
from functools import partial
from typing import NamedTuple

from reactor import Action, Diff, Plan, ResourceError
from reactor.hostfs import (
    KEEP,
    Attributes,
    Change,
    ErrorContext,
    FileType,
    LinkOwner,
    Parent,
    accounts,
    attributes_diff,
    content_diff,
    find_stale_links,
    open_path,
    refuse_forbidden,
    refuse_mounts,
    refuse_read_only,
    remove_stale_links,
    resource_error,
    set_link_owner,
    type_of,
    write_link,
)
from reactor.resources.file.planner import temporary_files
from reactor.resources.file.state import FileState

_MODE = 0o777
"""Linux shows this mode for every symlink, and none can be set."""


class DesiredLink(NamedTuple):
    """The desired link. ``owner`` and ``group`` are None if they are not managed."""

    path: str
    target: str
    owner: str | None = None
    group: str | None = None
    force: bool = False


class LinkReconciler:
    """Reads the state of one link, and plans its changes."""

    __slots__ = ("_stale_temporaries", "desired")

    def __init__(self, desired: DesiredLink) -> None:
        self.desired = desired
        self._stale_temporaries: tuple[str, ...] | None = None

    async def observe(self) -> FileState:
        """The state of the path. Raises ResourceError when it can't be read."""
        desired = self.desired
        owner = desired.owner or "0", desired.group or "0"
        ids = accounts.known(*owner) or await accounts.look_up(*owner)
        uid = KEEP if desired.owner is None else ids[0]
        wanted = Attributes(uid, KEEP if desired.group is None else ids[1], _MODE)
        if self._stale_temporaries != ():  # once there are none, only another killed run can leave some
            self._stale_temporaries = await find_stale_links(
                desired.path, uid, takes_directories=desired.force
            )
        try:
            return self._look(wanted)
        except (FileNotFoundError, NotADirectoryError):
            return FileState(FileType.ABSENT, wanted=wanted, stale_temporaries=self._stale_temporaries)
        except OSError as error:
            raise resource_error(error, f"inspect {desired.path}") from error

    def _look(self, wanted: Attributes) -> FileState:
        fd = open_path(self.desired.path)
        try:
            found = os.fstat(fd)
            kind = type_of(found.st_mode)
            return FileState(
                kind,
                found.st_mode & 0o7777,
                found.st_uid,
                found.st_gid,
                wanted,
                stale_temporaries=self._stale_temporaries or (),
                points_to=os.readlink("", dir_fd=fd) if kind is FileType.SYMLINK else None,
            )
        finally:
            os.close(fd)

    def expect_file(self) -> None:
        """Do nothing: a link is no regular file."""

    def plan(self, state: FileState) -> Plan:
        """The plan for ``state``. Raises ResourceError if the path must not be replaced."""
        plan = self._plan_link(state)
        if not state.stale_temporaries:
            return plan
        what = temporary_files(len(state.stale_temporaries))
        names, force = state.stale_temporaries, self.desired.force
        run = partial(remove_stale_links, self.desired.path, names, state.wanted.uid, takes_directories=force)
        action = Action(
            would=f"Would have removed {what} of an interrupted run",
            did=f"removed {what} of an interrupted run",
            run=run,
            is_proof=True,
        )
        return (action, *plan)

    def _plan_link(self, state: FileState) -> Plan:
        desired = self.desired
        if state.type is FileType.ABSENT:
            words = f"created the link to {desired.target}"
        elif state.type is not FileType.SYMLINK:
            return (self._replacement(state),)
        elif state.points_to == desired.target:
            return self._attributes_only(state)
        else:
            words = f"pointed the link to {desired.target} instead of {state.points_to}"
        return (self._link(words, state),)

    def _attributes_only(self, state: FileState) -> Plan:
        changes = self._changes(state)
        if not changes:
            return ()
        return (
            Action(
                would="Would have updated attributes",
                did=", ".join(map(str, changes)),
                run=partial(set_link_owner, self.desired.path, LinkOwner(*state.wanted[:2])),
                diff=partial(attributes_diff, self.desired.path, changes),
                is_proof=True,
            ),
        )

    def _replacement(self, state: FileState) -> Action:
        path, target = self.desired.path, self.desired.target
        if state.type is FileType.DEVICE:
            words = f"{path} exists as a device; cannot manage it as a link"
            raise ResourceError(words, "choose another path, or remove what is there first")
        if not self.desired.force:
            more = " with everything in it" if state.type is FileType.DIRECTORY else ""
            words = f"{path} exists as {state.type.value}; refusing to replace it by a link"
            raise ResourceError(words, f"set force: true to replace it{more}, or remove it first")
        more = " and everything in it" if state.type is FileType.DIRECTORY else ""
        return self._link(f"replaced {state.type.value}{more} with the link to {target}", state)

    def _link(self, words: str, state: FileState) -> Action:
        desired = self.desired
        owner = LinkOwner(*state.wanted[:2])
        is_file = state.type is FileType.FILE
        diff = partial(content_diff, desired.path, None, ()) if is_file else partial(self._diff, state)
        return Action(
            would=f"Would have {words}",
            did=words,
            run=partial(write_link, desired.path, desired.target, owner, replaces_all=desired.force),
            diff=diff,
            is_proof=True,
        )

    async def _diff(self, state: FileState) -> Diff:
        changes = (Change("target", state.points_to or "", self.desired.target), *self._changes(state))
        return await attributes_diff(self.desired.path, changes, created=state.type is FileType.ABSENT)

    def _changes(self, state: FileState) -> tuple[Change, ...]:
        """The owner and the group, if they are managed and differ. A new link has no old ones."""
        desired, wanted = self.desired, state.wanted
        is_new = state.type is not FileType.SYMLINK
        pairs = (
            ("owner", state.uid, wanted.uid, desired.owner),
            ("group", state.gid, wanted.gid, desired.group),
        )
        return tuple(
            Change(name, "" if is_new else str(found), str(text))
            for name, found, id_, text in pairs
            if text is not None and (is_new or found != id_)
        )

    async def preflight(self, state: FileState) -> None:
        """Raise the ResourceError with which the change would fail, such as a read-only file system."""
        with ErrorContext(f"link {self.desired.path}"), Parent(self.desired.path) as (directory, base):
            refuse_read_only(directory)
            refuse_forbidden(directory, base)
            if state.type in (FileType.FILE, FileType.DIRECTORY):
                refuse_mounts(self.desired.path, directory, base)
