"""Writes what `receive_proof` needs, after a run of a bundle that has found everything as desired.

Only a manifest of plain files and directories can be proven: nothing in it depends on the host, on time or on commands. The stamps are taken before
the run and compared after it, so they are those of what it has seen.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import yaml

from reactor.cli.running.receive_proof import Proof, code_stamp, session_digest
from reactor.engine.events import Cause, Checked, Converged, Result, as_json
from reactor.fleet.push.loaded_files import are_current, loaded_files
from reactor.hostfs import is_id, stamp_is_reliable, stamp_of
from reactor.journal.repeated_run import is_still_last, last_run
from reactor.manifest.document import Settings
from reactor.mountinfo import read_mounts

if TYPE_CHECKING:
    from reactor.engine.events import Ended
    from reactor.loading import LoadedManifest
    from reactor.resource.base import Resource

_KEYS = frozenset(("resources", "file", "defaults", "ensure", "content", "source", "owner", "group", "mode"))
_EXPRESSIONS = ("{{", "${", "{%")
_LOCAL = frozenset(("btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "ramfs", "tmpfs", "xfs"))
"""File systems whose stamps only this kernel changes."""
_MOST = 20_000
"""The most paths: to compare more takes longer than a run should be delayed."""


class Evidence(NamedTuple):
    """The stamps before the run. ``refs`` are those of all resources."""

    paths: dict[str, list[int]]
    directories: list[str]
    refs: list[str]

    @classmethod
    def before(cls, program: LoadedManifest, bundle: str, channel: str, read_at: int) -> Self | None:
        """Take the stamps. None if ``program`` can't be proven, or anything may have changed since ``read_at``, in ns, before it was loaded.

        ``bundle`` is the directory of the bundle, and ``channel`` that of the links to it.
        """
        try:
            resources = [*program.graph.resources.values()]
            if len(resources) > _MOST or not _is_plain(program, bundle):
                return None
            managed = [_plain_path(each, bundle) for each in resources]
            directories = sorted({bundle, *map(os.path.dirname, managed)})
            if not all(os.path.realpath(each) == each for each in directories) or not _are_local(directories):
                return None
            paths = _stamps([*managed, *directories, *_below(bundle), *_below(channel)], read_at)
            devices = {path: stamp[0] for path, stamp in paths.items()}
            if any(devices[path] != devices[os.path.dirname(path)] for path in managed):
                return None  # something is mounted on it
        except (OSError, ValueError, yaml.YAMLError):
            return None
        return cls(paths, directories, program.graph.refs)

    def write(self, root: str, state: str, manifest: str, ended: Ended, report: dict[str, Any]) -> None:
        """Write the proof into ``root``, unless anything has changed since. ``report`` are the first and the last event, by name."""
        if _is_known(root, state, report["pushed"]["bundle"]):
            return
        now = time.time()
        last = last_run(state, ended.time)
        code = _code()
        if (
            last is None
            or code is None
            or ended.counts[Result.OK] != len(self.refs)
            or ended.left
            or ended.outdated
        ):
            return
        events = [report["ready"], *self._events(), as_json(ended), report["pushed"]]
        with suppress(OSError):
            if all([*stamp_of(os.lstat(path))] == stamp for path, stamp in self.paths.items()):
                proof = Proof(
                    report["pushed"]["bundle"],
                    session_digest(),
                    now,
                    manifest,
                    code,
                    self.paths,
                    self.directories,
                    last,
                    events,
                )
                proof.write(root)

    def _events(self) -> Iterator[dict[str, Any]]:
        for ref in self.refs:
            yield as_json(Checked(0, ref, Result.OK, Cause.INITIAL, 0))
        yield as_json(Converged(0, len(self.refs), 0))


def _is_known(root: str, state: str, bundle: str) -> bool:
    """Whether there is a proof for the bundle that holds, so that none need be written."""
    try:
        proof = Proof.read(root)
        return proof.digest == bundle and proof.holds() and is_still_last(state, proof.last)
    except (OSError, ValueError, TypeError):
        return False


def _is_plain(program: LoadedManifest, bundle: str) -> bool:
    """Whether the manifest is one file of the bundle, and has plain files and directories only. Raises OSError, ValueError and YAMLError."""
    files = [each for each in program.files if each not in program.inputs.files]
    if [os.path.dirname(each) for each in files] != [bundle]:
        return False
    others = (
        program.data,
        program.warnings,
        program.pre_message,
        program.post_message,
        program.channels,
        program.shares,
    )
    if any(others) or program.settings != Settings():
        return False
    with open(files[0], encoding="utf-8") as file:
        return _has_only_values(yaml.load(file, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))  # noqa: S506 - it is a safe one


def _has_only_values(tree: Any) -> bool:
    if isinstance(tree, dict):
        keys = all(key in _KEYS or (isinstance(key, str) and key.startswith("/")) for key in tree)
        return keys and all(map(_has_only_values, (*tree, *tree.values())))
    if isinstance(tree, list):
        return all(map(_has_only_values, tree))
    return not (isinstance(tree, str) and any(each in tree for each in _EXPRESSIONS))


def _plain_path(resource: Resource[Any], bundle: str) -> str:
    """The path of a file or directory whose state its stamp and the bundle determine. Raises ValueError for any other."""
    found: Any = resource
    if resource.kind != "file" or not type(resource).__module__.startswith("reactor.resources.file."):
        raise ValueError("it is no file")
    if not all(each == "root" or is_id(each) for each in (found.owner, found.group)):
        raise ValueError("its ids may change")
    if any(not each.startswith(f"{bundle}/") for each in resource.source_files()):
        raise ValueError("its source is not in the bundle")
    path: str = found.name
    seen = os.lstat(path)
    is_file = found.ensure == "present" and stat.S_ISREG(seen.st_mode) and seen.st_nlink == 1
    if not (is_file or (found.ensure == "directory" and stat.S_ISDIR(seen.st_mode))):
        raise ValueError("it is neither a file of one name nor a directory")
    return path


def _below(directory: str) -> Iterator[str]:
    """``directory``, and all that is in it. Raises OSError."""
    yield directory
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _below(entry.path)
            else:
                yield entry.path


def _stamps(paths: list[str], read_at: int) -> dict[str, list[int]]:
    """The stamps of ``paths``. Raises OSError; ValueError for one that may have changed after ``read_at``, or a later change of which may not show."""
    found = {path: os.lstat(path) for path in paths}
    if len(found) > _MOST or not all(stamp_is_reliable(each, read_at) for each in found.values()):
        raise ValueError("the stamps prove nothing")
    return {path: [*stamp_of(each)] for path, each in found.items()}


def _are_local(directories: list[str]) -> bool:
    """Whether only this host can change them. Raises OSError."""
    types = {mount.point: mount.fstype for mount in read_mounts()}
    return all(_type_at(each, types) in _LOCAL for each in directories)


def _type_at(directory: str, types: dict[str, str]) -> str:
    """The type of the file system that ``directory`` is on. ``types`` has those of the mount points."""
    while directory not in types and directory != "/":
        directory = os.path.dirname(directory)
    return types.get(directory, "")


def _code() -> dict[str, list[int] | None] | None:
    """The stamps of all code that this process has loaded, and of where it would find more. None if any has changed."""
    try:
        loaded = loaded_files()
        if not are_current(loaded):
            return None
        code: dict[str, list[int] | None] = {path: [*stamp] for path, stamp in loaded.items()}
        for directory in filter(None, sys.path):
            code[directory] = code_stamp(directory)
            for name in os.listdir(directory) if os.path.isdir(directory) else ():
                if name.endswith((".dist-info", ".egg-info")):
                    plugins = os.path.join(directory, name, "entry_points.txt")
                    code[plugins] = code_stamp(plugins)
    except OSError:
        return None
    return code
