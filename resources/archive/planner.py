"""The decision table of an archive: a pure function from the state to the plan.

It is the table of CCM's design, and decides three cases that CCM leaves open. An archive with the right checksum and
the wrong owner gets the right owner. An interrupted unpacking is repeated, also if `creates` exists. Without a
checksum, an archive that is known to come from another URL is downloaded again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from reactor import Action, Plan, ResourceError
from reactor.hostfs import FileType
from reactor.resources.archive import archive_file
from reactor.resources.archive.archive_file import Expected, download
from reactor.resources.archive.extraction import extract
from reactor.resources.archive.state import ArchiveState, Desired

_IN_THE_WAY = (FileType.DIRECTORY, FileType.DEVICE)


def plan_archive(desired: Desired, state: ArchiveState) -> Plan:
    """The plan for ``state``. Raises ResourceError if a directory or device is at the path."""
    if state.type in _IN_THE_WAY:
        words = f"{desired.path} exists as {state.type.value}; cannot manage it as an archive"
        raise ResourceError(words, "choose another path, or remove what is there first")
    return _absent(desired, state) if desired.ensure == "absent" else _present(desired, state)


def _absent(desired: Desired, state: ArchiveState) -> Plan:
    plan = _tidy(desired) if state.partial or state.interrupted else ()
    if state.type is FileType.ABSENT:
        return plan
    return (*plan, _step("Would have removed", "removed the archive", partial(archive_file.remove, desired)))


def _present(desired: Desired, state: ArchiveState) -> Plan:
    unpacking_due = state.creates_exists is False or state.interrupted or state.outdated
    downloading = _must_download(desired, state, unpacking_due=unpacking_due)
    extracting = desired.extract_parent is not None and (downloading or unpacking_due)
    has_archive = downloading or state.type is FileType.FILE
    expected = Expected(desired.checksum)
    plan: list[Action] = []
    if downloading:
        plan.append(_download(desired, state, expected))
    elif state.partial:
        plan.extend(_tidy(desired))
    if has_archive and not (downloading or state.is_owned or desired.cleanup):
        run = partial(archive_file.change_owner, desired.path, state.wanted)
        plan.append(_step("Would have updated attributes", "changed owner and group of the archive", run))
    if extracting:
        run = partial(extract, desired, state.wanted, expected)
        plan.append(_step("Would have extracted", f"unpacked it into {desired.extract_parent}", run))
    if has_archive and desired.cleanup:
        run = partial(archive_file.clean_up, desired)
        plan.append(_step("Would have cleaned up", "removed the archive after unpacking", run))
    return tuple(plan)


def _must_download(desired: Desired, state: ArchiveState, *, unpacking_due: bool) -> bool:
    if state.type is not FileType.FILE:
        return unpacking_due or not desired.cleanup
    if state.is_shared:
        return True
    if state.same_content is not None:
        return not state.same_content
    return unpacking_due or not state.is_owned  # nothing shows that the content is right


def _download(desired: Desired, state: ArchiveState, expected: Expected) -> Action:
    may_be_current = state.type is FileType.FILE and state.same_content is None
    did = "brought the archive up to date" if may_be_current else "downloaded the archive"
    return _step("Would have downloaded", did, partial(download, desired, state.wanted, expected))


def _tidy(desired: Desired) -> Plan:
    words = "removed what an interrupted run left"
    return (_step(f"Would have {words}", words, partial(archive_file.tidy, desired)),)


def _step(would: str, did: str, run: Callable[[], Awaitable[None]]) -> Action:
    """An action that verifies its own result, and raises if it is missing."""
    return Action(would, did, run, is_proof=True)
