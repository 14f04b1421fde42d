"""Runs the programs that change accounts, such as useradd(8), one at a time, because a second one would fail.

Each of these programs locks the account files.
"""

from __future__ import annotations

import trio

from reactor import ResourceError, in_thread
from reactor.hostfs import read_only_hint
from reactor.resources.accounts.numbers import Choice
from reactor.resources.process import perform

_ACCOUNTS = "/etc"

_changing = trio.Lock()

_HINTS = {
    "group '": "declare the group, and add it to require",
    "user '": "declare the user, and add it to require",
}


async def change(*arguments: str, input: bytes = b"") -> None:  # noqa: A002 - as subprocess.run calls it
    """Run a program that changes accounts. Raises ResourceError, with its output, when it fails."""
    async with _changing:
        await _run(*arguments, input=input)


async def create(program: str, option: str, choice: Choice, *arguments: str) -> None:
    """Run a program that creates an account, with the chosen number after ``option``. Raises ResourceError as `change`."""
    async with _changing:  # from the choice until it is taken
        number = await in_thread(choice.number, abandon_on_cancel=True)
        await _run(program, *(() if number is None else (option, str(number))), *arguments)


async def _run(*arguments: str, input: bytes = b"") -> None:  # noqa: A002 - as above
    try:
        await perform(*arguments, input=input)
    except ResourceError as error:
        missing = "does not exist" in error.message
        hint = next((hint for word, hint in _HINTS.items() if missing and word in error.message), error.hint)
        raise ResourceError(error.message, hint or read_only_hint(_ACCOUNTS)) from error
