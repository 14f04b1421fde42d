"""The provider `shell`: hands the whole command to ``/bin/sh``, for pipes, redirections and expansions."""

from __future__ import annotations

from collections.abc import Sequence

from reactor.resources.process import split_words

_SHELL = "/bin/sh"


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
