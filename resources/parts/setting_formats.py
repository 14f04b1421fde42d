"""The formats that a setting may be written in: the format of a path, and the values that each format has."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

Format = Literal["ini", "systemd", "sshd", "keyvalue", "json", "toml", "yaml"]

TYPED = frozenset(("json", "toml", "yaml"))
"""The formats whose values have types, and whose keys may be in each other."""

_KNOWN: tuple[tuple[str, Format], ...] = (
    (r"/(sshd_config|ssh_config)(\.d/.*)?", "sshd"),
    (r"/etc/systemd/.*\.conf", "systemd"),
    (r".*\.(service|socket|timer|mount|automount|swap|path|slice|scope|target|network|netdev|link|nspawn)", "systemd"),
    (r".*/[^/]+\.(service|socket|timer|mount|path|slice|network|netdev|link)\.d/[^/]+\.conf", "systemd"),
    (r".*\.json", "json"),
    (r".*\.toml", "toml"),
    (r".*\.ya?ml", "yaml"),
    (r".*(\.(ini|cfg|desktop|repo|cnf)|/\.?gitconfig|/\.?my\.cnf|/\.npmrc|/\.?pip\.conf)", "ini"),
    (r"/etc/fail2ban/.*\.(conf|local)", "ini"),
    (r".*/postgresql\.conf|/etc/postgresql/.*/conf\.d/.*\.conf", "ini"),
    (r"/etc/sysctl(\.d/.*)?\.conf", "keyvalue"),
    (r"/etc/(default|sysconfig)/.*", "keyvalue"),
    (r".*/(login\.defs|environment|os-release|nsswitch\.conf|adduser\.conf|useradd)", "keyvalue"),
    (r".*(/|\.)env", "keyvalue"),
    (r".*\.properties", "keyvalue"),
)  # fmt: skip

_OF_GIT = re.compile(r".*/(\.?gitconfig|\.git/config)")
_SPECIAL_IN_GIT = frozenset('#;"\\')
"""A comment begins anywhere in a value, quotes vanish, and a backslash begins an escape."""
_IN_QUOTES = re.compile(r'"(\\.|[^"\\])*"')


def format_of(path: str) -> Format | None:
    """The format that files with this path usually have; None if it is not known."""
    return next((name for pattern, name in _KNOWN if re.fullmatch(f".*{pattern}", path)), None)


def is_for_shell(path: str) -> bool:
    """Whether scripts read the file as a part of their own, so that several words need quotes."""
    return re.fullmatch(r"/etc/(default|sysconfig)/.*", path) is not None


_YES_OR_NO: Final = frozenset(("sshd", "systemd"))


def text_of(value: Any, name: str) -> str:
    """The value as the text of a line."""
    if isinstance(value, bool):
        words = ("yes", "no") if name in _YES_OR_NO else ("true", "false")
        return words[0] if value else words[1]
    return str(value)


def text_problem(text: str, name: str, path: str) -> str | None:
    """Why the text can't be the value of a line of the file; None if it can."""
    if any(character in text for character in "\n\r\0"):
        return "a value is one line"
    if (problem := _unwritable(text)) is not None:
        return problem
    if text != text.strip():
        return "blanks around a value are not kept"
    if name in ("systemd", "keyvalue") and text.endswith("\\"):
        return "a backslash at the end goes on in the next line"
    if not text and name == "sshd":
        return "a value of ssh is not empty"
    return _git_problem(text) if _OF_GIT.fullmatch(path) else None


def _git_problem(text: str) -> str | None:
    if _SPECIAL_IN_GIT.isdisjoint(text) or _IN_QUOTES.fullmatch(text):
        return None
    return "without quotes, git reads it as something else"


def typed_problem(value: Any, name: str) -> str | None:
    """Why the value can't be written in JSON, TOML or YAML; None if it can."""
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            return "the keys of a mapping are strings"
        return _first_problem((*value, *value.values()), name)
    if isinstance(value, (list, tuple)):
        return _first_problem(value, name)
    if value is None and name == "toml":
        return "TOML has no null"
    if isinstance(value, float) and not (math.isfinite(value) or (name != "json" and math.isinf(value))):
        return "it is not a number that the format has"
    return _unwritable(value) if isinstance(value, str) else None


def _first_problem(values: Iterable[Any], name: str) -> str | None:
    return next(filter(None, (typed_problem(value, name) for value in values)), None)


def _unwritable(text: str) -> str | None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return "it can't be written as UTF-8"
    return None
