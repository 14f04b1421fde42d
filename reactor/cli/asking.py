"""Asks the active run on a state directory to do what `reactor run --converge-once` would do.

The active run checks everything, and sends the lines to show and the exit code. It is asked only if the result is the
same: the request has all that decides the result besides the manifest, and the run refuses if anything differs.
`docs/control.md` describes the request and the answer.

A one-shot run imports this module only if an active run may answer, and then nothing else of the program: most of the
time of a small run is imports.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn

from reactor.cli import exitcodes
from reactor.cli.options import CONTEXT_VARIABLE, DATA_VARIABLE, DEFAULT_CONTEXT
from reactor.cli.plain_run import PlainRun, name_for_abspath
from reactor.errors import ReactorError
from reactor.journal.state_directory import Location, locate, may_have_run, short_socket_path
from reactor.named_tuple import NamedTuple

TIMEOUT = 10.0
"""Seconds to wait for the next part of the answer. The run sends an empty line when it has nothing to say."""

ROUTE = "/v1/converge"
_VARIABLES = ("TZ", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
_PEER = struct.Struct("3i")
"""struct ucred: process, user, group; see SO_PEERCRED in unix(7)."""
_PATHS = ("facts_file", "data_file", "hiera", "cache")
_COMPARED = {
    "facts": "--fact", "facts_file": "--facts", "data": "--data", "data_file": "--data-file", "hiera": "--hiera",
    "cache": "--cache", "context_name": "--context", "trusted_owners": "--trust-owner", "only": "--only",
    "exclude": "--exclude", "registration": "--registration", "registration_stream": "--registration-stream",
}  # fmt: skip
"""The options that decide the result, by parameter."""


class NoAnswerError(ReactorError):
    """The active run has not answered to the end."""

    code = "R0606"


_STOPPED = NoAnswerError(
    "the active run does not answer",
    "if the process is stopped, continue it with SIGCONT; if the host is busy, run the command again later",
)


class Refused(NamedTuple):
    """The active run does not do it, because of ``reason``."""

    reason: str


# ---- the request ----


def request_of(manifests: tuple[str, ...], parameters: Mapping[str, Any]) -> dict[str, Any] | None:
    """The request of a run of ``manifests`` with these parameters of the command; None if no other run can do it."""
    inputs = inputs_of(manifests, parameters)
    if any(map(_is_read_once, _files(inputs))):
        return None
    return {
        "inputs": inputs,
        "real_paths": real_paths(inputs),
        "process": process_facts(),
        "mounts": mounts(),
        "environ": dict(os.environ),
        "has_environment_file": has_environment_file(),
        "format": parameters.get("form", "text"),
        "diff": parameters.get("diff", False),
        "detailed_exitcodes": parameters.get("detailed_exitcodes", False),
        "stdout": {"is_terminal": os.isatty(1), "width": _width()},
        "stderr": {"is_terminal": os.isatty(2)},
    }


def inputs_of(manifests: tuple[str, ...], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The manifests and the options that decide the result, by option. Options that are not given are not in it."""
    given = {name: parameters.get(name) for name in _COMPARED}
    given["hiera"] = given["hiera"] or os.environ.get(DATA_VARIABLE)
    given["context_name"] = given["context_name"] or os.environ.get(CONTEXT_VARIABLE) or DEFAULT_CONTEXT
    for name in _PATHS:
        if (path := given[name]) is not None:
            given[name] = _absolute(path)
    found: dict[str, Any] = {_COMPARED[name]: value for name, value in given.items() if value}
    found["MANIFEST"] = [_absolute(name) for name in manifests]
    if not parameters.get("read_env", True):
        found["--no-read-env"] = True
    return found


def has_environment_file() -> bool:
    """Whether there is a file ``.env`` in the current directory."""
    return os.path.lexists(".env")


def _absolute(path: str) -> str:
    return path if "://" in path else os.path.abspath(name_for_abspath(path))


def real_paths(inputs: Mapping[str, Any]) -> list[str]:
    """The real paths of the files that are named: /dev/stdin is another file for each process."""
    return [os.path.realpath(path) for path in _files(inputs)]


def _files(inputs: Mapping[str, Any]) -> Iterator[str]:
    for path in (*inputs["MANIFEST"], *(inputs.get(_COMPARED[name], "") for name in _PATHS)):
        if path and "://" not in path:
            yield path


def _is_read_once(path: str) -> bool:
    """Whether it is a pipe, or anything else that only one process can read."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def process_facts() -> dict[str, Any]:
    """What decides which host a process sees, and how: user, root, namespaces, umask; and which reactor it runs."""
    root, program = os.stat("/"), os.stat(__file__)
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        umask = next(line.split()[1] for line in file if line.startswith("Umask:"))
    return {
        "user": [os.geteuid(), os.getegid()],
        "root directory": [root.st_dev, root.st_ino],
        "namespaces": [os.readlink(f"/proc/self/ns/{name}") for name in ("net", "uts", "user", "pid")],
        "umask": umask,
        "home directory": os.path.expanduser("~"),
        "installation of reactor": [__file__, program.st_ino, program.st_mtime_ns],
    }


def mounts() -> list[list[str]]:
    """The mounts that this process sees, in order: the device, the directory of it, and where that is mounted."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        return [line.split()[2:5] for line in file]


