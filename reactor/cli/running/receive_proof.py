"""Proves that a push finds nothing to do, without importing a run: that takes most of the time of such a push.

When a run of the bundle has found everything as desired, `receive_evidence` writes what it depended on into a file in the state
directory. The next session compares that with the host. Only if nothing at all has changed, it reports what that run has
reported: a run would find the same. In all other cases it imports a run.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import time
from contextlib import contextmanager, suppress
from io import BufferedReader, BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from reactor.errors import ReactorError
from reactor.fleet.bundle.channel import Channel
from reactor.fleet.bundle.store import BundleStore
from reactor.fleet.push.errors import RequestFormError
from reactor.fleet.push.loaded_files import file_stamp
from reactor.fleet.push.request import Request
from reactor.fleet.push.session_identity import session_identity
from reactor.hostfs.stat_stamp import stamp_of
from reactor.journal.repeated_run import LastRun, add_end
from reactor.journal.state_directory import PAUSES_FILE, StateDirectory
from reactor.trust.inputs import require_own_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

CHANNEL = "push"
"""The channel of the bundles of pushes."""
LONGEST = 24 * 3600.0
"""Seconds for which a proof is good: a full run also does the housekeeping of the state directory."""
_NAME = "proof.json"
_LARGEST = 16 << 20
_BOOT = "/proc/sys/kernel/random/boot_id"


class Proof(NamedTuple):
    """What a run depended on that found everything as desired, and the events that it has reported.

    ``session`` stands for the identity of its session, ``made`` is its time. ``code`` has the stamps of the files that it has loaded, None for
    what must not be there; ``paths`` the stamps of everything that it has read, and of what it manages. No symlink leads to one of the ``directories``.
    """

    digest: str
    session: str
    made: float
    manifest: str
    code: dict[str, list[int] | None]
    paths: dict[str, list[int]]
    directories: list[str]
    last: LastRun
    events: list[dict[str, Any]]

    @classmethod
    def read(cls, root: str) -> Self:
        """Read that in ``root``, the directory of the bundles. Raises OSError, ValueError and TypeError."""
        require_own_directory(root)
        path = os.path.join(root, _NAME)
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                raise ValueError("the proof is not ours")
            proof = cls(**json.loads(file.read(_LARGEST)))
        return proof._replace(last=LastRun(*proof.last))

    def write(self, root: str) -> None:
        """Write it, for this boot only: it need not be on the disk. Raises OSError."""
        path = os.path.join(root, _NAME)
        new = f"{path}.new"
        with suppress(FileNotFoundError):
            os.unlink(new)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(new, flags, 0o600), "w", encoding="utf-8") as file:
            json.dump(self._asdict(), file)
        os.rename(new, path)

    def holds(self) -> bool:
        """Whether nothing has changed. Raises OSError if something is gone."""
        return (
            0 <= time.time() - self.made < LONGEST
            and self.session == session_digest()
            and all(code_stamp(path) == stamp for path, stamp in self.code.items())
            and all(os.path.realpath(path) == path for path in self.directories)
            and all([*stamp_of(os.lstat(path))] == stamp for path, stamp in self.paths.items())
        )


def session_digest() -> str:
    """Stand for this boot of the host, and for the identity of this session, which may have secrets. Raises OSError."""
    with open(_BOOT, "rb") as file:
        return hashlib.sha256(file.read() + session_identity()).hexdigest()


def code_stamp(path: str) -> list[int] | None:
    """The stamp of a file or directory of code; None if there is none. Raises OSError."""
    try:
        return [*file_stamp(path)]
    except (FileNotFoundError, NotADirectoryError):
        return None


def report_proven(state: str, stream: BufferedReader) -> bool:
    """Do the work of a session if it is proven that there is none; False if it must be done by a run.

    The request stays in ``stream``. Raises BrokenPipeError if the reader of stdout is gone.
    """
    began = time.monotonic()
    try:
        request = _coming_request(stream)
        if request is None or not os.path.exists(os.path.join(state, "fleet", _NAME)):
            return False
        with _locked(state) as (store, directory):
            proof = Proof.read(store.root)
            if not _is_in_force(request, proof, Channel(store, CHANNEL)):
                return False
            directory.lock(proof.manifest)
            if os.path.lexists(os.path.join(state, PAUSES_FILE)) or not proof.holds():
                return False
            events = _at_present(proof.events, began)
            ended = next(event for event in events if event["event"] == "ended")
            if not add_end(state, proof.last, ended):
                return False
    except (ReactorError, OSError, ValueError, TypeError, LookupError, StopIteration):
        return False
    sys.stdout.write("".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events))
    sys.stdout.flush()
    return True


def _coming_request(stream: BufferedReader) -> Request | None:
    """The request that ``stream`` begins with, if it is for the bundle of a push, and no dry run. Takes nothing from ``stream``."""
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


def _at_present(events: list[dict[str, Any]], began: float) -> list[dict[str, Any]]:
    """The events of the proof, with the present time, and the time since ``began`` as their duration in seconds."""
    now, taken = time.time(), time.monotonic() - began
    present: dict[str, Any] = {"time": now, "duration": taken}
    return [
        {**event, **{name: value for name, value in present.items() if name in event}} for event in events
    ]
