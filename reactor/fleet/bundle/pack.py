"""Packs a directory into a bundle: the same files give the same bytes, on every machine and at any time.

The tar has sorted names, no times, no owners, and two modes: 0755 for directories and what its owner may execute,
else 0644. Symbolic links stay links, if they stay inside. The directories of version control are left out.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import tarfile
from collections.abc import Callable, Iterator
from typing import NamedTuple

from reactor.fleet.bundle.digest import MANIFEST, digest_of
from reactor.fleet.bundle.errors import PackingError
from reactor.fleet.bundle.limits import LIMITS, BundleLimits
from reactor.unpacking.members import UnpackingLimits, size_in_words
from reactor.unpacking.tree import DEEPEST, link_stays_inside

_LEFT_OUT = frozenset((".git", ".hg", ".svn"))
_LEVEL = 10
_EXECUTABLE, _PLAIN = 0o755, 0o644
_BESIDE = "put large files on a web server, and name them with their checksum; or raise --max-size"

Opener = Callable[[str, int], int]


class Bundle(NamedTuple):
    """A packed directory. ``digest`` is its name; ``members`` counts files, directories and links."""

    data: bytes
    digest: str
    members: int


def pack(directory: str, limits: BundleLimits = LIMITS, opener: Opener = os.open) -> Bundle:
    """Pack ``directory``, which holds ``manifest.yaml``.

    ``opener`` opens each file for reading; it may refuse files that others can change. Blocks. Raises PackingError,
    OSError, and what ``opener`` raises.
    """
    if not os.path.isdir(directory):
        hint = f"give the directory that holds {MANIFEST}"
        raise PackingError(f"{directory} is not a directory", hint)
    if not os.path.isfile(os.path.join(directory, MANIFEST)):
        raise PackingError(f"{directory} has no {MANIFEST}", f"name the manifest {MANIFEST}")
    packed = io.BytesIO()
    members = 0
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in _found_below(directory):
            members += 1
            if members > limits.members:
                raise PackingError(f"{directory} has more than {limits.members} files", _BESIDE)
            path = os.path.join(directory, name)
            info = tarfile.TarInfo(_checked_name(name, path))
            _add(tar, info, path, opener, limits.unpacked - packed.tell())
            if packed.tell() > limits.unpacked:
                raise PackingError(f"{directory} has more than {size_in_words(limits.unpacked)}", _BESIDE)
    data = _compressed(packed.getvalue())
    if len(data) > limits.packed:
        words = f"{size_in_words(len(data))}, and at most {size_in_words(limits.packed)} are allowed"
        raise PackingError(f"the bundle of {directory} has {words}", _BESIDE)
    return Bundle(data, digest_of(data), members)


def _found_below(directory: str, above: str = "") -> Iterator[str]:
    """Yield the names of all files and directories below ``directory``, sorted, each directory before its content."""
    with os.scandir(os.path.join(directory, above)) as found:
        entries = sorted(found, key=lambda entry: os.fsencode(entry.name))
    for entry in entries:
        if entry.name in _LEFT_OUT:
            continue
        name = f"{above}{entry.name}"
        if name.count("/") >= DEEPEST:
            raise PackingError(f"{directory} is more than {DEEPEST} directories deep", "move some of them up")
        yield name
        if entry.is_dir(follow_symlinks=False):
            yield from _found_below(directory, f"{name}/")


def _add(tar: tarfile.TarFile, info: tarfile.TarInfo, path: str, opener: Opener, room: int) -> None:
    """Add one member. ``room`` is the largest size in bytes of a file."""
    found = os.lstat(path)
    info.mode = _PLAIN
    if stat.S_ISDIR(found.st_mode):
        info.type, info.mode = tarfile.DIRTYPE, _EXECUTABLE
        tar.addfile(info)
    elif stat.S_ISLNK(found.st_mode):
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, os.readlink(path), 0o777
        if not link_stays_inside(info.linkname, depth=info.name.count("/")):
            hint = "use a relative link to a file in the directory, or copy the file"
            raise PackingError(f"{path} is a link that leaves the directory: {info.linkname}", hint)
        tar.addfile(info)
    elif stat.S_ISREG(found.st_mode):
        _add_file(tar, info, path, opener, room)
    else:
        raise PackingError(f"{path} is neither file, directory nor link", "move it out of the directory")


def _add_file(tar: tarfile.TarFile, info: tarfile.TarInfo, path: str, opener: Opener, room: int) -> None:
    """Add the file as it is when it is opened: it may be replaced while the directory is packed."""
    with open(path, "rb", opener=lambda name, flags: opener(name, flags | os.O_NONBLOCK)) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise PackingError(f"{path} was replaced while the directory was packed", "pack it again")
        content = file.read(room + 1) if found.st_size <= room else b""
    if max(found.st_size, len(content)) > room:
        raise PackingError(f"{path} is too large for a bundle: {size_in_words(found.st_size)}", _BESIDE)
    info.size = len(content)
    if found.st_mode & stat.S_IXUSR:
        info.mode = _EXECUTABLE
    tar.addfile(info, io.BytesIO(content))


def _checked_name(name: str, path: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise PackingError(f"the name of {os.fsencode(path)!r} is not UTF-8", "rename it") from error
    return name


def _compressed(tar: bytes) -> bytes:
    """Compress where that is smaller. A bundle that unpacks to too many times its size would be refused as a bomb."""
    data = _compressor()(tar)
    bomb = len(tar) > UnpackingLimits().largest_from(len(data))
    return tar if bomb or len(data) >= len(tar) else data


def _compressor() -> Callable[[bytes], bytes]:
    """The compression by zstd, or by gzip where no library for zstd is installed."""
    if sys.version_info >= (3, 14):
        from compression import zstd  # noqa: PLC0415 - only for packing

        return lambda data: zstd.compress(data, _LEVEL)
    try:
        import zstandard  # noqa: PLC0415 - only for packing
    except ImportError:
        return lambda data: gzip.compress(data, mtime=0)
    return zstandard.ZstdCompressor(level=_LEVEL).compress
