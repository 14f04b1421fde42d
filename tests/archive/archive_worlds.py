"""Archives built by the tests, and the resources that fetch them."""

import hashlib
import io
import os
import stat
import tarfile
import zipfile

import zstandard

from reactor.resources.archive import Archive

ME = {"owner": str(os.getuid()), "group": str(os.getgid())}
FILES = {"app/bin/run": b"#!/bin/sh\n", "app/lib/data": b"data " * 1000, "app/README": b"read me\n"}


def tar_of(files, mode="w:gz"):
    """A tar archive with these files; a value may be a TarInfo instead of bytes."""
    buffer = io.BytesIO()
    quickly = {"w:gz": {"compresslevel": 1}, "w:bz2": {"compresslevel": 1}, "w:xz": {"preset": 0}}.get(
        mode, {}
    )
    with tarfile.open(fileobj=buffer, mode=mode, **quickly) as tar:
        for name, content in files.items():
            if isinstance(content, tarfile.TarInfo):
                tar.addfile(content)
                continue
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = len(content), 0o6777, 1_000_000_000
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def zip_of(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def packed(files, archive_format):
    """An archive in any of the formats."""
    if archive_format == "zip":
        return zip_of(files)
    if archive_format == "tar.zst":
        return zstandard.ZstdCompressor().compress(tar_of(files, "w"))
    return tar_of(files, {"tar": "w", "tar.gz": "w:gz", "tar.bz2": "w:bz2", "tar.xz": "w:xz"}[archive_format])


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def make(path, url, **properties):
    """An archive resource that belongs to whoever runs the tests."""
    return Archive(**{"name": str(path), "ensure": "present", "url": url, **ME, **properties})


def tree(root):
    """Everything below ``root``: type, bits and content by path."""
    found = {}
    for directory, directories, names in os.walk(root):
        for name in (*directories, *names):
            path = os.path.join(directory, name)
            status = os.lstat(path)
            content = None
            if stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    content = file.read()
            elif stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            found[os.path.relpath(path, root)] = (status.st_mode, status.st_uid, status.st_gid, content)
    return found


def names_in(root):
    return sorted(tree(root))


def unpacked(root):
    """The files below ``opt``, with their content."""
    return {path: found[3] for path, found in tree(root / "opt").items() if stat.S_ISREG(found[0])}
