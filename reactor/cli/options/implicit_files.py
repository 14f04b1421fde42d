"""Files of the current directory that are read though nobody has named them, such as ``.env``.

Who works in a directory of another user, or in ``/tmp``, must not get the values of strangers: such a file counts only
when root or the user we are has made it, where nobody else may put files. What is read, and what is not, is told once.
"""

from __future__ import annotations

import os

from reactor.cli.messages import remark, warn
from reactor.trust.rule import DistrustedError, Trust

_told: dict[str, str] = {}
"""What was said last about each file: a run reads them at every reload."""


def implicit_file(name: str, purpose: str, otherwise: str) -> str | None:
    """The path of the file ``name`` of the current directory; None when there is none, or it must be left out.

    ``purpose`` is what it is read for, and ``otherwise`` how to do without it, for people.
    """
    if not os.path.isfile(name):
        return None
    path = os.path.abspath(name)
    try:
        Trust().require_file(path)
    except DistrustedError as error:
        _tell(path, f"{path} is left out of {purpose}: {error} ({error.fix}; {otherwise})", is_warning=True)
        return None
    except OSError:  # reading it tells why
        return path
    _tell(path, f"read {path} for {purpose} ({otherwise})", is_warning=False)
    return path


def _tell(path: str, words: str, *, is_warning: bool) -> None:
    if _told.get(path) != words:
        _told[path] = words
        if is_warning:
            warn(words)
        else:
            remark(words, None)
