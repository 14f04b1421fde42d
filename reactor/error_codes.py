"""The catalogue of error codes: the meaning, an example and the fix of each. Read from ``error_codes.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

AREAS = {
    "R01": "Syntax and schema of manifests",
    "R02": "References and the graph",
    "R03": "Expressions and templates",
    "R04": "Trust and safety of inputs",
    "R05": "Resources while they are applied",
    "R06": "State, journal and control",
    "R07": "The command line",
    "R08": "Many hosts",
    "R09": "The network between hosts (NATS)",
    "R10": "Releases and rollouts",
}
"""Prefix of codes -> the subject of these codes."""


class Explanation(NamedTuple):
    """The explanation of one code."""

    code: str
    title: str
    meaning: str
    example: str
    fix: str


@cache
def catalogue() -> dict[str, Explanation]:
    """Return every code with its explanation, in order."""
    found = tomllib.loads((files("reactor") / "error_codes.toml").read_text(encoding="utf-8"))
    return {code: Explanation(code, **texts) for code, texts in sorted(found.items())}
