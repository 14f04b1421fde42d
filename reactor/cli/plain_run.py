"""Recognizes a plain ``run --converge-once`` without click, for answers that need no run of this process.

A one-shot run imports nothing else of the program where an active run answers it, or a proof that nothing has changed: most
of the time of a small run is imports.
"""

from __future__ import annotations

import os
from contextlib import suppress

from reactor.named_tuple import NamedTuple

PLAIN = frozenset(("manifests", "converge_once", "diff", "form", "state_dir", "detailed_exitcodes"))
"""The parameters of ``reactor run`` that a plain command line may set."""


class PlainRun(NamedTuple):
    """A plain command line; its fields are the parameters of ``reactor run``."""

    manifests: tuple[str, ...]
    form: str = "text"
    state_dir: str | None = None
    diff: bool = False
    detailed_exitcodes: bool = False


def plain_run(words: list[str]) -> PlainRun | None:
    """What ``words`` behind ``run`` ask for; None unless they are plain: then click must parse them."""
    found: dict[str, str] = {}
    flags: set[str] = set()
    manifests: list[str] = []
    given = iter(words)
    for word in given:
        name, equals, value = word.partition("=")
        match name:
            case "--converge-once" | "--diff" | "--detailed-exitcodes" if not equals:
                flags.add(name)
            case "--format" | "--state-dir":
                if not (value := value if equals else next(given, "")):
                    return None
                found[name] = value
            case _ if word.startswith("-"):
                return None
            case _:
                manifests.append(word)
    form = found.get("--format", "text")
    if not manifests or "--converge-once" not in flags or form not in ("text", "json"):
        return None
    if [*map(name_for_abspath, manifests)] != manifests:
        return None
    options = "--diff" in flags, "--detailed-exitcodes" in flags
    return PlainRun(tuple(manifests), form, found.get("--state-dir"), *options)


def name_for_abspath(name: str) -> str:
    """The name of a file or URL, for which `os.path.abspath` finds the same file.

    That removes ``..`` as text. Behind a symlink, ``..`` leads elsewhere: then the result is the real path.
    """
    if ".." not in name.split("/") or "://" in name or not os.path.lexists(name):
        return name
    with suppress(OSError):
        if os.path.samefile(name, os.path.abspath(name)):
            return name
    return os.path.realpath(name)
