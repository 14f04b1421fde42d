"""Names of units: which are taken, and the full name of each."""

from __future__ import annotations

import re

from reactor.watchers.units import UNIT_TYPES

_LONGEST = 255
_WORD = re.compile(r"(?:[A-Za-z0-9._+:~@-]|\\x[0-9a-f]{2})+")
_DANGEROUS = re.compile(r"[;&|$`<>(){}\[\]*?!#'\"\\\n]")

ALLOWED = "use letters, digits and . _ + : ~ - @, as in nginx, nginx.socket or app@1"


def fault_of(name: str) -> str | None:
    """What is wrong with the name of a unit, if anything. Those that a shell would read more into are never taken."""
    if not _WORD.fullmatch(name):
        what = "dangerous" if _DANGEROUS.search(name) else "invalid"
        return f"service name contains {what} characters: {name!r}"
    if len(full_name(name)) > _LONGEST:
        return f"service name is longer than {_LONGEST} characters"
    stem = full_name(name).rpartition(".")[0]
    prefix, at, instance = stem.partition("@")
    if not stem or (at and not prefix):
        return f"service name has nothing before its {'@' if at else 'type'}: {name!r}"
    if at and not instance:
        return f"service name is that of a template: {name!r}"
    return None


def full_name(name: str) -> str:
    """The name with its type; without one it is a service."""
    return name if name.rpartition(".")[2] in UNIT_TYPES and "." in name else f"{name}.service"
