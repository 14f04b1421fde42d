"""A version of the manifest, the files that it was loaded from, and those of reactor, and whether they have changed since."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from reactor.engine.options import RunOptions
from reactor.graph.graph import Graph
from reactor.graph.names import parents
from reactor.manifest.directories import manifest_names
from reactor.manifest.inputs import NO_INPUTS, Inputs
from reactor.named_tuple import NamedTuple
from reactor.own_process import is_replaced
from reactor.resource.diagnostic import Diagnostic, ManifestError
from reactor.resource.mount_health import fragile_mounts

if TYPE_CHECKING:
    from reactor.manifest.notify_channels import Channel

Stamp = tuple[int | str, ...] | None
"""A value that changes with the content of a file, or with the names of the manifests in a directory. None for anything
else, such as a pipe, which can't be read again."""

_MISSING: Stamp = ()

CLOCK_TICK_NS = 20_000_000
"""The kernel may stamp a change with a time this many nanoseconds before the clock."""


class Generation(NamedTuple):
    """A valid version of the manifest: the graph, the options, and the files and facts that it was loaded from.

    ``left_out`` describes the resources that the run leaves out, as text and as a record. ``rejected`` is the error of a
    newer version, in place of which the run began with this one.
    """

    graph: Graph
    options: RunOptions
    files: tuple[str, ...] = ()
    inputs: Inputs = NO_INPUTS
    warnings: tuple[str, ...] = ()
    left_out: tuple[str, dict[str, Any]] | None = None
    channels: Mapping[str, Channel] = MappingProxyType({})
    shares: Mapping[str, Any] = MappingProxyType({})
    pre_message: str | None = None
    post_message: str | None = None
    rejected: ManifestError | None = None


class LoadedFiles:
    """The files at ``paths``. ``before_reading`` has stamps that were taken before the files were read.

    Files with facts count as changed only if the facts in ``inputs`` have changed. All methods may block on a disk.
    """

    def __init__(
        self, paths: Iterable[str], inputs: Inputs, before_reading: Mapping[str, Stamp] | None = None
    ) -> None:
        self._inputs = inputs
        self.paths = sorted({*map(os.path.abspath, paths)}.difference(inputs.fact_paths))
        self._stamps = {**self.stamps(), **(before_reading or {})}

    def stamps(self) -> dict[str, Stamp]:
        """The files with their current stamps."""
        return {path: _stamp(path) for path in self.paths}

    def concerns(self, paths: Iterable[str]) -> bool:
        """Whether one of ``paths`` is one of the files, or a directory above one."""
        return any(path in self._places for path in paths)

    def is_changed(self, path: str) -> bool:
        """Whether the file at ``path`` has changed since it was read."""
        return _stamp(path) not in (None, self._stamps.get(path))

    def may_have_changed(self, path: str, *, since: int) -> bool:
        """Whether the file at ``path`` has changed since it was read, or after the time ``since``, in nanoseconds since 1970.

        False for a file on a mount that does not answer: its watch sends an event when the mount answers.
        """
        if fragile_mounts().unresponsive_reason(path) is not None:
            return False
        if path in self._stamps and self.is_changed(path):
            return True
        try:
            changed = max(os.stat(path).st_ctime_ns, os.lstat(path).st_ctime_ns)
        except OSError:
            return False
        return changed > since - CLOCK_TICK_NS

    def changed(self, answering: Iterable[str]) -> list[str]:
        """The changed files among ``answering``. If there are none but a fact has changed, the files with facts."""
        differ = list(filter(self.is_changed, answering))
        if differ or not (facts := self._inputs.fact_paths):
            return differ
        return facts if self._inputs.facts_changed() else []

    @cached_property
    def _places(self) -> set[str]:
        files = {*self.paths, *map(os.path.realpath, self.paths)}
        return files.union(*map(parents, files))


def replaced_program() -> ManifestError | None:
    """The error of a run under which reactor was upgraded: it would load parts of the new version beside its own."""
    if not is_replaced():
        return None
    words = (
        "another version of reactor was installed: this run of the earlier one can no longer load manifests"
    )
    return unreadable(words, "systemctl restart reactor")


def unreadable(message: str, hint: str) -> ManifestError:
    """The error of a manifest that can't be loaded again."""
    return ManifestError([Diagnostic("R0101", message, None, hint)])


def unloadable(error: OSError | MemoryError) -> ManifestError:
    """The error of a manifest for which the host has too few descriptors, or too little memory or disk space."""
    reason = "no memory is left" if isinstance(error, MemoryError) else error.strerror
    return unreadable(f"can't load the manifest: {reason}", "it is loaded as soon as there is enough again")


def _stamp(path: str) -> Stamp:
    try:
        found = os.stat(path)
        if stat.S_ISDIR(found.st_mode):
            return tuple(manifest_names(path))
    except OSError:
        return _MISSING
    if not stat.S_ISREG(found.st_mode):
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
