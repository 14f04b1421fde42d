"""Reads presets: whether the distribution or the administrator enables a unit; systemd.preset(5)."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator
from contextlib import suppress

from reactor.watchers.dbus import Scope
from reactor.watchers.units import template_of

_VERDICTS = {"enable": True, "disable": False, "ignore": None}


def preset_directories(scope: Scope) -> tuple[str, ...]:
    """The directories of preset files, in order of precedence; not all need exist."""
    kind = "system" if scope is Scope.SYSTEM else "user"
    places = ("/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib")
    return tuple(f"{place}/systemd/{kind}-preset" for place in places)


def preset_of(unit: str, scope: Scope) -> bool | None:
    """Whether the presets enable ``unit``, as they do without a rule; None if a rule ignores it."""
    for verdict, pattern, instances in _rules(scope):
        if _matches(unit, pattern, instances):
            return verdict
    return True


def _matches(unit: str, pattern: str, instances: list[str]) -> bool:
    if not instances:
        return fnmatch.fnmatchcase(unit, pattern)
    instance = unit.rpartition(".")[0].partition("@")[2]
    return template_of(unit) == pattern and instance in instances


def _rules(scope: Scope) -> Iterator[tuple[bool | None, str, list[str]]]:
    """The rules of all files, in the order of the file names.

    Of files with the same name, the first directory wins.
    """
    files: dict[str, str] = {}
    for directory in preset_directories(scope):
        with suppress(OSError):
            for name in os.listdir(directory):
                if name.endswith(".preset"):
                    files.setdefault(name, f"{directory}/{name}")
    for _, path in sorted(files.items()):
        yield from _rules_in(path)


def _rules_in(path: str) -> Iterator[tuple[bool | None, str, list[str]]]:
    text = ""
    with suppress(OSError), open(path, encoding="utf-8", errors="replace") as opened:
        text = opened.read()
    for words in map(str.split, text.splitlines()):
        if len(words) > 1 and words[0] in _VERDICTS:
            yield _VERDICTS[words[0]], words[1], words[2:]
