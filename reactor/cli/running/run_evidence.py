"""Writes what `run_proof` needs, after a one-shot run that has left everything as desired.

Nothing in a manifest that can be proven depends on facts, data, time or commands: it has no expressions, and each of its
resources names the states of paths on which alone it depends that it is as desired.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from reactor.cli.running.proof import are_local, code_of_process, remove_proof, session_digest, write_proof
from reactor.cli.running.run_proof import (
    NO_TIMES,
    READ,
    RunProof,
    digest_at,
    identity_of,
    is_plain_process,
)
from reactor.engine.events import Cause, Checked, Converged, Ended, Result, as_json
from reactor.hostfs import first_missing_path, stamp_is_reliable, stamp_of
from reactor.journal.repeated_run import last_run
from reactor.language.expression import were_parsed
from reactor.mountinfo import read_mounts
from reactor.named_tuple import NamedTuple
from reactor.own_process import IMPORTED
from reactor.resource.plan import ResourceError
from reactor.resource.redaction import knows_secrets

if TYPE_CHECKING:
    from reactor.loading import LoadedManifest
    from reactor.mountinfo import MountInfo
    from reactor.resource.base import Resource
    from reactor.resource.relations import PathState

MOST = 20_000
"""The most resources: 100,000 would take as much memory as the run itself."""
_LARGEST = 64 << 20
"""The most bytes that the next run may have to read."""
_FOR_MORE = ("reactor.language.templates", "reactor.secrets.store")
"""Modules that are imported when the first template or secret of a manifest is read."""
_OF_CHECKS = frozenset(("read", "link", "unlocked"))
"""The types of states that are about what a check has read."""
_OF_THE_ENGINE = frozenset(("control", "health_checks", "register_when_stable", "slot", "meta"))


class NotProvableError(Exception):
    """The run depended on more than a proof can say."""


def keep_proof(program: LoadedManifest, manifests: Sequence[str], state: str, ended: Ended) -> None:
    """Write a proof of the run of ``program`` into the state directory, or remove that of an earlier run.

    ``ended`` is how the run has ended, with every resource as desired.
    """
    try:
        write_proof(state, _proof(program, manifests, state, ended).text())
    except (NotProvableError, ResourceError, OSError, ValueError):
        remove_proof(state)


def _proof(program: LoadedManifest, manifests: Sequence[str], state: str, ended: Ended) -> RunProof:
    states = provable_states(program, manifests)
    done = ended.counts[Result.OK] + ended.counts[Result.CHANGED]
    if done != len(program.graph.resources) or ended.outdated:
        raise NotProvableError
    sources = [each.source for each in states if each.source]
    inputs = [*map(os.path.abspath, manifests), *sources]
    stamps = {path: _input_stamp(path) for path in inputs}
    unread = [_with_content(each) for each in states if each.type == "file"]
    directories = [each for each in states if each.type == "directory"]
    existing = [each.path for each in states if not each.type]
    if sum(each.size for each in unread) > _LARGEST or not all(map(os.path.lexists, existing)):
        raise NotProvableError
    parents = {os.path.dirname(each.path) for each in (*unread, *directories)}
    mounts = read_mounts()
    read = _as_read({each for each in states if each.type in _OF_CHECKS}, {each.point for each in mounts})
    others = (*inputs, *existing, *read.stamps, *read.missing, *read.unlocked)
    leading = (*parents, *read.directories, *(each.path for each in states if each.type == "way"))
    ways = _ways((*leading, *map(os.path.dirname, others)), inputs, mounts)
    code, last = code_of_process(), last_run(state, ended.time)
    if code is None or last is None:
        raise NotProvableError
    return RunProof(
        manifests, program.path, session_digest(), time.time(), code, ways, dict.fromkeys(parents, NO_TIMES),
        stamps | read.stamps, unread, directories, existing, [*read.missing], read.unlocked,
        program.graph.refs, last, [*_events(program, ended)],
    )  # fmt: skip


def provable_states(program: LoadedManifest, manifests: Sequence[str]) -> list[PathState]:
    """The states of paths on which alone it depends that all resources are as desired. Raises NotProvableError."""
    _require_plain(program, manifests)
    resources = program.graph.resources.values()
    _require_own_states({type(each) for each in resources})
    return [state for each in resources for state in _states_of(each)]


def _require_plain(program: LoadedManifest, manifests: Sequence[str]) -> None:
    """Require that nothing but the text of the manifests decides what is desired."""
    inputs, graph = program.inputs, program.graph
    others = (
        program.data, program.warnings, program.pre_message, program.post_message, program.channels, program.shares,
        inputs.fact_paths, inputs.site, inputs.data,
    )  # fmt: skip
    is_plain = (
        is_plain_process()
        and not (knows_secrets() or were_parsed())
        and not any(name in sys.modules for name in _FOR_MORE)
    )
    read = {*program.files}.difference(inputs.files)
    if (
        any(others)
        or not is_plain
        or len(graph.resources) > MOST
        or read != {*map(os.path.abspath, manifests)}
    ):
        raise NotProvableError


def _require_own_states(kinds: Iterable[type[Resource[Any]]]) -> None:
    """Require that what a kind says of its state is from the class that looks at the host: another one may look further."""
    for kind in kinds:
        looking = next(each for each in kind.__mro__ if "observe" in vars(each) or "plan" in vars(each))
        if "lasting_state" not in vars(looking):
            raise NotProvableError


def _states_of(resource: Resource[Any]) -> Sequence[PathState]:
    """The states on which alone it depends that the resource is as desired. Raises NotProvableError."""
    declared = resource.declared
    is_plain = (
        declared.deferred is None
        and not declared.members
        and not declared.secrets
        and not declared.form.is_ccm
    )
    if not is_plain or not _OF_THE_ENGINE.isdisjoint(resource.model_fields_set):
        raise NotProvableError
    states = resource.lasting_state()
    if states is None:
        raise NotProvableError
    return states


def _with_content(state: PathState) -> PathState:
    """The state with the content of its source, if it has one."""
    if not state.source:
        return state
    descriptor = os.open(state.source, READ)
    try:
        return state._replace(size=os.fstat(descriptor).st_size, digest=digest_at(descriptor))
    finally:
        os.close(descriptor)


def _input_stamp(path: str) -> Sequence[int]:
    """The stamp of a file that the run has read, if it has not changed since it was read. Raises NotProvableError and OSError."""
    found = os.lstat(path)
    is_plain = stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and not found.st_mode & stat.S_IWGRP
    is_plain &= found.st_dev == os.lstat(os.path.dirname(path)).st_dev  # else it is mounted from elsewhere
    if not is_plain or not stamp_is_reliable(found, IMPORTED):
        raise NotProvableError
    return stamp_of(found)


class _AsRead(NamedTuple):
    """What checks have read: stamps by path, the directories among them, what was missing, and locks that were free."""

    stamps: dict[str, Sequence[int]]
    directories: list[str]
    missing: set[str]
    unlocked: list[str]


def _as_read(states: Iterable[PathState], mount_points: Collection[str]) -> _AsRead:
    """What checks have read, if nothing of it has changed since this process began: then each has read what is there now.

    No file may be mounted from elsewhere. Its device does not tell: overlayfs may show another one for each layer.
    What the run itself has changed is found as desired by the next one, and then proven. Raises NotProvableError and OSError.
    """
    read = _AsRead({}, [], set(), [])
    for each in states:
        if each.type == "unlocked":
            read.unlocked.append(each.path)
            continue
        try:
            found = os.lstat(each.path)
        except FileNotFoundError:
            read.missing.add(_first_missing(each.path))
            continue
        is_directory = stat.S_ISDIR(found.st_mode)
        if not _is_as_read(each, found) or (each.path in mount_points and not is_directory):
            raise NotProvableError
        read.stamps[each.path] = stamp_of(found)
        if is_directory:
            read.directories.append(each.path)
    return read


def _is_as_read(state: PathState, found: os.stat_result) -> bool:
    """Whether what was found has one name, is followed nowhere, and is older than this process."""
    if state.type == "link":
        is_plain = stat.S_ISLNK(found.st_mode)
    else:
        is_plain = stat.S_ISDIR(found.st_mode) or (stat.S_ISREG(found.st_mode) and found.st_nlink == 1)
    return is_plain and stamp_is_reliable(found, IMPORTED)


def _first_missing(path: str) -> str:
    """The first component of ``path`` that is missing, and was missing for every check. Raises NotProvableError and OSError."""
    first = first_missing_path(path)
    if not stamp_is_reliable(os.lstat(os.path.dirname(first)), IMPORTED):
        raise NotProvableError
    return first


def _ways(
    directories: Iterable[str], inputs: Iterable[str], mounts: Iterable[MountInfo]
) -> dict[str, Sequence[int]]:
    """The identity of each of the directories, and of those above. Raises NotProvableError and OSError.

    Who else can write to a directory of inputs may depend on the members of its group.
    """
    found = {path: os.lstat(path) for path in _with_those_above(directories)}
    of_inputs = {*_with_those_above(map(os.path.dirname, inputs))}
    for path, each in found.items():
        is_grouped = each.st_mode & stat.S_IWGRP and not each.st_mode & stat.S_ISVTX
        if not stat.S_ISDIR(each.st_mode) or (is_grouped and path in of_inputs):
            raise NotProvableError
    by_device = {each.st_dev: path for path, each in found.items()}
    if not are_local(by_device.values(), mounts):
        raise NotProvableError
    return {path: identity_of(each) for path, each in found.items()}


def _with_those_above(directories: Iterable[str]) -> Iterator[str]:
    known: set[str] = set()
    for each in directories:
        directory = each
        while directory not in known:
            known.add(directory)
            yield directory
            directory = os.path.dirname(directory)


def _events(program: LoadedManifest, ended: Ended) -> Iterator[dict[str, Any]]:
    """What the next run reports; the first event stands for the checks of all resources."""
    count = len(program.graph.resources)
    yield as_json(Checked(0, "#", Result.OK, Cause.INITIAL, 0))
    yield as_json(Converged(0, count, 0))
    counts: dict[str, int] = {result: count if result is Result.OK else 0 for result in Result}
    yield as_json(Ended(0, counts, 0, 0, ended.reason))
