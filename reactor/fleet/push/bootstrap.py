"""reactor with its libraries as one file, for a host that has only Python.

The host must have the same version of Python on the same architecture, since some of the libraries are compiled.
The file is unpacked into ``~/.cache/reactor/bootstrap/<digest>`` once, and used again by later pushes, also by those
that send none.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import sysconfig
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import NamedTuple

MISSING_CODE = 127
"""The exit code of a command on a host that has no reactor; the one of a shell that does not find a program."""

_DISTRIBUTION = "reactor-converge"
_METADATA = ("METADATA", "entry_points.txt")
_EPOCH = (1980, 1, 1, 0, 0, 0)
_LEVEL = 1

_OUR_DIRECTORY = r"""
found = os.lstat(top)
if found.st_uid != os.geteuid() or found.st_mode & 0o022:
    sys.exit(top + \" can be changed by others\")
"""
_RECEIVE = r"""
os.environ[\"PYTHONPATH\"] = place
os.execv(sys.executable, [sys.executable, \"-P\", \"-m\", \"reactor\", \"receive\"])
"""

BOOTSTRAP_CODE = rf"""
import hashlib, io, json, os, shutil, sys, sysconfig, tempfile, zipfile
read = open(0, \"rb\", buffering=0).read
line = b\"\"
while not line.endswith(b\"\n\"):
    line += read(1) or sys.exit(1)
want = json.loads(line)
platform = sysconfig.get_config_var(\"SOABI\")
if platform != want[\"platform\"]:
    error = \"its Python is \" + str(platform) + \", and the bootstrap is for \" + want[\"platform\"]
    hint = \"install reactor there\"
    print(json.dumps(dict(event=\"pushed\", result=\"failed\", error=error, hint=hint, code=\"R0805\")))
    sys.exit(1)
top = os.path.expanduser(\"~/.cache/reactor/bootstrap\")
os.makedirs(top, 0o700, exist_ok=True)
{_OUR_DIRECTORY}
place = os.path.join(top, want[\"digest\"])
need = not os.path.isdir(place)
print(json.dumps(dict(event=\"bootstrap\", need=need)), flush=True)
if need:
    data = bytearray()
    while len(data) < want[\"size\"]:
        piece = read(min(65536, want[\"size\"] - len(data)))
        if not piece:
            sys.exit(\"the bootstrap broke off\")
        data += piece
    if hashlib.sha256(data).hexdigest() != want[\"digest\"]:
        sys.exit(\"the bootstrap is damaged\")
    made = tempfile.mkdtemp(dir=top)
    zipfile.ZipFile(io.BytesIO(data)).extractall(made)
    try:
        os.rename(made, place)
    except OSError:
        if not os.path.isdir(place):  # another push was faster
            raise
        shutil.rmtree(made)
{_RECEIVE}
"""
"""The program for Python on the host. It stands between double quotes in a shell script between single quotes."""

SENT_BEFORE_CODE = rf"""
import os, re, sys
top = os.path.expanduser(\"~/.cache/reactor/bootstrap\")
if not os.path.isdir(top):
    sys.exit({MISSING_CODE})
{_OUR_DIRECTORY}
sent = [each for each in os.scandir(top) if re.fullmatch(\"[0-9a-f]{{64}}\", each.name)]
if not sent:
    sys.exit({MISSING_CODE})
place = max(sent, key=lambda each: each.stat().st_mtime).path
{_RECEIVE}
"""
"""The same for a push that sends none: it takes what came last. It ends with `MISSING_CODE` if nothing was ever sent."""


class Bootstrap(NamedTuple):
    """The file, and the platform that it is for."""

    data: bytes
    platform: str

    def line(self) -> bytes:
        """The announcement of the file, as one line."""
        digest = hashlib.sha256(self.data).hexdigest()
        return (
            json.dumps({"digest": digest, "size": len(self.data), "platform": self.platform}).encode() + b"\n"
        )


def make_bootstrap() -> Bootstrap:
    """Pack the installed reactor and the libraries that it needs. The same installation gives the same bytes. Blocks."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as packed:
        for name, content in sorted(_files()):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(info, content)
    return Bootstrap(buffer.getvalue(), str(sysconfig.get_config_var("SOABI")))


def _files() -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of every file to pack."""
    yield from _own_files()
    for found in _libraries():
        for file in found.files or ():
            if ".." in file.parts or "__pycache__" in file.parts:
                continue  # scripts, and what Python makes itself
            path = str(found.locate_file(file))
            if os.path.isfile(path):
                yield str(file), _content(path)


def _own_files() -> Iterator[tuple[str, bytes]]:
    """The files of reactor itself, which may be installed as links to a checkout."""
    top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    for directory, names, files in os.walk(os.path.join(top, "reactor"), followlinks=True):
        names[:] = [name for name in names if name != "__pycache__"]
        for file in files:
            path = os.path.join(directory, file)
            yield os.path.relpath(path, top), _content(path)
    own = distribution(_DISTRIBUTION)
    for file in _METADATA:
        yield f"reactor_converge-{own.version}.dist-info/{file}", (own.read_text(file) or "").encode()


def _libraries() -> list[Distribution]:
    """The libraries that reactor needs, and their dependencies."""
    from packaging.requirements import Requirement  # noqa: PLC0415 - only for a bootstrap

    found: dict[str, Distribution] = {}
    todo = [*(distribution(_DISTRIBUTION).requires or ())]
    while todo:
        requirement = Requirement(todo.pop())
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        if name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue
        todo += found[name].requires or ()
    return list(found.values())


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
