"""Writes what `receive_proof` needs, after a run of a bundle that has found everything as desired.

The stamps are taken before the run, and show each change after that. So while they hold, all is as the run has seen it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from reactor.cli.running.proof import are_local, code_of_process, session_digest
from reactor.cli.running.provable_manifest import MOST, NotProvableError, provable_paths
from reactor.cli.running.receive_proof import Proof
from reactor.engine.events import Cause, Checked, Converged, Result, as_json
from reactor.hostfs import stamp_is_reliable, stamp_of
from reactor.journal.repeated_run import is_still_last, last_run
from reactor.mountinfo import read_mounts
from reactor.own_process import BEGAN

if TYPE_CHECKING:
    from reactor.engine.events import Ended
    from reactor.loading import LoadedManifest


class Evidence(NamedTuple):
    """The stamps before the run. ``refs`` are those of all resources; ``fact_files`` is where facts of the host may be."""

    paths: dict[str, list[int]]
    directories: list[str]
    refs: list[str]
    fact_files: list[str]

    @classmethod
    def before(
        cls, program: LoadedManifest, bundle: str, channel: str, facts: Mapping[str, Any], read_at: int
    ) -> Self | None:
        """Take the stamps. None if ``program`` can't be proven, or anything may have changed since ``read_at``.

        ``bundle`` is the directory of the bundle, and ``channel`` that of the links to it. ``facts`` are those of the
        inventory. ``read_at`` is in nanoseconds, before ``program`` was loaded.
        """
        try:
            managed = provable_paths(program, bundle, facts)
            directories = sorted({bundle, *map(os.path.dirname, managed)})
            if not are_local(directories, read_mounts()) or not all(
                os.path.realpath(each) == each for each in directories
            ):
                return None
            paths = _stamps(chain(managed, directories, _below(bundle), _below(channel)), read_at)
        except (NotProvableError, OSError, ValueError):
            return None
        if any(paths[path][0] != paths[os.path.dirname(path)][0] for path in managed):
            return None  # something is mounted there
        return cls(paths, directories, program.graph.refs, program.inputs.fact_paths)

    def write(self, root: str, state: str, manifest: str, ended: Ended, report: dict[str, Any]) -> None:
        """Write the proof into ``root``, unless the one that is there holds.

        ``manifest`` is what has run, with the state directory ``state``. ``report`` has the events ``ready`` and ``pushed``.
        """
        bundle = report["pushed"]["bundle"]
        if ended.counts[Result.OK] != len(self.refs) or ended.left or ended.outdated:
            return
        if self._is_known(root, state, bundle):
            return
        events = [report["ready"], *self._events(), as_json(ended), report["pushed"]]
        now, last = time.time(), last_run(state, ended.time)
        with suppress(OSError):
            code = code_of_process(self.fact_files)
            if last and code:
                proof = Proof(
                    bundle, session_digest(), now, manifest, code, self.paths, self.directories, last, events
                )
                proof.write(root)

    def _is_known(self, root: str, state: str, bundle: str) -> bool:
        """Whether there is a proof for the bundle that holds, or was written since this process has loaded its code.

        If the latter does not hold, the next session without a standby process finds that out, and writes another one.
        """
        try:
            proof = Proof.read(root)
            if (proof.digest, proof.paths) != (bundle, self.paths):
                return False
            return proof.made > BEGAN / 1e9 or (proof.holds() and is_still_last(state, proof.last))
        except (OSError, ValueError, TypeError):
            return False

    def _events(self) -> Iterator[dict[str, Any]]:
        for ref in self.refs:
            yield as_json(Checked(0, ref, Result.OK, Cause.INITIAL, 0))
        yield as_json(Converged(0, len(self.refs), 0))


def _below(directory: str) -> Iterator[str]:
    """``directory``, and all that is in it. Raises OSError."""
    yield directory
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _below(entry.path)
            else:
                yield entry.path


def _stamps(paths: Iterable[str], read_at: int) -> dict[str, list[int]]:
    """The stamps of ``paths``. Raises OSError; ValueError if they do not show each change after ``read_at``."""
    found = {path: os.lstat(path) for path in islice(paths, 3 * MOST + 1)}
    if len(found) > 3 * MOST:
        raise ValueError("too many files")
    if not all(stamp_is_reliable(each, read_at) for each in found.values()):
        raise ValueError("a file has just changed")
    return {path: [*stamp_of(each)] for path, each in found.items()}
