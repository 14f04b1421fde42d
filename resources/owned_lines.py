"""The base of kinds that own lines of one file, which others own lines of, too."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from typing import Self

from reactor import (
    Action,
    Claim,
    Contradiction,
    PathState,
    PathWatch,
    Plan,
    Relations,
    Resource,
    ResourceError,
    Watch,
    fragile_mounts,
)
from reactor.hostfs import Attributes, open_directory
from reactor.resources import shared_lines
from reactor.resources.shared_lines import Found

_MODE = 0o644
PART = "a part of it"
"""What is claimed of the content of the file: the same as by `line`, `block` and `setting`, which may edit it, too."""


class SharedFile(Resource[Found | None]):
    """Edits a file that others of its kind edit, too: those with the same group key write it once."""

    @abstractmethod
    async def edit(self, members: Sequence[Self]) -> None:
        """Make the changes of all ``members``, which have the group key of this one. Raises ResourceError."""

    @classmethod
    def contradictions(cls, members: Sequence[Self]) -> Iterable[Contradiction]:  # noqa: ARG003 - see below
        """None: their claims, which the graph has compared, say what they own, and the rest is shared."""
        return ()

    @classmethod
    async def apply_group(cls, members: Sequence[Self]) -> dict[str, ResourceError]:
        """Write the file once for all."""
        await members[0].edit(members)
        return {}


class OwnedLines(SharedFile):
    """Owns lines of the file `file_path`. All resources of a kind with the same file are written together."""

    @property
    @abstractmethod
    def file_path(self) -> str:
        """The absolute path of the file."""

    @abstractmethod
    def differences(self, lines: Sequence[bytes]) -> list[str]:
        """The changes that ``lines`` need, in words; none if they are as desired."""

    @abstractmethod
    def changed(self, lines: Sequence[bytes]) -> list[bytes]:
        """The desired lines."""

    def watches(self) -> Iterable[Watch]:
        """The file."""
        yield PathWatch(self.file_path)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: Nothing.

        Depends on: The file.
        """
        return Relations(depends_on=(self.file_path,))

    def sandbox_access(self) -> Iterable[str]:
        """The file."""
        return (self.file_path,)

    def claims(self) -> Iterable[Claim]:
        """The file, which no other resource may write as a whole."""
        if self.ensure == "present":
            yield Claim("path", self.file_path, {"ensure": "present", "content": PART})

    def lasting_state(self) -> Sequence[PathState]:
        """The file."""
        return (PathState(self.file_path, "read"),)

    async def observe(self) -> Found | None:
        """The file; None if there is none. Raises ResourceError when it can't be read."""
        await fragile_mounts().ask(self.file_path)
        return shared_lines.find(self.file_path)

    def plan(self, state: Found | None, *, refresh: bool) -> Plan:  # noqa: ARG002  a line has nothing to refresh
        """One edit of the file."""
        if not (differences := self.differences(state.lines if state else [])):
            return ()
        words = " and ".join(differences)
        diff = partial(shared_lines.diff, self.file_path, [self.changed])
        return (Action.proven(words, partial(self.edit, [self]), diff),)

    async def preflight(self, state: Found | None) -> None:
        """Check that the file can be written."""
        shared_lines.refuse_unwritable(state.path if state else self.file_path)

    def group_key(self) -> Hashable:
        """The lines of one file are written together."""
        return self.file_path

    async def edit(self, members: Sequence[Self]) -> None:
        """Write the file once for all. Raises ResourceError."""
        changes = [each.changed for each in members]
        await shared_lines.edit(self.file_path, changes, _attributes_in(os.path.dirname(self.file_path)))


def _attributes_in(directory: str) -> Attributes:
    """The attributes of a new file: it belongs to the owner of its directory."""
    try:
        handle = open_directory(directory)
    except OSError:  # the write reports the reason
        return Attributes(0, 0, _MODE)
    try:
        status = os.fstat(handle)
    finally:
        os.close(handle)
    return Attributes(status.st_uid, status.st_gid, _MODE)
