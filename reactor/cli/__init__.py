"""The command line: one module per command, each importing what is heavy only when it runs."""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys
from types import TracebackType


def main() -> None:
    """Run the ``reactor`` command and exit."""
    _speak_utf8()
    _leave_no_core()
    gc.disable()  # starting makes no garbage, and looking for it takes a tenth of the time; the engine enables it
    _open_standard_descriptors()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Until a command handles signals itself, ^C just ends us: nothing has been touched, and a traceback
        # from within an import would tell nobody anything.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.excepthook = _show_exception
    from reactor.cli.group import reactor

    try:
        reactor(prog_name="reactor")
    except SystemExit as ended:
        _leave(ended.code)


def _speak_utf8() -> None:
    """Begin again where the locale asks for another encoding: manifests are UTF-8, and so are the names in them."""
    if sys.getfilesystemencoding() != "utf-8" and sys.executable:
        words = (sys.executable, "-X", "utf8", *sys.orig_argv[1:])
        os.execv(sys.executable, words)  # noqa: S606 - ourselves, with the same words: there is no shell to ask


def _leave_no_core() -> None:
    """Let a crash write no core: secrets would be in it. Who starts us may forbid it for good; commands may allow it again."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _show_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Show the traceback of a bug, without the secrets that may be in its words."""
    import traceback

    from reactor.resource.redaction import redact

    sys.stderr.write(redact("".join(traceback.format_exception(kind, error, trace))))


def _leave(code: str | int | None) -> None:
    """End at once. All is written and closed; taking the interpreter apart would take longer than a small run."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        code = code or 1
    os._exit(code if isinstance(code, int) else int(code is not None))


def _open_standard_descriptors() -> None:
    """Give a closed stdin, stdout or stderr to /dev/null; else a managed file could end up as our stdout."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or os.fdopen(0)
    sys.stdout = sys.stdout or os.fdopen(1, "w")
    sys.stderr = sys.stderr or os.fdopen(2, "w")
