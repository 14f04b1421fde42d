"""Makes malformed archives at random: broken real ones, made-up headers, bombs, odd links, huge names, backward pointers."""

from __future__ import annotations

import bz2
import functools
import gzip
import io
import lzma
import random
import stat
import struct
import tarfile
import warnings
import zipfile
from collections.abc import Callable
from typing import IO, Any

import zstandard

FORMATS = ("tar", "tar.gz", "tar.bz2", "tar.xz", "tar.zst", "zip")
MOST_AT_ONCE = 4
_BLOCK = 512
_NAMES = (
    "f", "d/f", "d/e/g", "../f", "/f", "d/../../f", "x" * 300, "d/" * 150 + "f", "", ".", "./", "d", "é\udc80", "a\0b", "\x1b[31m",
    "f ", "con", "x" * 5000, "d\\f", " ", "-rf", "d//f/", "\n",
)  # fmt: skip
_TARGETS = (
    "f",
    "..",
    "../..",
    "/etc/passwd",
    "d",
    "d/f",
    "",
    "x" * 5000,
    "a/../../b",
    "\0",
    "./",
    "d/../f",
)
_TYPES = (
    b"0",
    b"0",
    b"0",
    b"1",
    b"2",
    b"3",
    b"4",
    b"5",
    b"6",
    b"7",
    b"L",
    b"K",
    b"x",
    b"g",
    b"S",
    b"V",
    b"\0",
    b"\xff",
)
_FIELDS = (
    b"77777777777\0", b"\xff" * 12, b"\x80" + b"\0" * 10 + b"\1", b"\x80" + b"\xff" * 11, b"-0000000001\0", b"            ",
    b"00000000000\0", b"99999999999\0", b"00000001000\0", b"\xff" * 8 + struct.pack(">i", -4096),
)  # fmt: skip
_PLACES = (
    (0, 100),
    (100, 8),
    (108, 8),
    (116, 8),
    (124, 12),
    (136, 12),
    (157, 100),
    (257, 8),
    (329, 8),
    (345, 155),
)
"""Where the fields of a tar header are, and how long: name, mode, owners, size, time, link, magic, device, prefix."""
_NUMBERS = (0, 1, 30, 46, 512, 65535, 0x7FFFFFFF, 0xFFFFFFFF, 0xFFFFFFFE, 0x80000000)
_PACK: dict[str, Callable[[bytes], bytes]] = {
    "tar": bytes,
    "tar.gz": lambda data: gzip.compress(data, 1),
    "tar.bz2": lambda data: bz2.compress(data, 1),
    "tar.xz": lambda data: lzma.compress(data, preset=0),
    "tar.zst": lambda data: zstandard.ZstdCompressor(level=1).compress(data),
}
_OPENERS: dict[str, Callable[[io.BytesIO], Any]] = {
    "tar.gz": lambda file: gzip.GzipFile(fileobj=file, mode="w", compresslevel=1),
    "tar.bz2": lambda file: bz2.BZ2File(file, "w", compresslevel=1),
    "tar.xz": lambda file: lzma.LZMAFile(file, "w", preset=0),  # noqa: SIM115 - whoever calls it closes it
    "tar.zst": lambda file: zstandard.ZstdCompressor(level=1).stream_writer(file, closefd=False),
}
_PIECES = 80
"""MiB that come out of a bomb."""


def malformed(rng: random.Random) -> tuple[str, bytes]:
    """A format, and what claims to be an archive in it."""
    kind = rng.choice(FORMATS)
    if kind != "tar" and rng.random() < 0.002:
        return kind, _bomb(kind)
    if kind == "zip":
        data = _changed(_zip(rng), rng, _zip_field)
    else:
        data = _tar(rng)
        if rng.random() < 0.7:
            data = _changed(data, rng, _tar_field)
        data = _PACK[kind](data)
    if rng.random() < 0.3:
        data = _changed(data, rng, _bytes)
    return (rng.choice(FORMATS) if rng.random() < 0.02 else kind), data


def _tar(rng: random.Random) -> bytes:
    buffer = io.BytesIO()
    form = rng.choice((tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT))
    more = (
        {"comment": "x" * rng.choice((1, 5000)), "size": rng.choice(("-1", "x", "9" * 30))}
        if rng.random() < 0.1
        else {}
    )
    with tarfile.open(
        fileobj=buffer, mode="w", format=form, pax_headers=more, errors="surrogateescape"
    ) as tar:
        for _ in range(rng.randint(0, 6)):
            info = tarfile.TarInfo(rng.choice(_NAMES))
            info.type, info.linkname = rng.choice(_TYPES), rng.choice(_TARGETS)
            info.mode, info.mtime = rng.randrange(0o10000), rng.choice((0, 1e9, 2**33, -5))
            info.size = rng.choice((0, 5, 511, 513, 9000)) if info.isreg() else 0
            if rng.random() < 0.2:
                info.pax_headers = {rng.choice(("path", "size", "mtime", "linkpath", "GNU.sparse.map", "GNU.sparse.major")): rng.choice(("", "x", "-1", "1,2,3", "9" * 40, "nan", "inf"))}  # fmt: skip
            try:
                tar.addfile(info, io.BytesIO(bytes(info.size)))
            except (ValueError, UnicodeError, OSError):  # the name does not go into this form
                continue
    return buffer.getvalue()


