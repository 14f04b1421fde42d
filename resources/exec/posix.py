"""The provider `posix`: starts the program itself, so nothing in a command is ever expanded."""

from __future__ import annotations

from collections.abc import Sequence

from reactor.resources.process import split_words


class Posix:
    """Understands quotes and escapes, and takes everything else as it stands."""

    def arguments(self, text: str) -> Sequence[str]:
        """The words of the command. Raises ValueError for bad quoting."""
        return split_words(text)

    def words(self, text: str) -> Sequence[str]:
        """The same words: a validated command splits."""
        return split_words(text)
