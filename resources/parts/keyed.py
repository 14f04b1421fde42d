"""Reads the lines of INI, systemd, sshd and ``key=value`` files as keys with values."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice, takewhile
from typing import NamedTuple

from reactor.resources.parts.document import Document

_QUOTES = "\"'"
_BLANKS = " \t"


class Syntax(NamedTuple):
    """How the lines of a format are read. All patterns take linear time, whatever is in the file."""

    name: str
    delimiters: re.Pattern[str]
    """What is between a key and its value, apart from the blanks around it."""
    comments: str
    lead: re.Pattern[str] = re.compile(r"[ \t]*")
    """What may be before a key."""
    key: re.Pattern[str] = re.compile(r"[^=\[].*")
    header: re.Pattern[str] | None = None
    inline: re.Pattern[str] | None = None
    """Where a comment begins behind a value."""
    delimiter: str = "="
    """That of a new line, unless the lines beside it have another."""
    ignores_case: bool = False
    first_wins: bool = False
    """Whether the first value of a key counts, and not the last one."""
    quoted: re.Pattern[str] | None = None
    """Values that need quotes around them."""
    continues: str = ""
    """How a value goes on in the next line: ``backslash`` at the end, or ``indent`` of the next."""

    def folded(self, key: str) -> str:
        """The key in the form in which keys are compared."""
        return key.lower() if self.ignores_case else key

    def needs_quotes(self, value: str) -> bool:
        """Whether the value is read as something else without quotes around it."""
        return self.quoted is not None and self.quoted.fullmatch(value) is not None

    def split(self, text: str) -> Split | None:
        """The parts of a line that has a key and a value; None if it has not."""
        lead = self.lead.match(text)
        start = 0 if lead is None else lead.end()
        found = self.delimiters.search(text, start)
        if found is None:
            return None
        key = text[start : found.start()].rstrip(_BLANKS)
        if not key or self.key.fullmatch(key) is None or key[0] in self.comments:
            return None
        value = text[found.end() :].lstrip(_BLANKS)
        stop = len(text) - len(value)
        return Split(text[:start], key, text[start + len(key) : stop], value)


class Split(NamedTuple):
    """The parts of a line. ``delimiter`` has the blanks around it."""

    indent: str
    key: str
    delimiter: str
    value: str


_BRACKETS = re.compile(r"[ \t]*\[(?P<name>[^]]*)\][ \t]*(?:[#;].*)?")
_SSH_WORD = re.compile(r"\"[^\"]*\"|[^ \t=\"]+")
_WITHOUT_VALUE = frozenset(("all", "canonical", "final", "invalid-user"))
"""Criteria of ``Match`` that stand alone."""
_HASH = re.compile(r"(?<![ \t])[ \t]+#")
SYNTAXES = {
    "ini": Syntax(
        "ini",
        re.compile(r"=|:(?=[ \t]|$)"),
        "#;",
        header=_BRACKETS,
        inline=re.compile(r"(?<![ \t])[ \t]+[#;]"),
        delimiter=" = ",
        continues="indent",
    ),
    "systemd": Syntax("systemd", re.compile("="), "#;", header=_BRACKETS, continues="backslash"),
    "sshd": Syntax(
        "sshd",
        re.compile(r"[ \t]*=|[ \t]+"),
        "#",
        key=re.compile(r"[A-Za-z][A-Za-z0-9]*"),
        header=re.compile(r"[ \t]*(?P<name>(?:match|host)[ \t=].*)", re.IGNORECASE),
        inline=_HASH,
        delimiter=" ",
        ignores_case=True,
        first_wins=True,
    ),
    "keyvalue": Syntax(
        "keyvalue",
        re.compile(r"[ \t]*=|[ \t]*:[ \t]|[ \t]+"),
        "#",
        lead=re.compile(r"[ \t]*(?:export[ \t]+|-)?"),
        key=re.compile(r"[^ \t=:#-][^ \t=:]*"),
        continues="backslash",
    ),
}
_SHELL_TEXT = re.compile(r"(?!\(.*\)$)[^\"'\\]*[ \t;&|<>()][^\"'\\]*")
"""Text that a shell would split or run without quotes. An array, and text with quotes of its own, is left as it is."""
SYNTAXES["shell"] = SYNTAXES["keyvalue"]._replace(quoted=_SHELL_TEXT)


class Entry(NamedTuple):
    """A key with a value, in the lines from ``first`` up to ``stop``. ``tail`` is a comment behind the value."""

    key: str
    value: str
    head: str
    delimiter: str
    tail: str
    first: int
    stop: int

    def has(self, wanted: str, syntax: Syntax) -> bool:
        """Whether the value is ``wanted``, with or without quotes around it, unless it needs them."""
        if not self.delimiter:
            return False
        if syntax.needs_quotes(wanted):
            return unquoted(self.value) == wanted != self.value
        return wanted in (self.value, unquoted(self.value), (self.value + self.tail).strip())


class Section(NamedTuple):
    """The lines from ``first`` up to ``stop``, and their entries. ``header`` is the index of its line, or None."""

    name: str | None
    header: int | None
    first: int
    stop: int
    entries: list[Entry]


def unquoted(value: str) -> str:
    """The value without the quotes around it, if it has any."""
    if len(value) > 1 and value[0] in _QUOTES and value[0] == value[-1]:
        return value[1:-1]
    return value


def normal(section: str | None, syntax: Syntax) -> str | None:
    """The name of a section in the form in which names are compared."""
    if section is None or not syntax.ignores_case:
        return section
    word, *rest = _ssh_words(section) or [""]
    if word.lower() == "match":
        rest = _folded_criteria(rest)
    return " ".join((word.lower(), *rest))


def _ssh_words(line: str) -> list[str]:
    """The words of a line of ssh without quotes and up to its comment. An equals sign separates them as a blank does."""
    words = takewhile(lambda word: not word.startswith("#"), _SSH_WORD.findall(line))
    return [unquoted(word) for word in words]


def _folded_criteria(words: Iterable[str]) -> list[str]:
    """The criteria of a ``Match`` in lower case, each with its value as it is."""
    left, found = iter(words), list[str]()
    for word in left:
        found.append(word.lower())
        if found[-1] not in _WITHOUT_VALUE:
            found += islice(left, 1)
    return found


def sections(document: Document, syntax: Syntax) -> list[Section]:
    """The sections of the document; the first one has what is before any header. Made once for each document."""
    found: list[Section] | None = document.parsed.get(syntax.name)
    if found is None:
        found = document.parsed[syntax.name] = _parse(document.texts, syntax)
    return found


def _parse(texts: list[str], syntax: Syntax) -> list[Section]:
    starts: list[tuple[str | None, int | None, int]] = [(None, None, 0)]
    entries: list[list[Entry]] = [[]]
    number = 0
    while number < len(texts):
        text = texts[number]
        stripped = text.lstrip()
        stop = number + 1
        if stripped and stripped[0] not in syntax.comments:
            header = syntax.header.fullmatch(text) if syntax.header is not None else None
            if header is not None:
                starts.append((_name(header["name"], syntax), number, number + 1))
                entries.append([])
            elif (entry := _entry(texts, number, syntax)) is not None:
                entries[-1].append(entry)
                stop = entry.stop
        number = stop
    stops = [header for _, header, _ in starts[1:] if header is not None] + [len(texts)]
    return [
        Section(name, header, first, stop, held)
        for (name, header, first), stop, held in zip(starts, stops, entries, strict=True)
    ]


def _name(name: str, syntax: Syntax) -> str | None:
    return normal(name, syntax) if syntax.ignores_case else name.strip()


def _entry(texts: list[str], number: int, syntax: Syntax) -> Entry | None:
    found = syntax.split(texts[number])
    if found is None:
        bare = texts[number].strip()
        return Entry(syntax.folded(bare), "", texts[number].rstrip(), "", "", number, number + 1)
    value, tail = split_tail(found.value, found.delimiter, syntax)
    stop, more = _continuation(texts, number, found.value, found.indent, syntax)
    if more is not None:
        value, tail = more, ""
    head = found.indent + found.key + found.delimiter
    return Entry(syntax.folded(found.key), value, head, found.delimiter, tail, number, stop)


def _continuation(
    texts: list[str], number: int, value: str, indent: str, syntax: Syntax
) -> tuple[int, str | None]:
    """The index after the last line of the value, and the whole value if it has several lines."""
    stop, parts = number + 1, [value.strip()]
    if syntax.continues == "backslash":
        while parts[-1].endswith("\\") and stop < len(texts):
            text = texts[stop].strip()
            stop += 1
            if text[:1] and text[0] in syntax.comments and syntax.name == "systemd":
                continue  # as systemd does: a comment between the lines of a value
            parts[-1] = parts[-1][:-1].strip()
            parts.append(text)
    elif syntax.continues == "indent":
        while stop < len(texts) and _goes_on(texts[stop], indent, syntax, is_open=not value.strip()):
            parts.append(texts[stop].strip())
            stop += 1
    return stop, None if stop == number + 1 else " ".join(" ".join(parts).split())


def _goes_on(text: str, indent: str, syntax: Syntax, *, is_open: bool) -> bool:
    """Whether the line belongs to the value before it: it is indented more, and can't be an entry of its own."""
    stripped = text.lstrip()
    if not stripped or stripped[0] in syntax.comments or len(text) - len(stripped) <= len(indent):
        return False
    return is_open or syntax.split(text) is None


def split_tail(value: str, delimiter: str, syntax: Syntax) -> tuple[str, str]:
    """The value, and the comment or the blanks behind it."""
    start = 0
    if value[:1] and value[0] in _QUOTES and (end := value.find(value[0], 1)) != -1:
        start = end + 1
    inline = syntax.inline
    if syntax.name == "keyvalue" and (delimiter == "=" or start):
        inline = _HASH
    comment = inline.search(value, start) if inline is not None else None
    end = comment.start() if comment is not None else len(value)
    kept = value[:end].rstrip()
    return kept, value[len(kept) :]
