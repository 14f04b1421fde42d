"""Where text goes, and its colours and widths."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TextIO

from reactor.resource.escaping import escaped

_CODES = {
    "ok": "32",
    "changed": "33",
    "would change": "36",
    "failed": "1;31",
    "blocked": "35",
    "skipped": "2",
    "waiting": "33",
    "...": "2",
    "warning": "33",
    "dim": "2",
    "bold": "1",
    "added": "32",
    "removed": "31",
    "hunk": "36",
}


STATE_COLUMN = 12
"""The width of the state column on a terminal: the longest state is "would change"."""


def wants_colour(stream: TextIO) -> bool:
    """Whether to colour the output to ``stream``; see `is_coloured`."""
    return is_coloured(os.environ, is_terminal=stream.isatty())


def is_coloured(environ: Mapping[str, str], *, is_terminal: bool) -> bool:
    """Whether to colour an output: on a terminal, unless NO_COLOR is set or the terminal is dumb.

    CLICOLOR_FORCE colours a pipe, too. Both variables count if they are not empty, as no-color.org asks.
    """
    if environ.get("NO_COLOR"):
        return False
    if environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    return is_terminal and environ.get("TERM") != "dumb"


WARNING_PREFIX = "<4>"
"""The priority of a warning, as a prefix of a line on a stream that goes to the journal."""


def leads_to_journal(descriptor: int) -> bool:
    """Whether systemd has connected this descriptor to its journal. $JOURNAL_STREAM alone may be inherited."""
    try:
        found = os.fstat(descriptor)
    except OSError:
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"


class Style:
    """Wraps text in colour codes, or returns it unchanged where colours are off."""

    def __init__(self, coloured: bool) -> None:
        self.coloured = coloured

    def __call__(self, name: str, text: str) -> str:
        """``text`` in the style ``name``: the word of a result, or a role such as ``dim``."""
        return f"\x1b[{_CODES[name]}m{text}\x1b[0m" if self.coloured else text

    def diff(self, diff: str) -> str:
        """A unified diff, its added and removed lines and hunk headers coloured."""
        return "".join(f"{self._diff_line(line)}\n" for line in diff.removesuffix("\n").split("\n"))

    def _diff_line(self, line: str) -> str:
        shown = escaped(line)
        if line.startswith(("+++", "---")):
            return self("bold", shown)
        roles = {"+": "added", "-": "removed", "@": "hunk"}
        return self(roles[line[0]], shown) if line[:1] in roles else shown


def in_words(state: str) -> str:
    """The word for a result or a state, which is also the name of its style: ``would change`` for ``would_change``."""
    return state.replace("_", " ")


def result_line(results: Iterable[tuple[str, int]], how_it_went: str, style: Style) -> str:
    """How many resources have which result, and how the run went, on one line for a pipe."""
    counts = "  ".join(f"{style(word, word)} {count}" for word, count in results)
    return f"{counts}  ({how_it_went})"
