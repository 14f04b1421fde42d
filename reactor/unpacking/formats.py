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
_MAGICS = {"gz": b"\x1f\x8b", "bz2": b"BZh", "xz": b"\xfd7zXZ\0", "zst": b"\x28\xb5\x2f\xfd", "zip": b"PK"}
_LOOKS = {
    "tar": "an uncompressed tar archive",
    "gz": "compressed by gzip",
    "bz2": "compressed by bzip2",
    "xz": "compressed by xz",
    "zst": "compressed by zstd",
    "zip": "a zip archive",
}


def archive_format(name: str) -> str | None:
    """Return the format of an archive by its file name or its URL's path; None for any other name."""
    lowered = name.lower()
    return next((form for suffix, form in _FORMATS.items() if lowered.endswith(suffix)), None)


def single_name(path: str) -> str | None:
    """Return the name of the file in the compressed file at ``path``, as gunzip would name it; None for an archive."""
    if archive_format(path) not in _SINGLE:
        return None
    return path.rpartition("/")[2].rpartition(".")[0]


def explanation(head: bytes, archive_format: str) -> str | None:
    """Why a file that begins with ``head`` can't be unpacked as ``archive_format``; None if that is unknown."""
    found = looks_like(head)
    if found is None:
        return None
    if found == _LOOKS.get(archive_format.rpartition(".")[2]):
        return "the file is cut off or damaged, or has something behind its end"
    return f"the file is {found}"


def looks_like(head: bytes) -> str | None:
    """Return a description of the type of a file that begins with ``head``; None if it is unknown."""
    if not head:
        return "an empty file"
    if head.lstrip()[:1] in (b"<", b"{"):
        return "a web page or a message of the server"
    if head[_TAR_MAGIC_AT:].startswith(b"ustar"):
        return _LOOKS["tar"]
    return next((_LOOKS[form] for form, magic in _MAGICS.items() if head.startswith(magic)), None)