def _zip(rng: random.Random) -> bytes:
    buffer = io.BytesIO()
    compression = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    kinds = (0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO)
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(buffer, "w") as archive:
        for _ in range(rng.randint(0, 5)):
            info = zipfile.ZipInfo(rng.choice(_NAMES).replace("\udc80", "?") or "x")
            info.external_attr = ((rng.choice(kinds) | 0o644) << 16) & 0xFFFFFFFF
            info.compress_type = compression
            info.extra = rng.choice((b"", b"\1\0\x18\0" + bytes(24), b"\xff\xff\xff\xff", b"up\x05\0\1abcd"))
            archive.writestr(info, rng.choice(_TARGETS).encode() * rng.choice((1, 1, 300)))
        archive.comment = b"x" * rng.choice((0, 0, 100))
    return buffer.getvalue()


@functools.cache
def _bomb(kind: str) -> bytes:
    """80 MiB in a small file; made in pieces, for the memory that is taken is measured."""
    buffer = io.BytesIO()
    if kind == "zip":
        archive = zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
        with archive, archive.open("f", "w") as member:
            _fill(member)
        return buffer.getvalue()
    info = tarfile.TarInfo("f")
    info.size = _PIECES << 20
    with _OPENERS[kind](buffer) as packed:
        packed.write(info.tobuf())
        _fill(packed)
    return buffer.getvalue()


def _fill(file: IO[bytes]) -> None:
    for _ in range(_PIECES):
        file.write(bytes(1 << 20))


def _changed(data: bytes, rng: random.Random, change: Callable[[bytearray, random.Random], None]) -> bytes:
    found = bytearray(data)
    for _ in range(rng.randint(1, MOST_AT_ONCE)):
        if found:
            change(found, rng)
    return bytes(found)


def _tar_field(data: bytearray, rng: random.Random) -> None:
    """Another value in a header, whose checksum is right mostly: so the value is looked at."""
    if len(data) < _BLOCK or rng.random() < 0.15:
        _bytes(data, rng)
        return
    start = rng.randrange(len(data) // _BLOCK) * _BLOCK if rng.random() < 0.5 else 0
    header = data[start : start + _BLOCK]
    at, size = rng.choice(_PLACES)
    value = rng.choice(_FIELDS) if rng.random() < 0.6 else rng.randbytes(size)
    if rng.random() < 0.3:
        header[156:157] = rng.choice(_TYPES)
    header[at : at + size] = value[:size].ljust(size, b"\0")
    header[148:156] = b" " * 8
    if rng.random() < 0.95:
        header[148:156] = b"%06o\0 " % sum(header)
    data[start : start + _BLOCK] = header


def _zip_field(data: bytearray, rng: random.Random) -> None:
    """Another number in a header or in the directory: sizes, offsets, counts, flags, methods."""
    at = data.find(
        rng.choice((b"PK\1\2", b"PK\1\2", b"PK\3\4", b"PK\5\6", b"PK\6\6")), rng.randrange(len(data))
    )
    if at == -1 or rng.random() < 0.2:
        _bytes(data, rng)
        return
    place = at + 4 + 2 * rng.randrange(21)
    if rng.random() < 0.5:
        data[place : place + 4] = struct.pack("<I", rng.choice(_NUMBERS))
    else:
        data[place : place + 2] = struct.pack("<H", rng.choice((0, 1, 8, 9, 12, 14, 99, 0xFFFF, 0x800)))


def _bytes(data: bytearray, rng: random.Random) -> None:
    """What a bad disk or a bad line does: other bytes, fewer, more, the same again."""
    at, size = rng.randrange(len(data)), rng.choice((1, 1, 4, 20, 600))
    how = rng.randrange(5)
    if how == 0:
        del data[at:]
    elif how == 1:
        del data[at : at + size]
    elif how == 2:
        data[at:at] = rng.randbytes(size)
    elif how == 3:
        data[at:at] = data[rng.randrange(len(data)) :][:size]
    else:
        data[at : at + size] = rng.randbytes(len(data[at : at + size]))
