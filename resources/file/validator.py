"""Asks a command whether new content is any good, while the old is still in place.

Few files have such a command: what runs it is imported when one has.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from reactor import ResourceError

PLACEHOLDER = "{path}"


class Validator(NamedTuple):
    """The command in ``text``: its words, one of which holds `PLACEHOLDER`. It is run without a shell."""

    text: str

    async def require_startable(self) -> None:
        """Raise ResourceError where the command could not be started."""
        from reactor.resources.process import ENVIRONMENT, Command, require_startable  # noqa: PLC0415 - see above

        try:
            await require_startable(Command(_words(self.text), "/", ENVIRONMENT))
        except ResourceError as error:
            raise ResourceError(f"validate: {error.message}", error.hint, missing=error.missing) from error

    async def approve(self, candidate: str, path: str) -> None:
        """Raise ResourceError unless the command returns 0 for the file ``candidate``, which is to become ``path``.

        When cancelled, its whole process group is ended. What it says names ``path``: the other name is another
        one each time.
        """
        from reactor.resources.process import ENVIRONMENT, Command, output_tail, run  # noqa: PLC0415 - see above

        arguments = [word.replace(PLACEHOLDER, candidate) for word in _words(self.text)]
        hint = f"{path} is as it was: mend the new content, or the command in `validate`"
        try:
            completed = await run(Command(arguments, "/", ENVIRONMENT))
        except ResourceError as error:
            raise ResourceError(f"validate: {error.message}".replace(candidate, path), hint) from error
        if completed.exit_code != 0:
            words = output_tail(completed.stdout, completed.stderr)
            text = f"validate: exit code {completed.exit_code} of {arguments[0]}{words}"
            raise ResourceError(text.replace(candidate, path), hint)


def fault_of(text: str) -> str | None:
    """What is wrong with the text of a validating command, if anything."""
    if "\0" in text:
        return "a command can't hold a NUL character"
    try:
        words = _words(text)
    except ValueError as error:
        return str(error)
    if not any(PLACEHOLDER in word for word in words):
        return f"the command never names the file to look at: {PLACEHOLDER} is missing"
    return None if words[0] else "the command is empty"


def paths_in(text: str) -> Iterator[str]:
    """The absolute paths among the words of a command that `fault_of` finds no fault with."""
    for word in _words(text):
        if word.startswith("/") and PLACEHOLDER not in word:
            yield os.path.normpath(word)


def _words(text: str) -> list[str]:
    from reactor.resources.process import split_words  # noqa: PLC0415 - see above

    return split_words(text)