def differing_variables(ours: Mapping[str, str], theirs: Mapping[str, str], also: Iterable[str]) -> list[str]:
    """The variables that reactor itself reads, and ``also`` these, that differ between two environments."""
    proxies = [name for name in {**ours, **theirs} if name.lower().endswith("_proxy")]
    names = sorted({*_VARIABLES, *proxies, *also})
    return [f"${name}" for name in names if ours.get(name) != theirs.get(name)]


def _width() -> int:
    try:
        return os.get_terminal_size(1).columns
    except OSError:
        return 80


# ---- the command line ----


def answered(asked: PlainRun) -> int | None:
    """The exit code if an active run has answered; None if it has not. Then the command line asks again, as any other."""
    answer = ask(locate(asked.state_dir), asked.manifests, asked._asdict())
    return answer if isinstance(answer, int) else None


def ask(
    location: Location | None, manifests: tuple[str, ...], parameters: Mapping[str, Any]
) -> int | Refused | None:
    """Ask the active run, and show its answer. Return the exit code; None if no run is active there."""
    if location is None or not may_have_run(location.path):
        return None
    if (request := request_of(manifests, parameters)) is None:
        return Refused("the manifest is not a file")
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(TIMEOUT / 2)
        try:
            with short_socket_path(location.path) as path:
                connection.connect(path)
        except TimeoutError:
            return _fail(_STOPPED, parameters)
        except OSError:
            return None
        try:
            return _answer(connection, request)
        except NoAnswerError as error:
            return _fail(error, parameters)


def _peer_of(connection: socket.socket) -> int:
    """The process of the active run."""
    return int(_PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))[0])


def _is_below(ancestor: int) -> bool:
    """Whether this process was started by the process ``ancestor``, or by one that it has started."""
    process = os.getpid()
    while process > 1 and process != ancestor:
        try:
            with open(f"/proc/{process}/stat", "rb") as file:
                process = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:
            return False
    return process == ancestor


# ---- the answer ----


def _answer(connection: socket.socket, request: Mapping[str, Any]) -> int | Refused:
    if _is_below(_peer_of(connection)):
        return Refused("it waits for this command, which one of its checks has started")
    body = json.dumps(request).encode()
    head = f"POST {ROUTE} HTTP/1.0\r\nHost: reactor\r\nContent-Length: {len(body)}\r\n\r\n"
    leave_at_signals()
    try:
        connection.sendall(head.encode() + body)
        lines = _lines(connection)
        status = next(lines, b"").split()[1:2]
        while next(lines, b"").strip():
            pass
        if status != [b"200"]:
            return Refused(_refusal_in(b"".join(lines)))
        for line in filter(bytes.strip, lines):
            part = json.loads(line)
            if "refused" in part:
                return Refused(part["refused"])
            if "exit" in part:
                return int(part["exit"])
            _show(part)
    except TimeoutError:
        raise _STOPPED from None
    except (OSError, ValueError):
        pass
    words = "the active run ended before it had checked everything"
    raise NoAnswerError(words, "run the command again: without an active run it does the work itself")


def _fail(error: NoAnswerError, parameters: Mapping[str, Any]) -> int:
    """Report that nothing is known of the result, and return the exit code of a run that failed."""
    _show({"err": f"error[{error.code}]: {error.message}\nhint: {error.hint}\n"})
    return exitcodes.FAILED_BIT if parameters.get("detailed_exitcodes") else exitcodes.NOT_CONVERGED


def _lines(connection: socket.socket) -> Iterator[bytes]:
    rest = b""
    while data := _received(connection):
        *lines, rest = (rest + data).split(b"\n")
        yield from lines
    if rest:
        yield rest


def _received(connection: socket.socket) -> bytes:
    """What comes next; nothing at the end. Raises TimeoutError after twice the timeout of ``connection``."""
    try:
        return connection.recv(1 << 16)
    except TimeoutError:  # also if this process itself was stopped, as by ^Z
        return connection.recv(1 << 16)


def _refusal_in(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return "it is another version of reactor"


def _show(part: Mapping[str, str]) -> None:
    for name, descriptor in (("out", 1), ("err", 2)):
        data = part.get(name, "").encode(errors="backslashreplace")
        try:
            while data:
                data = data[os.write(descriptor, data) :]
        except OSError:  # the reader of our pipe is gone; the exit code still counts
            return


def leave_at_signals() -> None:
    """End at ^C and SIGTERM with the exit code of a run. The active run goes on."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)


def _leave(number: int, _frame: object) -> NoReturn:
    sys.stdout.flush()
    os._exit(128 + number)
