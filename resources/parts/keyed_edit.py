"""Changes one key of an INI, systemd, sshd or ``key=value`` file. All lines of the key in its section belong to it."""

from __future__ import annotations

from collections.abc import Sequence

from reactor.resources.parts.document import Document, inserted, removed, replaced
from reactor.resources.parts.keyed import (
    SYNTAXES,
    Entry,
    Section,
    Syntax,
    normal,
    sections,
    split_tail,
    unquoted,
)
from reactor.resources.parts.places import behind_block

_INDENT = "    "


def edit_key(
    document: Document, format_name: str, section: str | None, key: str, values: Sequence[str] | None
) -> Document | None:
    """The document in which ``key`` has exactly these values, one line each; None if it has them already.

    With ``values`` None, the key is removed.
    """
    syntax = SYNTAXES[format_name]
    parts = [part for part in sections(document, syntax) if part.name == normal(section, syntax)]
    folded = syntax.folded(key)
    found = [entry for part in parts for entry in part.entries if entry.key == folded]
    wanted = list(values or ())
    if len(found) == len(wanted) and all(
        entry.has(value, syntax) for entry, value in zip(found, wanted, strict=True)
    ):
        return None
    if not wanted:
        return _without(document, found)
    if not found:
        return (
            _in_section(document, syntax, parts[-1], key, wanted)
            if parts
            else _new_section(document, syntax, section, key, wanted)
        )
    return _with_values(document, syntax, found, key, wanted)


def _with_values(
    document: Document, syntax: Syntax, found: Sequence[Entry], key: str, wanted: Sequence[str]
) -> Document:
    """The document in which the lines ``found`` of a key have the values ``wanted``, with a line more or less for each."""
    kept, rest = found[: len(wanted)], found[len(wanted) :]
    if rest:
        document = _without(document, rest)
    if more := wanted[len(kept) :]:
        new = [_like(kept[-1], key, value, syntax) for value in more]
        document = document.with_lines(inserted(document.lines, kept[-1].stop, _encoded(new)))
    for entry, value in reversed(list(zip(kept, wanted, strict=False))):
        if not entry.has(value, syntax):
            line = _like(entry, key, value, syntax, tail=_tail_behind(value, entry, syntax))
            document = document.with_lines(
                replaced(document.lines, entry.first, entry.stop, _encoded([line]))
            )
    return document


def _tail_behind(value: str, entry: Entry, syntax: Syntax) -> str:
    """The comment of the old value; nothing if a part of the new one would look like a comment, too."""
    return "" if split_tail(value, entry.delimiter, syntax)[1] else entry.tail


def _encoded(texts: Sequence[str]) -> list[bytes]:
    return [text.encode(errors="surrogateescape") for text in texts]


def _without(document: Document, entries: Sequence[Entry]) -> Document:
    numbers = {number for entry in entries for number in range(entry.first, entry.stop)}
    return document.with_lines(removed(document.lines, numbers))


def _like(entry: Entry, key: str, value: str, syntax: Syntax, tail: str = "") -> str:
    """A line as that of ``entry``, with its indent, its delimiter and its quotes."""
    if not entry.delimiter:
        indent = entry.head[: len(entry.head) - len(entry.head.lstrip())]
        return f"{indent}{key}{syntax.delimiter}{_quoted(value, syntax)}"
    quote = entry.value[:1] if unquoted(entry.value) != entry.value else ""
    if quote and (quote in value or "\\" in value):
        quote = ""
    text = f"{quote}{value}{quote}" if quote else _quoted(value, syntax)
    head = entry.head if entry.head.strip() else key + syntax.delimiter
    is_bare = "=" not in entry.delimiter or entry.delimiter[0].isspace()  # nothing was behind it
    if value and is_bare and not head[-1:].isspace():
        head += " "
    return f"{head}{text}{tail}"


def _quoted(value: str, syntax: Syntax) -> str:
    return f'"{value}"' if syntax.needs_quotes(value) else value


def _new_section(
    document: Document, syntax: Syntax, section: str | None, key: str, values: Sequence[str]
) -> Document:
    is_ssh = syntax.name == "sshd"
    lead = [""] if document.contents and document.contents[-1].strip() else []
    delimiter = _usual_delimiter(document, syntax)
    entries = (f"{_INDENT if is_ssh else ''}{key}{delimiter}{_quoted(value, syntax)}" for value in values)
    new = [*lead, str(section) if is_ssh else f"[{section}]", *entries]
    return document.with_lines(inserted(document.lines, len(document.lines), _encoded(new)))


def _in_section(
    document: Document, syntax: Syntax, part: Section, key: str, values: Sequence[str]
) -> Document:
    place, indent, delimiter = _place(document, syntax, part, key)
    place = behind_block(document, place)
    new = [f"{indent}{key}{delimiter}{_quoted(value, syntax)}" for value in values]
    return document.with_lines(inserted(document.lines, place, _encoded(new)))


def _place(document: Document, syntax: Syntax, part: Section, key: str) -> tuple[int, str, str]:
    """Where a new key goes, with its indent and its delimiter: behind its commented default, or at the end."""
    if (found := _commented(document, syntax, part, key)) is not None:
        return found
    if part.entries:
        last = part.entries[-1]
        indent = last.head[: len(last.head) - len(last.head.lstrip())]
        if indent.strip() or not last.delimiter:
            indent = ""
        return last.stop, indent, last.delimiter or _usual_delimiter(document, syntax)
    indent = _INDENT if syntax.name == "sshd" and part.name is not None else ""
    delimiter = _usual_delimiter(document, syntax)
    if part.header is not None:
        return part.first, indent, delimiter
    place = part.stop
    if place < len(document.lines):  # comments right before a header are about it
        while place and (text := document.texts[place - 1].lstrip()) and text[0] in syntax.comments:
            place -= 1
        while place and not document.texts[place - 1].strip():
            place -= 1
    return place, indent, delimiter


def _commented(document: Document, syntax: Syntax, part: Section, key: str) -> tuple[int, str, str] | None:
    """The place behind a line such as ``#Port 22``. ``# Port ...`` may be a sentence, so it needs an equals sign."""
    for number in range(part.stop - 1, part.first - 1, -1):
        text = document.texts[number]
        stripped = text.lstrip()
        if not stripped or stripped[0] not in syntax.comments:
            continue
        bare = stripped.lstrip(syntax.comments)
        found = syntax.split(bare.lstrip())
        if found is None or syntax.folded(found.key) != syntax.folded(key):
            continue
        if bare == bare.lstrip() or "=" in found.delimiter:
            delimiter = found.delimiter
            if not found.value and delimiter == " =":  # no blank at the end of a line
                delimiter = " = "
            return number + 1, text[: len(text) - len(stripped)], delimiter
    return None


def _usual_delimiter(document: Document, syntax: Syntax) -> str:
    """The delimiter of the last entry in the file."""
    every = [entry for part in sections(document, syntax) for entry in part.entries if entry.delimiter]
    return every[-1].delimiter if every else syntax.delimiter
