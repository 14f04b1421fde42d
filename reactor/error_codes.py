"""The catalogue of error codes: what each means, an example, and how to fix it. The texts are in ``error_codes.toml``."""

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
}
"""What the codes that begin so are about."""


class Explanation(NamedTuple):
    """What is known of a code."""

    code: str
    title: str
    meaning: str
    example: str
    fix: str


@cache
def catalogue() -> dict[str, Explanation]:
    """Every code with its explanation, in order."""
    found = tomllib.loads((files("reactor") / "error_codes.toml").read_text(encoding="utf-8"))
    return {code: Explanation(code, **texts) for code, texts in sorted(found.items())}
