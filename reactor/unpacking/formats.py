"""The formats of archives, by file name and by first bytes."""

from __future__ import annotations

_FORMATS = {
    ".tar": "tar",
    ".tar.gz": "tar.gz",
    ".tgz": "tar.gz",
    ".tar.bz2": "tar.bz2",
    ".tar.xz": "tar.xz",
    ".tar.zst": "tar.zst",
    ".zip": "zip",
    ".gz": "gz",
    ".bz2": "bz2",
    ".xz": "xz",
    ".zst": "zst",
}
_SINGLE = frozenset(("gz", "bz2", "xz", "zst"))
"""The formats that contain one file, without a file name or mode."""

ARCHIVE_SUFFIXES = tuple(_FORMATS)
"""The suffixes of all archives and compressed files that can be unpacked."""

_TAR_MAGIC_AT = 257
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def archive_format(name: str) -> str | None:
    """Return the format of an archive by its file name or its URL's path; None for any other name."""
    lowered = name.lower()
    return next((form for suffix, form in _FORMATS.items() if lowered.endswith(suffix)), None)


def single_name(path: str) -> str | None:
    """Return the name of the file in the compressed file at ``path``, as gunzip would name it; None for an archive."""
    if archive_format(path) not in _SINGLE:
        return None
    return path.rpartition("/")[2].rpartition(".")[0]


def looks_like(head: bytes) -> str | None:
    """Return a description of the type of a file that begins with ``head``; None if it is unknown."""
    if not head:
        return "an empty file"
    if head.lstrip()[:1] in (b"<", b"{"):
        return "a web page or a message of the server"
    if head[_TAR_MAGIC_AT:].startswith(b"ustar"):
        return "an uncompressed tar archive"
    magics = {
        b"\x1f\x8b": "compressed by gzip",
        b"BZh": "compressed by bzip2",
        b"\xfd7zXZ\0": "compressed by xz",
        _ZSTD_MAGIC: "compressed by zstd",
        b"PK": "a zip archive",
    }
    return next((words for magic, words in magics.items() if head.startswith(magic)), None)
