"""The providers of exec: each turns the string of a command into the arguments to start.

`Posix` starts the program itself, and expands nothing. `Shell` hands the whole string to ``/bin/sh``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Final, Protocol

from reactor.resources.process import pieces, split_words

_SHELL = "/bin/sh"
_SHELLS: Final = {"sh", "ash", "bash", "dash", "ksh", "zsh", "su", "runuser", "ssh"}
"""Programs that pass an argument to a shell."""
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
    """One way to interpret the string of a command."""

    def arguments(self, text: str) -> Sequence[str]:
        """The program and its arguments; empty when there is no command. Raises ValueError for bad quoting."""

    def words(self, text: str) -> Sequence[str]:
        """The words that are known without running the command, the program first. Never raises."""


class Posix:
    """Interprets quotes and escapes, and nothing else."""

    def arguments(self, text: str) -> Sequence[str]:
        """The words of the command. Raises ValueError for bad quoting."""
        return split_words(text)

    def words(self, text: str) -> Sequence[str]:
        """The words of the command. A validated command has correct quoting."""
        return split_words(text)


class Shell:
    """Leaves the interpretation of the command to the shell."""

    def arguments(self, text: str) -> Sequence[str]:
        """The shell, with the command as its script."""
        return (_SHELL, "-c", text) if text.strip() else ()

    def words(self, text: str) -> Sequence[str]:
        """The first word only: the shell interprets the others."""
        try:
            return split_words(text)[:1]
        except ValueError:
            return ()


def names(command: str, path: str) -> bool:
    """Whether ``command`` holds ``path``, or a path below it, as a whole word or within a script."""
    return re.search(rf"(?<![\w./-]){re.escape(path)}(?![\w.-])", command) is not None


def shell_syntax(text: str) -> str | None:
    """The first part of ``text`` that a shell would interpret, outside of quotes and escapes; None if there is none.

    Raises ValueError for bad quoting.
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
