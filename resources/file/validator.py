"""The commands of a file: `Validator` validates new content before it replaces the old content.

Few files have a command, so the modules that run it are imported when one is run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from reactor import ResourceError

PLACEHOLDER = "{path}"
_OBTAIN = "require the resource that installs the command, or write its path; no shell reads it"


class Validator(NamedTuple):
    """The validating command ``text``. One of its words contains `PLACEHOLDER`. It is run without a shell."""

    text: str

    async def require_startable(self) -> None:
        """Raise ResourceError if the command can't be started."""
        await require_startable("validate", self.text)

    async def approve(self, candidate: str, path: str) -> None:
        """Raise ResourceError unless the command returns 0 for the file ``candidate``, which will become ``path``.

        A cancellation ends its whole process group. In its output, ``candidate`` is replaced by ``path``.
        """
        hint = f"{path} is unchanged: correct the new content, or the command in `validate`"
        try:
            refusal = await refusal_of("validate", self.text, candidate)
        except ResourceError as error:
            if error.missing is not None:
                hint = f"{path} is unchanged: {_OBTAIN}"
            raise ResourceError(error.message.replace(candidate, path), hint) from error
        if refusal is not None:
            raise ResourceError(refusal.replace(candidate, path), hint)


async def require_startable(name: str, text: str) -> None:
    """Raise ResourceError if the command ``text`` of the property ``name`` can't be started."""
    from reactor.resources.process import ENVIRONMENT, Command, require_startable  # noqa: PLC0415 - see above

    try:
        await require_startable(Command(_words(text), "/", ENVIRONMENT))
    except ResourceError as error:
        hint = error.hint if error.missing is None else _OBTAIN
        raise ResourceError(f"{name}: {error.message}", hint, missing=error.missing) from error


async def refusal_of(name: str, text: str, path: str) -> str | None:
    """Run the command ``text`` of the property ``name`` on ``path``; how it failed, or None if it returned 0.

    Raises ResourceError if it can't be started.
    """
    from reactor.resources.process import ENVIRONMENT, Command, output_tail, run  # noqa: PLC0415 - see above

    arguments = [word.replace(PLACEHOLDER, path) for word in _words(text)]
    try:
        completed = await run(Command(arguments, "/", ENVIRONMENT))
    except ResourceError as error:
        raise ResourceError(f"{name}: {error.message}", error.hint, missing=error.missing) from error
    if completed.exit_code == 0:
        return None
    return f"{name}: exit code {completed.exit_code} of {arguments[0]}{output_tail(completed.stdout, completed.stderr)}"


def validator_problem(text: str) -> str | None:
    """Why ``text`` is not a valid command for validation; None if it is valid."""
    if PLACEHOLDER not in text:
        return f"the command does not name the file to validate: {PLACEHOLDER} is missing"
    return command_problem(text)


def command_problem(text: str) -> str | None:
    """Why ``text`` is not a command; None if it is one."""
    if "\0" in text:
        return "a command can't hold a NUL character"
    try:
        words = _words(text)
    except ValueError as error:
        return str(error)
    return None if words and words[0] else "the command is empty"


def paths_in(text: str) -> Iterator[str]:
    """The absolute paths among the words of a valid command."""
    for word in _words(text):
        if word.startswith("/") and PLACEHOLDER not in word:
            yield os.path.normpath(word)


def _words(text: str) -> list[str]:
    from reactor.resources.process import split_words  # noqa: PLC0415 - see above

    return split_words(text)
