"""Property types of exec: variables, the search path, accepted exit codes."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from reactor import AbsolutePath, matching_text

_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _check_variable(text: str) -> str:
    key, separator, value = text.partition("=")
    if not separator:
        raise ValueError(f"the variable {text!r} has no '=': write it as KEY=value")
    if not key:
        raise ValueError(f"the variable {text!r} has an empty key: write it as KEY=value")
    if not _KEY.fullmatch(key):
        raise ValueError(
            f"{key!r} is not a valid name of a variable: use letters, digits and _, not a digit first"
        )
    if not value:
        raise ValueError(f"the variable {text!r} has an empty value: leave it out, or give it one")
    if "\0" in value:
        raise ValueError(f"the value of the variable {key!r} must not hold a NUL character")
    return text


def _check_search_path(text: str) -> str:
    for directory in text.split(":"):
        if not directory:
            raise ValueError(
                "the search path has an empty directory: write /usr/bin:/bin, with single colons"
            )
        if not directory.startswith("/"):
            raise ValueError(f"{directory!r} in the search path is not an absolute path")
        if "\0" in directory:
            raise ValueError("the search path must not hold a NUL character")
    return text


def _zero_if_none(codes: tuple[int, ...]) -> tuple[int, ...]:
    return codes or (0,)


def _without_slash_at_the_end(path: Any) -> Any:
    """Accept a final slash, which makes no difference here."""
    return (path.rstrip("/") or "/") if isinstance(path, str) and path else path


Location = Annotated[AbsolutePath, BeforeValidator(_without_slash_at_the_end)]
"""An absolute path, which may end in a slash."""

Umask = Annotated[
    str, matching_text(r"[0-7]{1,3}|0[0-7]{3}", "is not a umask: write it in octal, as 0022 or 0077")
]
"""A file mode creation mask in octal, such as ``0027``."""

Variable = Annotated[str, AfterValidator(_check_variable)]
"""One variable of the environment, written ``KEY=value``."""

SearchPath = Annotated[str, AfterValidator(_check_search_path)]
"""Absolute directories, separated by colons."""

ExitCode = Annotated[int, Field(ge=0, le=255)]
"""An exit code of a process."""

ExitCodes = Annotated[tuple[ExitCode, ...], AfterValidator(_zero_if_none)]
"""The exit codes that mean success; an empty list is the usual 0."""
