"""Finds the program of a command, and explains why one can't be started."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reactor import ResourceError, fragile_mounts
from reactor.hostfs import open_directory
from reactor.resources.process.identity import Identity

_LONGEST_FIRST_LINE = 256  # bytes of a script that Linux reads: BINPRM_BUF_SIZE
_MAY_ENTER = "run as root, or as a user who may enter every directory of the path"
_INSTALL = "require the resource that installs it, or correct the path"
_EXHAUSTED = {
    errno.E2BIG: "an argument or variable is limited to 128 KiB, and all together to some MiB: put long values into a file",
    errno.EMFILE: "run fewer at once, with --jobs, or raise the limit of open files: `ulimit -n`, or LimitNOFILE= of the service",
    errno.EAGAIN: "run fewer at once, with --jobs, or raise the limit of processes: `ulimit -u`, or TasksMax= of the service",
}
"""Hints for limits that were reached, by error number."""


async def find_program(program: str, cwd: str, search: str) -> str:
    """The absolute path of ``program``. A bare name is looked up in ``search``, the PATH that the command will see.

    Raises ResourceError when there is no such program, or when its file system, or that of the working directory, does
    not answer: loading the program would block the loop.
    """
    mounts = fragile_mounts()
    await mounts.ask(cwd)
    if "/" in program:
        path = str(Path(cwd, program))
        await mounts.ask(path)
        return path
    for directory in search.split(":"):
        path = os.path.join(cwd, directory, program)
        await mounts.ask(path)
        if _is_program(path):
            return path
    raise ResourceError(
        f"there is no executable {program!r} in {search}",
        "write its absolute path, set `path`, or require the resource that installs it; what only a shell"
        " knows, such as cd and &&, needs `provider: shell`",
        missing=str(Path(cwd, search.partition(":")[0], program)),
    )


def refuse_unstartable(program: str, identity: Identity | None) -> None:
    """Raise ResourceError when ``program`` or the interpreter of the script is missing, or may not be executed."""
    if not os.path.exists(program):
        raise explain_start(FileNotFoundError(), program, identity)
    if not _is_program(program):
        raise _explain_refusal(program, identity)
    interpreter = _interpreter_of(program)
    if interpreter is not None and not os.path.exists(interpreter):
        raise explain_start(FileNotFoundError(), program, identity)


@contextmanager
def opened_directory(path: str) -> Iterator[str]:
    """Open the working directory ``path`` for a block. Yields a path to it that no other user can redirect.

    A command such as ``rm -rf *`` must not run in any other directory. Raises ResourceError.
    """
    if path == "/":
        yield path
        return
    try:
        fd = open_directory(path)
    except OSError as error:
        raise explain_directory(error, path) from error
    try:
        yield f"/proc/self/fd/{fd}"
    finally:
        os.close(fd)


def _interpreter_of(program: str) -> str | None:
    """The absolute path of the interpreter in the first line of a script; None for another or an unreadable file."""
    try:
        fd = os.open(program, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # its owner may put a pipe there
        with open(fd, "rb", buffering=0) as file:
            first = (file.read(_LONGEST_FIRST_LINE) or b"").partition(b"\n")[0]
    except OSError:
        return None
    words = first[2:].split() if first.startswith(b"#!") else []
    return os.fsdecode(words[0]) if words and words[0].startswith(b"/") else None


def _is_program(path: str) -> bool:
    return os.access(path, os.X_OK) and os.path.isfile(path)


def explain_start(error: OSError, program: str, identity: Identity | None) -> ResourceError:
    """The error for a program that could not be started, with the path that caused it."""
    if error.filename == os.devnull:
        words = f"{os.devnull}, from which {program} would read, can't be opened: {error.strerror}"
        return ResourceError(words, f"make it: mknod -m 666 {os.devnull} c 1 3")
    if not os.path.exists(program):
        denied = isinstance(error, PermissionError)
        what, hint = ("can't be reached", _MAY_ENTER) if denied else ("does not exist", _INSTALL)
        return ResourceError(f"the executable {program} {what}", hint, missing=None if denied else program)
    if isinstance(error, FileNotFoundError):
        words = f"the interpreter named in the first line of {program} does not exist"
        return ResourceError(words, "require the resource that installs it, or correct that line")
    if isinstance(error, PermissionError):
        return _explain_refusal(program, identity)
    if error.errno == errno.ENOEXEC:
        return ResourceError(
            f"{program} is neither a program nor a script that names its interpreter",
            "begin its first line with #!, as in #!/bin/sh",
        )
    return ResourceError(f"{program} can't be started: {error.strerror}", _EXHAUSTED.get(error.errno or 0))


def _explain_refusal(program: str, identity: Identity | None) -> ResourceError:
    """The error for a file that the kernel refuses to execute."""
    if os.path.isdir(program):
        return ResourceError(f"{program} is a directory", "name a program in it")
    if os.statvfs(program).f_flag & os.ST_NOEXEC:
        return ResourceError(
            f"{program} is on a file system that is mounted noexec", "keep programs elsewhere"
        )
    if os.access(program, os.X_OK) and identity is not None:
        hint = "let this user enter every directory of the path, and execute what is there: see namei -l"
        return ResourceError(f"{identity.name} may not execute {program}", hint)
    if os.access(program, os.X_OK):
        words = f"the interpreter named in the first line of {program} is not executable"
        return ResourceError(words, "make it executable, or correct that line")
    return ResourceError(f"{program} is not executable", f"chmod +x {program}, or name its interpreter first")


def explain_directory(error: OSError, path: str) -> ResourceError:
    """The error for a program that could not be started in the directory ``path``."""
    where = f"the working directory {path}"
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        what = "does not exist" if isinstance(error, FileNotFoundError) else "is not a directory"
        hint = "require a file resource that ensures the directory, or correct `cwd`"
        return ResourceError(f"{where} {what}", hint, missing=path)
    return ResourceError(f"{where} can't be entered: {error.strerror}", _MAY_ENTER)
