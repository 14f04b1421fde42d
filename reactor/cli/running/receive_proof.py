"""Proves that a push finds nothing to do, without importing a run: that takes most of the time of such a push.

When a run of the bundle has found everything as desired, `receive_evidence` writes what it depended on into a file in the state
directory. The next session compares that with the host. Only if nothing at all has changed, it reports what that run has
reported: a run would find the same. In all other cases it imports a run.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import contextmanager
from io import BufferedReader, BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from reactor.cli.running.proof import (
    CodeStamps,
    at_present,
    is_recent,
    is_same_code,
    read_proof,
    session_digest,
    write_proof,
)
from reactor.errors import ReactorError
from reactor.fleet.bundle.channel import Channel
from reactor.fleet.bundle.store import BundleStore
from reactor.fleet.push.errors import RequestFormError
from reactor.fleet.push.request import Request
from reactor.hostfs.stat_stamp import stamp_of
from reactor.journal.repeated_run import LastRun, add_end
from reactor.journal.state_directory import PAUSES_FILE, PROOF_FILE, REFUSED_FILE, StateDirectory
from reactor.trust.inputs import require_own_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

CHANNEL = "push"
"""The channel of the bundles of pushes."""


class Proof(NamedTuple):
    """What a run depended on that found everything as desired, and the events that it has reported.

    ``session`` stands for the identity of its session, ``made`` is its time. ``code`` has the stamps of the files that
    it has loaded, None for what must not be there; ``paths`` the stamps of everything that it has read, and of what it
    manages. No symlink leads to one of the ``directories``.
    """

    digest: str
    session: str
    made: float
    manifest: str
    code: CodeStamps
    paths: dict[str, list[int]]
    directories: list[str]
    last: LastRun
    events: list[dict[str, Any]]

    @classmethod
    def read(cls, root: str) -> Self:
        """Read that in ``root``, the directory of the bundles. Raises OSError, ValueError and TypeError."""
        require_own_directory(root)
        proof = cls(**json.loads(read_proof(root)))
        return proof._replace(last=LastRun(*proof.last))

    def write(self, root: str) -> None:
        """Write it into the same directory. Raises OSError."""
        write_proof(root, json.dumps(self._asdict()))

    def holds(self) -> bool:
        """Whether nothing has changed. Raises OSError if something is gone."""
        return (
            is_recent(self.made)
            and self.session == session_digest()
            and is_same_code(self.code)
            and all(os.path.realpath(path) == path for path in self.directories)
            and all([*stamp_of(os.lstat(path))] == stamp for path, stamp in self.paths.items())
        )


def report_proven(state: str, stream: BufferedReader) -> bool:
    """Do the work of a session if it is proven that there is none; False if it must be done by a run.

    The request stays in ``stream``. Raises BrokenPipeError if the reader of stdout is gone.
    """
    began = time.monotonic()
    try:
        request = _coming_request(stream)
        if request is None or not os.path.exists(os.path.join(state, "fleet", PROOF_FILE)):
            return False
        with _locked(state) as (store, directory):
            proof = Proof.read(store.root)
            if not _is_in_force(request, proof, Channel(store, CHANNEL)):
                return False
            directory.lock(proof.manifest)
            needs_run = any(
                os.path.lexists(os.path.join(state, name)) for name in (PAUSES_FILE, REFUSED_FILE)
            )
            if needs_run or not proof.holds():
                return False
            events = at_present(proof.events, began)
            ended = next(event for event in events if event["event"] == "ended")
            if not add_end(state, proof.last, ended):
                return False
    except (ReactorError, OSError, ValueError, TypeError, LookupError, StopIteration):
        return False
    sys.stdout.write("".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events))
    sys.stdout.flush()
    return True


def _coming_request(stream: BufferedReader) -> Request | None:
    """The request that ``stream`` begins with, if it is for the bundle of a push, and no dry run.

    Takes nothing from ``stream``.
    """
    begin = stream.peek()
    try:
        request = Request.read(BytesIO(begin)) if b"\n" in begin else None
    except RequestFormError:
        return None
    return None if request is None or request.noop or request.stay else request


@contextmanager
def _locked(state: str) -> Iterator[tuple[BundleStore, StateDirectory]]:
    """Hold the lock of the bundles, and release that of the state directory. Raises ReactorError and OSError."""
    directory = StateDirectory.make(state)
    store = BundleStore(state)
    with store.locked():
        try:
            yield store, directory
        finally:
            directory.release()


def _is_in_force(request: Request, proof: Proof, channel: Channel) -> bool:
    """Whether the request names the bundle of the proof, and that bundle and the facts of the request are in force already."""
    return request.digest == proof.digest == channel.current and channel.facts == request.facts
