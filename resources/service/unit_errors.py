"""Explains why a request to systemd failed, by the reason that systemd gives and the last lines of the journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from reactor import ResourceError, masked_start
from reactor.resources.enumeration import listed
from reactor.resources.process import ENVIRONMENT, Command, run
from reactor.watchers.dbus import CallError, Scope

FACTS: Final = (
    "ConditionResult",
    "ConditionTimestamp",
    "Result",
    "ExecMainCode",
    "ExecMainStatus",
    "Type",
)
"""The properties of a unit that describe its last run."""

_JOURNAL_LINES = 5
_JOURNAL_WIDTH = 200
_JOURNAL_TIMEOUT = 3.0

_EXITED: Final = "1"
"""CLD_EXITED: the main process ended by itself, not by a signal."""
_NO: Final = {"no", "false"}
_NEVER: Final = {"", "0", "n/a"}

IN_PLACE_OF_LINK: Final = "that file is in the place of a link or mask: have a file resource remove it first"

_VERIFY: Final = "correct its unit file; this shows the error: systemd-analyze verify"

_HINTS: Final = {
    "UnitMasked": "write masked: false to unmask it, or ensure: stopped",
    "NoSuchUnit": "require the resource that installs it, or correct the name",
    "BadUnitSetting": _VERIFY,
    "OnlyByDependency": "manage the unit that pulls it in, such as a target with Wants=",
    "JobTypeNotApplicable": "if it can't be reloaded, write on_refresh: restart",
    "UnitExists": IN_PLACE_OF_LINK,
    "AccessDenied": "run reactor as root, or allow it in polkit",
    "InteractiveAuthorizationRequired": "run reactor as root, or allow it in polkit",
}

_UNREADABLE: Final = "has a unit file that systemd can't read"
_BROKEN: Final = {
    "bad-setting": "has a bad unit file setting",
    "error": _UNREADABLE,
}

_CONFLICT: Final = (
    "their unit files say that they can't run at once (Conflicts=): write ensure: stopped for one of them"
)

_TOO_OFTEN: Final = "Start request repeated too quickly"

_START_LIMIT: Final = "it was started too often; reactor retries with growing intervals, or at once after: systemctl reset-failed"


def refused(unit: str, error: CallError) -> ResourceError:
    """The error for a request that systemd refused."""
    if error.name.endswith(".InconsistentMessage"):  # the name of EBADMSG
        return unreadable(unit)
    return ResourceError(f"{unit}: {error.text}", _HINTS.get(error.name.rpartition(".")[2]))


def broken(unit: str, load: str) -> ResourceError | None:
    """The error for a unit that systemd could not load; ``load`` is its state. None if it could."""
    return ResourceError(f"{unit} {_BROKEN[load]}", _VERIFY) if load in _BROKEN else None


def unreadable(unit: str) -> ResourceError:
    """The error for a unit whose file is no unit file, such as one without a section."""
    return ResourceError(f"{unit} {_UNREADABLE}", _VERIFY)


def is_busy(load_error: str) -> bool:
    """Whether ``load_error``, from systemd, is that of a unit whose file came back while it ran."""
    return load_error.startswith("System.Error.EBUSY")


def still_stale(unit: str, load: str) -> ResourceError:
    """The error for files that systemd still reports as changed after a reload; ``load`` is the state of the unit."""
    if (error := broken(unit, load)) is not None:
        return error
    hint = f"repair the dangling links among the files that this lists: systemctl show --property=DropInPaths {unit}"
    return ResourceError(f"{unit}: systemd can't read all of its unit file and drop-ins", hint)


def not_generated(unit: str) -> ResourceError:
    """The error for a script in /etc/init.d from which systemd generates no unit."""
    hint = "see why: journalctl -t systemd-sysv-generator; a unit file is the better way"
    return ResourceError(f"{unit}: systemd generates no unit from its script in /etc/init.d", hint)


async def failed(
    scope: Scope, unit: str, what: str, facts: Mapping[str, object], conflicting: Sequence[str] = ()
) -> ResourceError:
    """The error for a failed job: ``what`` completes the sentence that begins with the name of the unit.

    ``conflicting`` are the active units that can't run at the same time.
    """
    journal = await _journal(scope, unit)
    words = {name: str(value).lower() for name, value in facts.items()}
    # After an earlier failure, the unit keeps the result of that failure.
    if _TOO_OFTEN in journal:
        words["Result"] = "start-limit-hit"
    lines = "".join(f"\n  {masked_start(line, _JOURNAL_WIDTH)}" for line in journal.splitlines())
    if conflicting:
        verb = "conflicts" if len(conflicting) == 1 else "conflict"
        reason = f": {listed(conflicting)} {verb} with it, and was started"
        return ResourceError(f"{unit} {what}{reason}{lines}", _CONFLICT)
    return ResourceError(f"{unit} {what}{_reason(words)}{lines}", _hint(unit, words))


def _reason(words: Mapping[str, str]) -> str:
    """The reason that systemd gives; empty for a unit that systemd has unloaded already."""
    result = words.get("Result", "")
    if words.get("ConditionTimestamp", "0") not in _NEVER and words.get("ConditionResult") in _NO:
        return ": a condition in its unit file is not met"
    if result == "exit-code":
        status = words.get("ExecMainStatus", "0")
        if words.get("ExecMainCode") != _EXITED or status == "0":
            return ": a command beside its main process failed, such as ExecStartPre="
        return f": its process ended with status {status}"
    return f": {result}" if result not in {"", "success"} else ""


def _hint(unit: str, words: Mapping[str, str]) -> str | None:
    if words.get("Result") == "start-limit-hit":
        return f"{_START_LIMIT} {unit}"
    if words.get("Type") == "oneshot" and words.get("Result") == "success":
        return "a unit of Type=oneshot counts as running afterwards only with RemainAfterExit=yes"
    return None


async def _journal(scope: Scope, unit: str) -> str:
    """The last journal lines of the unit; empty if there is no journal."""
    option = "--user-unit" if scope is Scope.USER else "--unit"
    arguments = (
        "journalctl",
        "--quiet",
        "--no-pager",
        "--output=cat",
        f"--lines={_JOURNAL_LINES}",
        option,
        unit,
    )
    try:
        return (await run(Command(arguments, "/", ENVIRONMENT, _JOURNAL_TIMEOUT))).stdout
    except ResourceError:
        return ""
