"""What a provider of exec does: it makes the arguments to start from the text of a command."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Final, Protocol

from reactor.resources.process import pieces, split_words

_SHELL = "/bin/sh"
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


class Provider(Protocol):
    """One way to understand the text of a command."""

    def arguments(self, text: str) -> Sequence[str]:
        """The program and its arguments; empty when there is no command. Raises ValueError for bad quoting."""

    def words(self, text: str) -> Sequence[str]:
        """The words that can be told without running anything, the program first. Never raises."""


class Posix:
    """Understands quotes and escapes, and takes everything else as it stands."""

    def arguments(self, text: str) -> Sequence[str]:
        """The words of the command. Raises ValueError for bad quoting."""
        return split_words(text)

    def words(self, text: str) -> Sequence[str]:
        """The same words: a validated command splits."""
        return split_words(text)


class Shell:
    """Leaves all understanding of the command to the shell."""

    def arguments(self, text: str) -> Sequence[str]:
        """The shell and the command as its one script."""
        return (_SHELL, "-c", text) if text.strip() else ()

    def words(self, text: str) -> Sequence[str]:
        """The first word only: what the others mean, only the shell knows."""
        try:
            return split_words(text)[:1]
        except ValueError:
            return ()


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
