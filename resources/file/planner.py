"""The decision table of a file: a pure function from the state to the plan."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import lru_cache, partial

from reactor import Action, Diff, Plan, ResourceError
from reactor.hostfs import (
    EMPTY,
    PROGRAM_BITS,
    Change,
    Content,
    FileType,
    Inline,
    attributes_diff,
    content_diff,
    create_directory,
    new_file_diff,
    remove_path,
    remove_stale_temporaries,
    replaced_text,
    set_attributes,
    write_file,
)
from reactor.resources.file.state import Desired, FileState

_WRITABLE = 0o022
_FILE = FileType.FILE  # see observer: looking an enum member up is slow


def plan_file(desired: Desired, state: FileState) -> Plan:
    """The plan for ``state``. Raises ResourceError if the file must not be changed."""
    if desired.settings.ensure == "present":
        if (
            state.same_content
            and (state.uid, state.gid, state.mode) == state.wanted
            and not state.stale_temporaries
        ):
            return ()  # the usual case
        plan = _present(desired, state)
    elif desired.settings.ensure == "directory":
        plan = _directory(desired, state)
    else:
        plan = _absent(desired, state)
    return (_remove_stale_temporaries(desired, state), *plan) if state.stale_temporaries else plan


def stores(desired: Desired, state: FileState) -> bool:
    """Whether the plan writes content, which a validator would read."""
    if desired.settings.ensure != "present" or desired.content is None:
        return False
    return state.type is not _FILE or not state.same_content or _may_be_written_by_others(state)


def _present(desired: Desired, state: FileState) -> Plan:
    if state.type is _FILE:
        has_attributes = (state.uid, state.gid, state.mode) == state.wanted
        changes = () if has_attributes else _changes(desired, state)
        if desired.content is not None and not state.same_content:
            return (_store(desired, desired.content, state, changes),)
        if changes and desired.content is not None and _may_be_written_by_others(state):
            return (rewrite(desired, desired.content, state, changes),)
        return (_set_attributes(desired, state, changes),) if changes else ()
    if state.type is FileType.ABSENT:
        return (_create(desired, state),)
    if state.type in (FileType.DIRECTORY, FileType.DEVICE):
        words = f"{desired.path} exists as {state.type.value}; cannot manage it as a file"
        raise ResourceError(words, "choose another path, or remove what is there first")
    if desired.content is not None:
        return (_replace(desired, desired.content, state),)
    return _attributes_only(desired, state)


def _attributes_only(desired: Desired, state: FileState) -> Plan:
    """The plan without managed content, if the path is not a regular file."""
    if state.target is FileType.FILE and not _changes(desired, state):
        return ()
    if state.type is FileType.SYMLINK:
        words = f"{desired.path} is a symlink; refusing to set attributes through it"
        raise ResourceError(words, "name the file it leads to, or give content to replace the symlink")
    words = f"{desired.path} is {state.type.value}, not a regular file; refusing to set its attributes"
    raise ResourceError(words, "remove it, or give content to replace it")


def _directory(desired: Desired, state: FileState) -> Plan:
    if FileType.DIRECTORY in (state.type, state.target):
        changes = _changes(desired, state)
        if not changes:
            return ()
        if state.type is FileType.DIRECTORY:
            return (_set_attributes(desired, state, changes),)
    if state.type is FileType.DEVICE:
        words = f"{desired.path} exists as a device; cannot manage it as a directory"
        raise ResourceError(words, "choose another path, or remove what is there first")
    replaced = "" if state.type is FileType.ABSENT else f" in place of {state.type.value}"
    return (
        Action(
            would="Would have created directory",
            did=f"created the directory{replaced}",
            run=partial(create_directory, desired.path, state.wanted, desired.settings.special),
            diff=partial(attributes_diff, desired.path, _all_new(desired), created=True),
            is_proof=True,
        ),
    )


def _absent(desired: Desired, state: FileState) -> Plan:
    if state.type is FileType.ABSENT:
        return ()
    would, did = "Would have removed the file", "removed the file"
    if state.type is FileType.SYMLINK:
        did = "removed the symlink"
    elif state.type is FileType.DIRECTORY and desired.settings.force:
        would = "Would have recursively removed the directory"
        did = "removed the directory and everything in it"
    elif state.type is FileType.DIRECTORY:
        if state.occupied:
            words = f"cannot remove {desired.path}: directory is not empty"
            raise ResourceError(words, "set force: true to remove non-empty directories")
        would, did = "Would have removed the directory", "removed the directory"
    return (
        Action(
            would=would,
            did=did,
            run=partial(remove_path, desired.path, recursive=desired.settings.force),
            diff=partial(content_diff, desired.path, None, ()) if state.type is FileType.FILE else None,
            is_proof=True,
        ),
    )


def _create(desired: Desired, state: FileState) -> Action:
    if desired.content is None:
        would = "Would have created an empty file with requested attributes"
        did = "created an empty file with the requested attributes"
    else:
        would, did = "Would have created the file", "created the file"
    return _write(desired, desired.content or EMPTY, state, would, did)


def _replace(desired: Desired, content: Content, state: FileState) -> Action:
    words = f"replaced {state.type.value} with the file"
    return _write(desired, content, state, f"Would have {words}", words)


def _write(desired: Desired, content: Content, state: FileState, would: str, did: str) -> Action:
    return Action(
        would=would,
        did=did,
        run=_writing(desired, content, state),
        diff=partial(_diff_of_new, desired, content),
        is_proof=True,
    )


def _store(desired: Desired, content: Content, state: FileState, changes: tuple[Change, ...]) -> Action:
    did = "replaced content that can't be read" if state.same_content is None else "updated the content"
    return Action(
        would="Would have updated the file",
        did=", ".join([did, *map(str, changes)]) if changes else did,
        run=_writing(desired, content, state),
        diff=partial(_diff_of_stored, desired, content, state, changes),
        is_proof=True,
    )


def _writing(desired: Desired, content: Content, state: FileState) -> Callable[[], Awaitable[None]]:
    validator, extended = desired.settings.validator, desired.settings.extended
    return partial(write_file, desired.path, content, state.wanted, validator, extended, short=state.short)


def writes(action: Action) -> bool:
    """Whether ``action`` writes the content of the file."""
    return getattr(action.run, "func", None) is write_file


async def _diff_of_stored(
    desired: Desired, content: Content, state: FileState, changes: tuple[Change, ...]
) -> Diff:
    if state.short is None or not isinstance(content, Inline):
        return await content_diff(desired.path, content, changes)
    state.short.is_shown = True  # so the change itself reads it, when the new content is in place
    return partial(replaced_text, desired.path, state.short, content, changes)


def _may_be_written_by_others(state: FileState) -> bool:
    """Whether other users may have the file open for writing, or under another name: then it must be replaced.

    A program that gets the rights of its group is replaced, too: its path may lead to another file by now.
    """
    bits = state.mode & ~state.wanted.mode & _WRITABLE | state.wanted.mode & PROGRAM_BITS
    return state.uid != state.wanted.uid or state.shared or bool(bits)


def rewrite(desired: Desired, content: Content, state: FileState, changes: tuple[Change, ...]) -> Action:
    """Replace the file by a copy of itself: a former owner may still write to the old one through a descriptor."""
    return Action(
        would="Would have updated attributes",
        did=", ".join(map(str, changes)),
        run=_writing(desired, content, state),
        diff=partial(attributes_diff, desired.path, changes),
        is_proof=True,
    )


def _set_attributes(desired: Desired, state: FileState, changes: tuple[Change, ...]) -> Action:
    return Action(
        would="Would have updated attributes",
        did=", ".join(map(str, changes)),
        run=partial(
            set_attributes, desired.path, state.wanted, desired.settings.special, opened=state.opened
        ),
        diff=partial(attributes_diff, desired.path, changes),
        is_proof=True,
    )


def _remove_stale_temporaries(desired: Desired, state: FileState) -> Action:
    what = temporary_files(len(state.stale_temporaries))
    return Action(
        would=f"Would have removed {what} of an interrupted run",
        did=f"removed {what} of an interrupted run",
        run=partial(remove_stale_temporaries, desired.path, state.stale_temporaries, state.wanted.uid),
        is_proof=True,
    )


def temporary_files(count: int) -> str:
    """The words for ``count`` temporary files."""
    return "a temporary file" if count == 1 else f"{count} temporary files"


def _changes(desired: Desired, state: FileState) -> tuple[Change, ...]:
    """The owner, group and mode, if they differ from the desired ones."""
    wanted = state.wanted
    changes = []
    if state.uid != wanted.uid:
        changes.append(Change("owner", str(state.uid), desired.settings.owner))
    if state.gid != wanted.gid:
        changes.append(Change("group", str(state.gid), desired.settings.group))
    if state.mode != wanted.mode:
        changes.append(Change("mode", f"{state.mode:04o}", f"{wanted.mode:04o}"))
    return tuple(changes)


async def _diff_of_new(desired: Desired, content: Content) -> Diff:
    return await new_file_diff(desired.path, content, _all_new(desired))


def _all_new(desired: Desired) -> tuple[Change, ...]:
    return _new_attributes(desired.settings.owner, desired.settings.group, desired.settings.mode)


@lru_cache(maxsize=64)
def _new_attributes(owner: str, group: str, mode: int) -> tuple[Change, ...]:
    """The same tuple for all files with these attributes: a first run makes many."""
    return (Change("owner", "", owner), Change("group", "", group), Change("mode", "", f"{mode:04o}"))
