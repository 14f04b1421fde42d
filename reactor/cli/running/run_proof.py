"""Proves that a one-shot run finds nothing to do, without importing a run.

When a one-shot run has left everything as desired, `run_evidence` writes what that depended on into the state directory.
The next one compares that with the host. Only if all of it holds, it reports what a run would report, and adds its end to
the journal. In all other cases it imports a run.

Of a file that the run has just written, no stamp would show that it was changed once more at the same moment. So a run keeps
what must be in it; the next run reads it, and keeps the stamp.
"""

from __future__ import annotations

import errno
import json
import os
import select
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from reactor.cli.running.proof import (
    CodeStamps,
    at_present,
    is_recent,
    is_same_code,
    read_proof,
    session_digest,
    write_proof,
)
from reactor.console.style import Style, is_coloured, leads_to_journal, result_line
from reactor.errors import ReactorError
from reactor.hostfs.stat_stamp import Stamp, stamp_is_reliable, stamp_of
from reactor.journal.repeated_run import LastRun, add_end
from reactor.journal.state_directory import PAUSES_FILE, REFUSED_FILE, StateDirectory
from reactor.named_tuple import NamedTuple
from reactor.number_format import how_it_went
from reactor.resource.hashes import blake2b
from reactor.resource.relations import PathState

if TYPE_CHECKING:
    from reactor.cli.plain_run import PlainRun

NO_TIMES = (0, 0)
TEMPORARY = ".reactor"
"""What the names of temporary files contain: a run removes those of a killed one, and reports that."""
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CHUNK = 1 << 20
_NOT_A_PROOF = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
_READER_GONE = (errno.EPIPE, errno.ECONNRESET, errno.EIO)


class ChangedError(Exception):
    """Something is not as the proof says."""


class RunProof(NamedTuple):
    """What a run depended on. ``manifests`` are as the user names them, ``path`` is what the run calls them.

    ``session`` stands for the process, and ``code`` has the stamps of what it has loaded. ``stamps`` are those of files that
    were read and are as desired; ``unread`` are files that must be read. ``directories`` are managed ones, of which nothing
    but owner, group and mode counts. ``existing`` only must be there, nothing may be at those that are ``missing``, and no
    other process may lock those that are ``unlocked``. ``ways`` has the identity of each directory that leads
    to any of these, so that no symlink does, and ``listed`` the times of those in which no temporary file was.
    """

    manifests: Sequence[str]
    path: str
    session: str
    made: float
    code: CodeStamps
    ways: dict[str, Sequence[int]]
    listed: dict[str, Sequence[int]]
    stamps: dict[str, Sequence[int]]
    unread: Sequence[PathState]
    directories: Sequence[PathState]
    existing: Sequence[str]
    missing: Sequence[str]
    unlocked: Sequence[str]
    refs: Sequence[str]
    last: LastRun
    events: Sequence[dict[str, Any]]

    @classmethod
    def parse(cls, text: bytes) -> Self:
        """The proof in ``text``. Raises ValueError and TypeError."""
        found = cls(**json.loads(text))
        return found._replace(
            unread=[PathState(*each) for each in found.unread],
            directories=[PathState(*each) for each in found.directories],
            last=LastRun(*found.last),
        )

    def text(self) -> str:
        """The proof as text."""
        return json.dumps(self._asdict(), separators=(",", ":"))

    def verified(self) -> Self:
        """The same proof with the stamps of what had to be read, if nothing has changed.

        Raises ChangedError; OSError if something is gone.
        """
        _require(is_recent(self.made) and is_plain_process() and self.session == session_digest())
        _require(is_same_code(self.code))
        _require(not any(map(_is_locked, self.unlocked)))  # before the files, which a holder may change
        stamps, unread = self._read()
        for path, identity in self.ways.items():
            _require([*identity_of(os.lstat(path))] == identity)
        for path, stamp in self.stamps.items():
            _require([*stamp_of(os.lstat(path))] == stamp)
        for each in self.directories:
            _require_directory(each)
        for path in self.existing:
            _require(not stat.S_ISLNK(os.lstat(path).st_mode))
        for path in self.missing:
            _require_missing(path)
        listed = dict(self._listed())
        if not stamps and listed == self.listed:
            return self
        return self._replace(listed=listed, stamps=self.stamps | stamps, unread=unread)

    def _read(self) -> tuple[dict[str, Sequence[int]], list[PathState]]:
        """Read what must be read. Return the stamps of these files, and those whose stamp would not show a change."""
        stamps: dict[str, Sequence[int]] = {}
        unread: list[PathState] = []
        for each in self.unread:
            device = self.ways[os.path.dirname(each.path)][0]
            stamp = _read_stamp(each, device)
            if stamp is None:
                unread.append(each)
            else:
                stamps[each.path] = [*stamp]
        return stamps, unread

    def _listed(self) -> Iterator[tuple[str, Sequence[int]]]:
        for path, times in self.listed.items():
            now, found = time.time_ns(), os.lstat(path)
            if [found.st_mtime_ns, found.st_ctime_ns] == times:
                yield path, times
                continue
            _require(not any(TEMPORARY in name for name in os.listdir(path)))
            is_reliable = stamp_is_reliable(found, now)
            yield path, [found.st_mtime_ns, found.st_ctime_ns] if is_reliable else [*NO_TIMES]


