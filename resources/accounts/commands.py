"""Runs the programs that change accounts, such as useradd(8), one at a time, because a second one would fail.

Each of these programs locks the account files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

import trio

from reactor import Plan, ResourceError, in_thread
from reactor.hostfs import refuse_replacement
from reactor.resources.accounts.database import GROUP, PASSWD, SHADOW
from reactor.resources.accounts.numbers import Choice
from reactor.resources.process import perform

_GSHADOW = "/etc/gshadow"
_USERS, _GROUPS = (PASSWD, SHADOW), (GROUP, _GSHADOW)

_WRITTEN = {
    "useradd": (*_USERS, *_GROUPS),
    "usermod": _USERS,
    "userdel": (*_USERS, *_GROUPS),
    "chpasswd": _USERS,
    "chage": _USERS,
    "groupadd": _GROUPS,
    "groupdel": _GROUPS,
    "groupmod": (GROUP, PASSWD),
    "gpasswd": _GROUPS,
}
"""The files that each program opens for writing, also if it then changes only one of them."""

_changing = trio.Lock()

GROUP_IN_USE = "remove the user first, or give the user another group"
_NUMBER_TAKEN = "choose another number, or change that of its owner first"
_HINTS = {
    r"group '.*does not exist": "declare the group, and add it to require",
    r"user '.*does not exist": "declare the user, and add it to require",
    r"is currently used by process": "end its processes first: loginctl terminate-user NAME, or pkill -u NAME",
    r"cannot remove the primary group": GROUP_IN_USE,
    r"[UG]ID .* is not unique|[UG]ID .* already exists": _NUMBER_TAKEN,
    r"cannot lock ": "another program changes accounts; if none does, remove the lock that one left: ls /etc/*.lock",
}
"""What to do, by what the programs say."""


async def change(*arguments: str, input: bytes = b"") -> None:  # noqa: A002 - as subprocess.run calls it
    """Run a program that changes accounts. Raises ResourceError, with its output, when it fails."""
    async with _changing:
        await _run(*arguments, input=input)


async def create(program: str, option: str, choice: Choice, *arguments: str) -> None:
    """Run a program that creates an account, with the chosen number after ``option``. Raises ResourceError as `change`."""
    async with _changing:  # from the choice until it is taken
        number = await in_thread(choice.number, abandon_on_cancel=True)
        await _run(program, *(() if number is None else (option, str(number))), *arguments)


def refuse_unwritable(plan: Plan) -> None:
    """Raise the ResourceError with which an action of ``plan`` would fail, because a file that it writes is protected.

    The file system is read-only, or chattr(1) protects the file.
    """
    for action in plan:
        if isinstance(run := action.run, partial) and run.func in (change, create):
            _refuse_unwritable(run.args)


def _refuse_unwritable(arguments: Sequence[object]) -> None:
    also = _GROUPS if arguments[0] == "usermod" and "--groups" in arguments else ()
    for path in (*_WRITTEN[str(arguments[0])], *also):
        refuse_replacement(path)


async def _run(*arguments: str, input: bytes = b"") -> None:  # noqa: A002 - as above
    try:
        await perform(*arguments, input=input)
    except ResourceError as error:
        hint = next((hint for words, hint in _HINTS.items() if re.search(words, error.message)), error.hint)
        hint = hint and hint.replace("NAME", arguments[-1])
        raise ResourceError(error.message, _protection_hint(arguments) or hint) from error


def _protection_hint(arguments: Sequence[object]) -> str | None:
    """What to do if the program failed because of a file that is protected; None if that is not the reason."""
    try:
        _refuse_unwritable(arguments)
    except ResourceError as error:
        return error.hint
    return None
