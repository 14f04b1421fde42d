"""What the proofs of a push and of a one-shot run have in common: that no code has changed, and that their file is ours.

A proof says what a run depended on that has left everything as desired. While none of that has changed, a run would find the
same, and need not be imported: most of the time of a small run is imports.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from reactor.journal.state_directory import PROOF_FILE
from reactor.own_process import BEGAN, file_stamp, loaded_files, session_identity, were_imported
from reactor.resource.hashes import blake2b

if TYPE_CHECKING:
    from reactor.mountinfo import MountInfo

LONGEST = 24 * 3600.0
"""Seconds for which a proof is good: a full run also does the housekeeping of the state directory."""
CodeStamps = dict[str, Sequence[int] | None]
"""The stamps of files of code by path; None for what must not be there."""
_LARGEST = 16 << 20
_BOOT = "/proc/sys/kernel/random/boot_id"
_LOCAL = frozenset(("btrfs", "devtmpfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "ramfs", "tmpfs", "xfs"))
"""File systems that only this kernel changes, so that its stamps show each change."""


def read_proof(directory: str) -> bytes:
    """The content of the proof in a directory of ours. Raises OSError; ValueError if it is not ours."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(os.path.join(directory, PROOF_FILE), flags), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            raise ValueError("the proof is not ours")
        digest, _, content = file.read(_LARGEST).partition(b"\n")
    if blake2b(content).hexdigest().encode() != digest:
        raise ValueError("the proof is damaged")
    return content


def write_proof(directory: str, text: str) -> None:
    """Write the proof, after a line with its digest. It is for this boot only, so it need not be on the disk. Raises OSError."""
    content = text.encode()
    path = os.path.join(directory, PROOF_FILE)
    new = f"{path}.new"
    with suppress(FileNotFoundError):
        os.unlink(new)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(new, flags, 0o600), "wb") as file:
        file.write(b"%s\n%s" % (blake2b(content).hexdigest().encode(), content))
    os.rename(new, path)


def remove_proof(directory: str) -> None:
    """Remove the proof of an earlier run, if there is one that can be removed: it does not hold any more."""
    with suppress(OSError):
        os.unlink(os.path.join(directory, PROOF_FILE))


def is_recent(made: float) -> bool:
    """Whether a proof that was made at this time is still good."""
    return 0 <= time.time() - made < LONGEST


def session_digest() -> str:
    """Stand for this boot of the host, and for the identity of this session, which may have secrets. Raises OSError."""
    with open(_BOOT, "rb") as file:
        return blake2b(file.read() + session_identity()).hexdigest()


def at_present(events: Iterable[Mapping[str, Any]], began: float) -> list[dict[str, Any]]:
    """The events of a proof, with the present time, and the time since ``began`` as their duration in seconds."""
    present = {"time": time.time(), "duration": time.monotonic() - began}
    return [{**event, **{name: present[name] for name in present if name in event}} for event in events]


def code_stamp(path: str) -> list[int] | None:
    """The stamp of a file or directory of code; None if there is none. Raises OSError."""
    try:
        return [*file_stamp(path)]
    except (FileNotFoundError, NotADirectoryError):
        return None


def is_same_code(code: Mapping[str, Sequence[int] | None]) -> bool:
    """Whether no file of code has changed. Raises OSError."""
    return all(code_stamp(path) == stamp for path, stamp in code.items())


def code_of_process(more: Iterable[str] = ()) -> CodeStamps | None:
    """The stamps of all code that this process has loaded, of where it finds code and plugins, and of the files ``more``.

    None if any has changed since this process began. Raises OSError.
    """
    loaded = loaded_files()
    if not were_imported(loaded):
        return None
    places = [*more, *filter(None, sys.path)]
    for directory in filter(os.path.isdir, sys.path):
        places += (
            os.path.join(directory, name, "entry_points.txt")
            for name in os.listdir(directory)
            if name.endswith((".dist-info", ".egg-info"))
        )
    found: CodeStamps = {path: code_stamp(path) for path in places}
    if any(stamp is not None and stamp[-1] >= BEGAN for stamp in found.values()):
        return None
    return {**{path: [*stamp] for path, stamp in loaded.items()}, **found}


def are_local(directories: Iterable[str], mounts: Iterable[MountInfo]) -> bool:
    """Whether only this host can change these directories. No symlink leads to them. Raises OSError."""
    types = {mount.point: mount.fstype for mount in mounts}
    return all(_type_at(each, types) in _LOCAL for each in directories)


def _type_at(directory: str, types: Mapping[str, str]) -> str:
    """The type of the file system that ``directory`` is on. ``types`` has those of the mount points."""
    while directory not in types and directory != "/":
        directory = os.path.dirname(directory)
    return types.get(directory, "")
