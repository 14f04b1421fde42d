"""The source text of a manifest, and the line and column of each character."""

from __future__ import annotations

import errno
import os
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice
from pathlib import Path
from types import MappingProxyType
from typing import cast

from reactor.errors import MORE_FILES, Place
from reactor.named_tuple import NamedTuple
from reactor.resource.diagnostic import Diagnostic
from reactor.suggestions import did_you_mean
from reactor.trust.inputs import open_input
from reactor.trust.rule import DistrustedError

COMMAND_LINE = "command line"
"""The file name in the places of errors in options. It has no directory, so relative paths start at the current directory."""
MAX_BYTES = 64 * 1024 * 1024
_PIECE = 16 * 1024
"""Characters whose lines are found by one call of Python's C code."""
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class LineMap(NamedTuple):
    """The character offsets of the lines of a text. Finds places, also after the text was freed."""

    file: str
    starts: array[int]

    @classmethod
    def of(cls, file: str, text: str) -> LineMap:
        """Return the map of ``text``, whose lines end with a line feed."""
        starts = array("I", [0])
        for first in range(0, len(text), _PIECE):  # all at once would keep repairs waiting for milliseconds
            lengths = map(len, text[first : first + _PIECE].split("\n")[:-1])
            starts.extend(
                islice(accumulate(lengths, lambda start, length: start + length + 1, initial=first), 1, None)
            )
        return cls(file, starts)

    def place(self, at: int) -> Place:
        """Return the line and column of the character at the offset ``at``."""
        line = bisect_right(self.starts, at)
        return Place(self.file, line, at - self.starts[line - 1] + 1)


@dataclass(frozen=True)
class Source:
    """The text of a manifest, with its file name as the user wrote it. Positions are character offsets.

    A source that ``is_secret`` was made from secrets. Then values that contain one of these are secret too.
    """

    file: str
    text: str
    is_secret: bool = False

    @cached_property
    def lines(self) -> LineMap:
        """The offsets of its lines."""
        return LineMap.of(self.file, self.text)


class Problems:
    """Collects the errors in one manifest. Reports the same error in the same place once.

    Every problem gets the notes ``around``, about what includes this manifest.
    """

    def __init__(self, source: Source, around: tuple[tuple[str, Place], ...] = ()) -> None:
        self.source = source
        self._around = around
        self._found: dict[Diagnostic, Diagnostic] = {}
        self._iteration: tuple[tuple[str, Place], ...] = ()

    def __bool__(self) -> bool:
        return bool(self._found)

    @property
    def count(self) -> int:
        """How many problems there are."""
        return len(self._found)

    def add(
        self,
        code: str,
        message: str,
        at: int,
        hint: str | None = None,
        notes: Iterable[tuple[str, int | Place]] = (),
    ) -> None:
        """Add a problem with the error ``code`` at the offset ``at``.

        ``notes`` are related offsets, or places in other files.
        """
        place = self.source.lines.place
        placed = tuple((note, place(spot) if isinstance(spot, int) else spot) for note, spot in notes)
        found = whole = Diagnostic(code, message, place(at), hint, placed)
        if around := (*self._iteration, *self._around):
            whole = found._replace(notes=(*placed, *around))
        self._found.setdefault(found, whole)

    def inside(self, what: str, at: int) -> tuple[tuple[str, Place], ...]:
        """Return the notes for the problems of what is included at the offset ``at``."""
        return ((what, self.source.lines.place(at)), *self._iteration, *self._around)

    @contextmanager
    def in_iteration(self, key: str, at: int) -> Iterator[None]:
        """Add a note to the problems found in the block: they are in the iteration of a loop with this ``key``.

        ``at`` is the offset of the loop. An error that several iterations have is reported for the first.
        """
        self._iteration = ((f"in the iteration with the key {key}", self.source.lines.place(at)),)
        try:
            yield
        finally:
            self._iteration = ()

    def sorted(self) -> list[Diagnostic]:
        """Return all problems, sorted by place."""
        return sorted(self._found.values(), key=lambda found: cast("Place", found.place))


def read_source(
    path: str | os.PathLike[str],
    what: str = "the manifest",
    unsaved: Mapping[str, str] = MappingProxyType({}),
) -> Source | Diagnostic:
    """Read the manifest at ``path``, or return why it can't be read. ``what`` names the file in messages.

    ``unsaved`` has the texts that an editor shows instead of files, by absolute path. Refuses a file that untrusted
    users could change, see `reactor.trust.inputs`.
    """
    file = os.fsdecode(path)
    if unsaved and (text := unsaved.get(os.path.abspath(file))) is not None:
        return Source(file, with_line_feeds(text))
    try:
        with open(file, "rb", opener=open_input) as stream:
            content = stream.read(MAX_BYTES + 1)
    except DistrustedError as error:  # no place, because the excerpt would show the text of the file
        return Diagnostic("R0401", f"{what} {file} can't be trusted: {error}", None, error.hint)
    except (OSError, ValueError) as error:
        return _unreadable(file, what, error)
    if len(content) > MAX_BYTES:
        hint = "check that it is the right file; a file this large must be split"
        return Diagnostic("R0113", f"{what} is larger than {MAX_BYTES // 2**20} MiB", Place(file, 1, 1), hint)
    try:
        return Source(file, with_line_feeds(content.decode("utf-8-sig")))
    except UnicodeDecodeError as error:
        return _not_text(file, what, content, error)


def base_of(file: str) -> str:
    """Return the directory at which the relative paths in the manifest ``file`` start.

    If it is a link, that is the directory to which it leads now. When the link is switched to another directory, as at
    each release, the files beside the new manifest are not those of this one.
    """
    directory = os.path.dirname(os.path.abspath(file))
    return os.path.realpath(directory) if os.path.islink(directory) else directory


def with_line_feeds(text: str) -> str:
    """Return ``text`` with each line end as a line feed. As in YAML, a carriage return alone is a line end too."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _unreadable(file: str, what: str, error: OSError | ValueError) -> Diagnostic:
    path = Path(file)
    hint = None
    if isinstance(error, FileNotFoundError):
        hint = "the standard input is /dev/stdin" if file == "-" else _sibling_hint(path)
    elif isinstance(error, IsADirectoryError):
        inside = path / "manifest.yaml"
        hint = f"name a file, such as {inside}" if inside.is_file() else "name the file in it"
    elif isinstance(error, PermissionError):
        hint = "check the permissions of the file and of the directories above it"
    elif isinstance(error, OSError) and error.errno == errno.EMFILE:
        hint = MORE_FILES
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return Diagnostic("R0101", f"can't read {what}: {reason}", Place(file, 1, 1), hint)


def _sibling_hint(path: Path) -> str | None:
    try:
        if path.is_symlink():
            return f"it is a link to {os.readlink(path)}, which is not there"
        return did_you_mean(path.name, os.listdir(path.parent))
    except OSError:
        return f"there is no directory {path.parent}"


def _not_text(file: str, what: str, content: bytes, error: UnicodeDecodeError) -> Diagnostic:
    before = content[: error.start]
    line_start = before.rfind(b"\n") + 1
    place = Place(file, before.count(b"\n") + 1, len(before[line_start:].decode(errors="replace")) + 1)
    message = f"{what} is not UTF-8 text: byte 0x{content[error.start]:02x} at offset {error.start}"
    if content.startswith(_UTF16_MARKS):
        return Diagnostic("R0102", message, place, "the file looks like UTF-16: save it as UTF-8")
    hint = "this looks like a binary file" if b"\0" in content else "save the file as UTF-8"
    return Diagnostic("R0102", message, place, hint)
