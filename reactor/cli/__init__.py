"""The command line.

- ``group``: the ``reactor`` command; ``command_groups``: groups of subcommands;
- ``commands/``: one module for each command, which has its name;
- ``options/``: options and arguments that several commands share, and the larger ones of single commands;
- ``running/``: the parts of a run beside the engine: loading, state directory, signals, reloading;
- ``asking``: lets an active run do the work of a one-shot run;
- ``plain_run``: recognizes a one-shot run that may need none of this, because an active run or a proof answers it;
- ``messages``, ``exitcodes``: errors, warnings and exit codes;
- ``foreign_words``: commands and options of other programs, each with our equivalent;
- ``output_files``: writes files to paths that the user gives; ``values``, ``yaml_text``: output of facts and data;
- ``completion_candidates``: the names that a shell can complete.

Every module imports heavy modules only inside functions, so that ``reactor --help`` is fast.
"""

from __future__ import annotations

import errno
import gc
import os
import resource
import signal
import sys
from types import FunctionType, TracebackType
from typing import NoReturn

from reactor.own_process import is_replaced

_ROOM = 1 << 14
"""Slots on Python's stack, of 8 bytes each."""


def main() -> None:
    """Run the ``reactor`` command and exit.

    Python maps memory for the frames of calls in chunks of 16 KiB, and unmaps a chunk when its first call returns. Where
    many calls cross the end of a chunk, that happens a thousand times in one start. It makes a larger chunk for a frame
    that needs more: all calls from a frame that reserves 128 KiB and uses nearly none of it are in one chunk of 256 KiB.
    """
    FunctionType(_main.__code__.replace(co_stacksize=_ROOM), globals())()


def _main() -> None:
    _use_utf8()
    _leave_no_core()
    gc.disable()  # the start makes no garbage, and collection takes a tenth of its time; the engine enables it
    _open_standard_descriptors()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Until a command handles signals itself, ^C ends the process at once: nothing has been changed yet, and a
        # traceback from inside an import would not help.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.excepthook = _show_exception
    if sys.argv[1:] == ["receive"]:
        from reactor.cli.running.receive_session import receive_session

        _leave(receive_session(_command))
    _leave(_command())


def _command() -> int:
    """Run the command of the command line; return its exit code."""
    if (code := _answered_without_a_run(sys.argv[1:])) is not None:
        return code
    from reactor.cli.group import reactor

    try:
        reactor(prog_name="reactor")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


def _answered_without_a_run(words: list[str]) -> int | None:
    """Return the exit code if an active run has done the work, or a proof shows that there is none.

    None if this process must do it.
    """
    if words[:1] != ["run"] or "--converge-once" not in words or "_REACTOR_COMPLETE" in os.environ:
        return None
    from reactor.cli.plain_run import plain_run
    from reactor.journal.state_directory import PROOF_FILE, locate, may_have_run

    if (asked := plain_run(words[1:])) is None or (location := locate(asked.state_dir)) is None:
        return None
    if may_have_run(location.path):
        from reactor.cli.asking import answered

        return answered(asked)
    if not os.path.lexists(os.path.join(location.path, PROOF_FILE)):
        return None
    from reactor.cli.running.run_proof import report_proven

    return report_proven(asked, location.path)


def _use_utf8() -> None:
    """If the locale has another encoding, start the process again in UTF-8 mode: manifests are UTF-8."""
    if sys.getfilesystemencoding() != "utf-8" and sys.executable:
        words = (sys.executable, "-X", "utf8", *sys.orig_argv[1:])
        os.execv(sys.executable, words)  # noqa: S606 - this program with its own arguments, without a shell


def _leave_no_core() -> None:
    """Forbid core files, which would contain secrets. Only the soft limit is lowered, so commands can raise it."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _show_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Show the traceback of a bug, with secrets redacted; or what the process lacks: its program, open files."""
    if is_replaced():
        words = "another version of reactor was installed while this process ran, so it ends"
        sys.stderr.write(f"error[R0704]: {words}\nhint: start it again, as systemd does by itself\n")
        return
    if _is_out_of_files(error):
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        words = f"no more files can be opened: the limit of open files is {limit}"
        hint = "raise it: ulimit -n 1024; for a service: LimitNOFILE=1024, with systemctl edit"
        sys.stderr.write(f"error[R0704]: {words}\nhint: {hint}\n")
        return
    import traceback

    from reactor.resource.redaction import redact

    sys.stderr.write(redact("".join(traceback.format_exception(kind, error, trace))))


def _is_out_of_files(error: BaseException) -> bool:
    """Whether the limit of open files ended the process, maybe with other errors that followed from it."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(_is_out_of_files, error.exceptions))
    return isinstance(error, OSError) and error.errno == errno.EMFILE


def _leave(code: int) -> NoReturn:
    """Exit at once. All files are closed now, and to shut the interpreter down would take longer than a small run."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        code = code or 1
    os._exit(code)


def _open_standard_descriptors() -> None:
    """Open /dev/null for a closed stdin, stdout or stderr; otherwise a managed file could become stdout."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or os.fdopen(0)
    sys.stdout = sys.stdout or os.fdopen(1, "w")
    sys.stderr = sys.stderr or os.fdopen(2, "w")
