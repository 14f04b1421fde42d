"""Rewords the errors of the YAML parser in plain words, with hints."""

from __future__ import annotations

import re
from typing import Any

import yaml
from yaml.reader import Reader, ReaderError
from yaml.tokens import ScalarToken, ValueToken

from reactor.manifest.parser_workarounds import without_yaml11_breaks
from reactor.manifest.source import Problems

_LONGEST_KEY = 1024
"""The most characters of a key without '?', in YAML 1.1 and 1.2. Such a key must also be on one line."""

_SHORTER = (
    f"it must be on one line and have at most {_LONGEST_KEY:,} characters; "
    "a longer one is written '? KEY', and on the next line ': VALUE'"
)
_SCANNER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INDENTATION = "check the indentation: keys of one map start in the same column, with spaces"
BRACES = "a string that starts with '{{' must be quoted"
_REFERENCE = re.compile(r"\b(?P<kind>[A-Z]\w+)(?P<bracket>\[)['\"]?(?P<name>[^\]\n'\"]+)['\"]?\]")
_QUOTE = "quote it if it is a string"
_ADVICE = {
    "mapping values are not allowed": (
        "a map can't start here",
        "check the indentation, end the line above with ':' if it is a key, and quote a string that contains ': '",
    ),
    "did not find expected key": ("a key is expected here", _INDENTATION),
    "expected <block end>": ("a key is expected here", _INDENTATION),
    "did not find expected '-'": (
        "a list item is expected here",
        "check the indentation: the items of one list start in the same column, each with '- '",
    ),
    "did not find expected ',' or ']'": ("the list is not closed", "a ',' or ']' is missing"),
    "did not find expected ',' or '}'": (
        "the map is not closed",
        "a ',' or '}' is missing, or a string that contains one of ,{}[] or ': ' is not quoted",
    ),
    "expected ',' or '": ("the list or map is not closed", "a ',', ']' or '}' is missing"),
    "did not find expected node content": ("a value is expected here", "a ',', ']' or '}' may be missing"),
    "could not find expected ':'": (
        "a key without a ':'",
        "write 'key: value', and indent the further lines of a string",
    ),
    "found unexpected end of stream": ("the quoted string is not closed", "the closing quote is missing"),
    "found unknown escape character": (
        "unknown escape in a double-quoted string",
        "write \\\\ for a backslash, or use single quotes",
    ),
    "decimal number": (  # part of a word: libyaml writes "hexdecimal"
        "an escape in a double-quoted string that lacks digits",
        "\\x takes 2 hexadecimal digits, \\u takes 4 and \\U takes 8; write \\\\ for a backslash, or use single quotes",
    ),
    "found invalid Unicode character escape code": (
        "an escape in a double-quoted string that is no character",
        "write the character itself, or \\U and 8 hexadecimal digits; in JSON a pair such as \\ud83d\\ude00 will do, not half of one",
    ),
    "that violates indentation": ("a tab in the indentation", "YAML is indented with spaces only"),
    "found undefined tag handle": ("an undefined tag", "a string that starts with '!' must be quoted"),
    "found incompatible YAML": ("this YAML version is not supported", "remove the %YAML line"),
    "expected alphabetic or numeric": ("an anchor or alias without a name", _QUOTE),
}


def report_syntax(error: yaml.YAMLError, problems: Problems) -> None:
    """Add the parser's error to ``problems``, at its place."""
    text = problems.source.text
    if isinstance(error, ReaderError):
        _report_unprintable(text, problems)
        return
    mark, context = _offset(error, "problem_mark"), _offset(error, "context_mark")
    end = len(text.rstrip())
    at = min(mark or 0, end)
    if text[at : at + 1] == ":" and (key_at := _impossible_key(error, text, at)) is not None:
        length = at - key_at
        what = f"of {length:,} characters" if length > _LONGEST_KEY else "over several lines"
        problems.add("R0103", f"bad YAML: a key {what}", key_at, _SHORTER)
        return
    if _follows_braces(problems, at):
        return
    message, hint = _explain(str(getattr(error, "problem", None) or error), text[at : at + 1])
    notes = []
    if context is not None and at == end:
        at = context  # show where the unclosed thing begins
    elif context is not None and "\n" in text[context:at]:
        notes = [(f"{getattr(error, 'context', 'parsing')}, begun here", context)]
    from reactor.manifest.foreign_documents import hint_for_code  # noqa: PLC0415 - only for an error

    hint = hint_for_code(problems.source.file, text) or _reference_meant(text, at) or hint
    problems.add("R0103", f"bad YAML: {message}", at, hint, notes)


def _follows_braces(problems: Problems, at: int) -> bool:
    """Whether the line of ``at`` has a value that begins with braces without quotes, which is reported."""
    line = problems.source.lines.place(at).line
    return any(
        each.message == BRACES and each.place and each.place.line == line for each in problems.sorted()
    )


def _reference_meant(text: str, at: int) -> str | None:
    """Return how a reference of Puppet is written here, such as ``Service[nginx]`` with its bracket at ``at``."""
    found = _REFERENCE.search(text, text.rfind("\n", 0, at) + 1)
    if found is None or found.start("bracket") != at:
        return None
    return f"a reference is written kind#name: {found['kind'].lower()}#{found['name']}"


def _impossible_key(error: yaml.YAMLError, text: str, colon: int) -> int | None:
    """Return the offset of the text before ``colon`` that is too long, or on too many lines, for a key; else None."""
    if "could not find expected ':'" in str(getattr(error, "problem", "")):
        begun = _offset(error, "context_mark")
        is_key = begun is not None and (colon - begun > _LONGEST_KEY or text[begun] in "'\"")
        return begun if is_key else None
    before, last = _tokens_before(text, colon)
    if not isinstance(last, ScalarToken) or isinstance(before, ValueToken):
        return None
    start = int(last.start_mark.index)
    is_within_flow = "expected ','" in str(getattr(error, "problem", ""))
    is_broken = is_within_flow and "\n" in text[start:colon]
    return start if colon - start > _LONGEST_KEY or is_broken else None


def _tokens_before(text: str, end: int) -> tuple[Any, Any]:
    """Return the last two tokens before an offset."""
    scanner, before, last = _SCANNER(without_yaml11_breaks(text)), None, None
    try:
        while scanner.check_token() and scanner.peek_token().start_mark.index < end:
            before, last = last, scanner.get_token()
    except yaml.YAMLError:
        pass  # the error is already reported
    finally:
        scanner.dispose()
    return before, last


def _offset(error: yaml.YAMLError, mark: str) -> int | None:
    found = getattr(error, mark, None)
    return None if found is None else int(found.index)


def _explain(problem: str, character: str) -> tuple[str, str | None]:
    if "cannot start any token" in problem:
        if character == "\t":
            return _ADVICE["that violates indentation"]
        return f"a string can't start with {character!r} unless it is quoted", "put quotes around it"
    for phrase, advice in _ADVICE.items():
        if phrase in problem:
            return advice
    return problem, None


def _report_unprintable(text: str, problems: Problems) -> None:
    found = Reader.NON_PRINTABLE.search(text)
    at = found.start() if found else 0
    hint = 'write it as an escape, within "..."'
    if "\0" in text:
        hint = "this looks like a binary file"
    problems.add("R0102", f"the character U+{ord(text[at]):04X} is not allowed in YAML", at, hint)
