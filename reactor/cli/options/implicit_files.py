"""Files of the current directory that are read although no option names them: ``.env`` and ``.hiera``.

In ``/tmp``, or in a directory of another user, another user could have written them. So a file is read only if it
belongs to root or the current user, and no other user can write to it or replace it. Each file that is read or ignored
is reported once.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from reactor.cli.messages import notice, warn
from reactor.trust.rule import DistrustedError, Trust

_reported: dict[str, str] = {}
"""Path -> the last report about the file. A run reads it at every reload, and must not repeat the report."""


def implicit_file(name: str, purpose: str, otherwise: str) -> str | None:
    """The path of the file ``name`` in the current directory; None if there is none, or it must be ignored.

    The report has ``purpose``, which says what the file is read for, and ``otherwise``, which says how to avoid it.
    """
    if not os.path.isfile(name):
        return None
    path = os.path.abspath(name)
    try:
        Trust().require_file(path)
    except DistrustedError as error:
        _report_once(
            path, f"{path} is not used for {purpose}: {error} ({error.fix}; {otherwise})", is_warning=True
        )
        return None
    except OSError:  # the caller reads the file, and gets the reason
        return path
    _report_once(path, f"read {path} for {purpose} ({otherwise})", is_warning=False)
    return path


def _report_once(path: str, words: str, *, is_warning: bool) -> None:
    if _reported.get(path) != words:
        _reported[path] = words
        if is_warning:
            warn(words)
        else:
            notice(words, None)


_FILE = ".env"
_SETTING = r"\s*(?:export\s+)?([^\s=#][^\s=]*)\s*=\s*(.*?)\s*"
_QUOTES = ("'", '"')


def environment(*, read_file: bool) -> tuple[dict[str, str], tuple[str, ...]]:
    """The environment that expressions see as ``Environ``, and the file ``.env`` that is merged over it, as in CCM.

    The path of the file is returned also if there is none yet. A file that other users could change is ignored. Raises
    ManifestError for a file that can't be read.
    """
    variables = dict(os.environ)
    if not read_file:
        return variables, ()
    try:
        path = Path(_FILE).absolute()
    except FileNotFoundError:  # the current directory was removed
        return variables, ()
    if implicit_file(_FILE, "the environment that expressions see", "--no-read-env leaves it out") is None:
        return variables, (str(path),)
    return variables | parse_dotenv(_text(path)), (str(path),)


def parse_dotenv(text: str) -> dict[str, str]:
    """The settings in ``text``: lines ``KEY=value``, with or without quotes. Other lines and empty values are ignored."""
    found = (re.fullmatch(_SETTING, line) for line in text.splitlines())
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
        hint = "fix the file, or ignore it with --no-read-env"
        raise ManifestError(
            [Diagnostic("R0101", f"can't read the file: {reason}", Place(str(path), 1, 1), hint)]
        ) from error


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in _QUOTES else value
