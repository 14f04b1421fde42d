"""The command line: one module per command, each importing what is heavy only when it runs."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Run the ``reactor`` command and exit."""
    _open_standard_descriptors()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Until a command handles signals itself, ^C just ends us: nothing has been touched, and a traceback
        # from within an import would tell nobody anything.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from reactor.cli.group import reactor

    reactor(prog_name="reactor")


def _open_standard_descriptors() -> None:
    """Give a closed stdin, stdout or stderr to /dev/null; else a managed file could end up as our stdout."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or os.fdopen(1, "w")
    sys.stderr = sys.stderr or os.fdopen(2, "w")
