"""Checks, for a dry run, that the planned change of a file can be made. Nothing is changed."""

from __future__ import annotations

import os

from reactor.hostfs import (
    ErrorContext,
    FileType,
    Parent,
    first_missing_path,
    open_path,
    refuse_exposed_program,
    refuse_forbidden,
    refuse_foreign_attributes,
    refuse_foreign_link,
    refuse_foreign_owner,
    refuse_mounts,
    refuse_read_only,
    refuse_unchangeable,
)
from reactor.resources.file.planner import stores
from reactor.resources.file.state import Desired, FileState


async def preflight(desired: Desired, state: FileState) -> None:
    """Raise the ResourceError with which the change would fail.

    The cause may be a missing source or validator, or a read-only file system.
    """
    if stores(desired, state) and desired.content is not None:
        if desired.settings.validator is not None:
            await desired.settings.validator.require_startable()
        with ErrorContext(f"write {desired.path}"):
            await desired.content.prepare()
            desired.content.head(0)
    creates_directory = desired.settings.ensure == "directory" and state.type is FileType.ABSENT
    made = first_missing_path(desired.path) if creates_directory else desired.path
    with ErrorContext(f"{_verb(desired, state)} {desired.path}"), Parent(made) as (directory, base):
        refuse_read_only(directory)
        if _replaces(desired, state):
            refuse_unchangeable(directory)
            refuse_forbidden(directory, base)
            if desired.settings.ensure != "absent":
                refuse_foreign_owner(state.wanted.uid, state.wanted.gid, directory)
        else:
            refuse_foreign_attributes((state.uid, state.gid, state.mode), state.wanted)
        if desired.settings.ensure == "absent":
            refuse_mounts(desired.path, directory, base)
        if state.type in (FileType.FILE, FileType.DIRECTORY):
            _refuse_unchangeable(desired.path)
        if desired.content is None and state.type is FileType.FILE:
            refuse_exposed_program(desired.path, directory, os.path.basename(desired.path), state.wanted.mode)
    if state.type is not FileType.ABSENT:
        _check_attributes(desired, state)


def _replaces(desired: Desired, state: FileState) -> bool:
    """Whether the change makes or removes a name in the directory, and does not only set attributes."""
    return desired.settings.ensure == "absent" or state.type is FileType.ABSENT or stores(desired, state)


def _refuse_unchangeable(path: str) -> None:
    fd = open_path(path)
    try:
        refuse_read_only(fd)  # a file may be a mount of its own, as /etc/hosts in a container
        refuse_unchangeable(fd)
    finally:
        os.close(fd)


def _verb(desired: Desired, state: FileState) -> str:
    """The verb for the change in error messages."""
    if desired.settings.ensure == "absent":
        return "remove"
    if state.type is (FileType.DIRECTORY if desired.settings.ensure == "directory" else FileType.FILE):
        return "write" if stores(desired, state) else "set the attributes of"
    return "create the directory" if desired.settings.ensure == "directory" else "write"


def _check_attributes(desired: Desired, state: FileState) -> None:
    """Raise ResourceError if only owner, group and mode are managed and may not be set on the existing file."""
    found = (state.uid, state.gid, state.mode)
    if state.shared and desired.content is None and found != state.wanted:
        with ErrorContext(f"set the attributes of {desired.path}"):
            fd = open_path(desired.path)
            try:
                refuse_foreign_link(fd, desired.path)
            finally:
                os.close(fd)
