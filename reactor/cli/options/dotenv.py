"""The environment that expressions see as ``Environ``: that of the process, and the file ``.env`` over it, as in CCM."""

from __future__ import annotations

import os
import re
from pathlib import Path

from reactor.cli.options.implicit_files import implicit_file
from reactor.trust.rule import Trust

_FILE = ".env"
_SETTING = re.compile(r"\s*(?:export\s+)?([^\s=#][^\s=]*)\s*=\s*(.*?)\s*")
_QUOTES = ("'", '"')


def environment(*, read_file: bool) -> tuple[dict[str, str], tuple[str, ...]]:
    """The variables, and the file they also come from: ``.env`` in the current directory, whether it is there yet or not.

    One that others could change is left out. Raises ManifestError when it can't be read.
    """
    variables = dict(os.environ)
    if not read_file:
        return variables, ()
    try:
        path = Path(_FILE).absolute()
    except FileNotFoundError:  # somebody has removed the current directory
        return variables, ()
    if implicit_file(_FILE, "the environment that expressions see", "--no-read-env leaves it out") is None:
        return variables, (str(path),)
    return variables | parse(_text(path)), (str(path),)


def parse(text: str) -> dict[str, str]:
    """The settings in ``text``: lines ``KEY=value``, the value maybe in quotes; other lines, and empty values, say nothing."""
    found = (_SETTING.fullmatch(line) for line in text.splitlines())
    settings = {match[1]: _unquoted(match[2]) for match in found if match}
    return {key: value for key, value in settings.items() if value}


def _text(path: Path) -> str:
    try:
        with open(path, encoding="utf-8", opener=Trust().open) as file:
            return file.read()
    except (OSError, ValueError) as error:
        from reactor.errors import Place
        from reactor.resource.diagnostic import Diagnostic, ManifestError

        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        hint = "mend it, or leave it out with --no-read-env"
        raise ManifestError(
            [Diagnostic("R0101", f"can't read the file: {reason}", Place(str(path), 1, 1), hint)]
        ) from error


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in _QUOTES else value
