"""The output of a command, read into memory. The command gets no secret of ours: neither arguments nor environment."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, cast

from reactor.secrets.errors import SecretError
from reactor.secrets.files import MAX_BYTES

_PATH = "/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin:/usr/local/sbin"
_KEPT = ("HOME", "USER", "LOGNAME", "XDG_RUNTIME_DIR", "GNUPGHOME", "CREDENTIALS_DIRECTORY")
"""What a command inherits of our environment: where its own configuration is."""
_CHUNK = 65536


def output_of(arguments: Sequence[str], base: str, timeout: float, environ: dict[str, str]) -> bytes:
    """Run a command in the directory ``base``, and return what it prints. Blocks for up to ``timeout`` seconds.

    Its standard error is not read, because it might quote the secret. Raises SecretError.
    """
    name = arguments[0]
    environment = {"PATH": _PATH, "LANG": "C.UTF-8", **{key: environ[key] for key in _KEPT if key in environ}}
    try:
        process = subprocess.Popen(
            list(arguments),
            cwd=base,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        hint = "install it, or name it with its directory"
        raise SecretError(f"the command {name} can't be started: {reason}", hint, may_pass=True) from error
    stream = cast("IO[bytes]", process.stdout)
    try:
        content = _read(process, stream.fileno(), time.monotonic() + timeout, name, timeout)
        code = process.returncode
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        stream.close()
    if code != 0:
        hint = (
            "run it by hand to see its messages: they are not shown here, because they might quote the secret"
        )
        raise SecretError(f"the command {name} failed with exit code {code}", hint, may_pass=True)
    return content


def _read(process: subprocess.Popen[bytes], stream: int, deadline: float, name: str, timeout: float) -> bytes:
    """Return the output up to the end of the process; a child that keeps the pipe open is not awaited."""
    found = bytearray()
    late = SecretError(
        f"the command {name} took more than {timeout:g} s",
        "it was killed; 'timeout' sets the limit",
        may_pass=True,
    )
    while True:
        if not select.select([stream], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise late
        chunk = os.read(stream, _CHUNK)
        found += chunk
        if len(found) > MAX_BYTES:
            raise SecretError(f"the command {name} prints more than {MAX_BYTES // 2**20} MiB", may_pass=True)
        if not chunk:
            break
    try:
        process.wait(max(0.001, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise late from None
    return bytes(found)