def identity_of(found: os.stat_result) -> tuple[int, ...]:
    """What of a directory decides where a path leads to, and who can change that."""
    return found.st_dev, found.st_ino, found.st_mode, found.st_uid, found.st_gid


def is_plain_process() -> bool:
    """Whether there is no ``.env`` to read, and this process reports to no service manager and no system journal."""
    return (
        not os.path.lexists(".env")
        and "NOTIFY_SOCKET" not in os.environ
        and not any(map(leads_to_journal, (1, 2)))
    )


def _require(holds: bool) -> None:
    if not holds:
        raise ChangedError


def _require_directory(each: PathState) -> None:
    found = os.lstat(each.path)
    mode = stat.S_IMODE(found.st_mode) & 0o777
    _require(
        stat.S_ISDIR(found.st_mode) and (mode, found.st_uid, found.st_gid) == (each.mode, each.uid, each.gid)
    )


def _require_missing(path: str) -> None:
    try:
        os.lstat(path)
    except FileNotFoundError:
        return
    raise ChangedError


def _is_locked(path: str) -> bool:
    from reactor.hostfs.record_locks import lock_holder

    return lock_holder(path) is not None


def _read_stamp(each: PathState, device: int) -> Stamp | None:
    """The stamp of a file that is as expected, on the ``device`` of its directory; None if it would not show a change."""
    now = time.time_ns()
    descriptor = os.open(each.path, READ)
    try:
        found = os.fstat(descriptor)
        _require(stat.S_ISREG(found.st_mode) and (found.st_dev, found.st_nlink) == (device, 1))
        _require((stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid) == (each.mode, each.uid, each.gid))
        if each.digest:
            _require(found.st_size == each.size and digest_at(descriptor) == each.digest)
    finally:
        os.close(descriptor)
    return stamp_of(found) if stamp_is_reliable(found, now) else None


def digest_at(descriptor: int) -> str:
    """The BLAKE2b in hex of the file that is open at ``descriptor``. Raises OSError."""
    whole = blake2b()
    while data := os.read(descriptor, _CHUNK):
        whole.update(data)
    return whole.hexdigest()


# ---- the run ----


def report_proven(asked: PlainRun, state: str) -> int | None:
    """Do the work of a one-shot run if it is proven that there is none, and return 0; None if a run must do it."""
    began = time.monotonic()
    try:
        directory = StateDirectory.make(state)
        proof = RunProof.parse(read_proof(state))
        if (*proof.manifests,) != asked.manifests:
            return None
        directory.lock(proof.path)
        try:
            events = _proven(proof, state, began)
        finally:
            directory.release()
    except (ChangedError, ReactorError, OSError, *_NOT_A_PROOF):
        return None
    if events is not None:
        _write_out(_shown(asked.form, proof.refs, events))
        return 0
    return None


def _proven(proof: RunProof, state: str, began: float) -> Sequence[dict[str, Any]] | None:
    """The events of the run, which is now in the journal; None if the journal has changed. Raises ChangedError and OSError."""
    _require(not any(os.path.lexists(os.path.join(state, name)) for name in (PAUSES_FILE, REFUSED_FILE)))
    verified = proof.verified()
    events = at_present(proof.events, began)
    if not add_end(state, proof.last, events[-1]):
        return None
    if verified is not proof:
        with suppress(OSError):
            write_proof(state, verified.text())
    return events


def _shown(form: str, refs: Iterable[str], events: Sequence[dict[str, Any]]) -> str:
    """The events as a run shows them. The first one stands for the checks of all ``refs``."""
    checked, *others = events
    if form == "json":
        head, tail = _encoded(checked).split(json.dumps(checked["ref"]), 1)
        return "".join([*(f"{head}{json.dumps(ref)}{tail}" for ref in refs), *map(_encoded, others)])
    return _summary(events[-1])


def _encoded(record: Mapping[str, Any]) -> str:
    return json.dumps(record, separators=(",", ":")) + "\n"


def _summary(ended: Mapping[str, Any]) -> str:
    """The summary of a run in which all resources were ok."""
    is_terminal = os.isatty(1)
    if is_terminal:
        return _table(ended)
    results = [(name, ended["counts"][name]) for name in ("ok", "changed")]
    style = Style(is_coloured(os.environ, is_terminal=is_terminal))
    return (
        result_line(results, how_it_went(ended["reason"], ended["changes"], ended["duration"]), style) + "\n"
    )


def _table(ended: Mapping[str, Any]) -> str:
    import shutil

    from reactor.console.open_problems import OpenProblems
    from reactor.console.summary import table_summary
    from reactor.engine.events import Ended, Result

    counts: dict[str, int] = {result: ended["counts"][result] for result in Result}
    event = Ended(ended["time"], counts, ended["changes"], ended["duration"], ended["reason"])
    coloured = is_coloured(os.environ, is_terminal=True)
    return table_summary(event, OpenProblems(), shutil.get_terminal_size().columns, coloured=coloured)


def _write_out(text: str) -> None:
    """Write to stdout. A reader that is gone is no error, and an output that is lost is only reported, as of any run."""
    data = memoryview(text.encode(errors="backslashreplace"))
    while data:
        try:
            data = data[os.write(1, data) :]
        except BlockingIOError:
            select.select((), (1,), ())
        except OSError as error:
            if error.errno not in _READER_GONE:
                os.write(2, f"reactor: output is lost: {error.strerror}\n".encode())
            return
