"""Finds in the text of a command what only a shell understands: without one, it is passed on as it stands."""

from __future__ import annotations

import os
import re
from typing import Final

from reactor.resources.process import pieces, split_words

_SHELLS: Final = {"sh", "ash", "bash", "dash", "ksh", "zsh", "su", "runuser", "ssh"}
"""Programs that hand an argument to a shell."""

_OPERATOR = re.compile(
    r"""
      ^ \d* (?: >> | > | << | < ) (?: & \d | & - | (?! [=>] ) )   # a redirection begins a word
    | ^ &>
    | \|\| | \| | && | ^ & $
    | ; $
    | \*
    """,
    re.VERBOSE,
)
_EXPANSION = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][^}]*\}|\()|`")


def shell_syntax(text: str) -> str | None:
    """The first piece of ``text`` that a shell would not take literally; None where there is none.

    What is quoted or escaped is meant as it stands. Raises ValueError for bad quoting.
    """
    if _SHELLS.intersection(map(os.path.basename, split_words(text))):
        return None
    for piece in pieces(text):
        kind = piece.lastgroup
        found = _OPERATOR.search(piece["plain"]) if kind == "plain" else None
        if found is None and kind in ("plain", "double"):
            found = _EXPANSION.search(piece[kind])
        if found is not None:
            return found[0]
    return None
