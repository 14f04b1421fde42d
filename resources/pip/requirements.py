"""Compares the installed packages with requirements as PEP 508 has them, such as ``httpie>=3.2``."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion
from pydantic import AfterValidator

from reactor import ResourceError, register_url_secrets

_MOST = 2000
"""The most packages of a file: each is compared in the event loop, and another user may have written them."""
_OPTIONS = re.compile(r"\s--?[a-z].*$|(?:^|\s)#.*$")


class Listed(NamedTuple):
    """A file of requirements: its SHA-256, and its lines; ``is_opaque`` if some lines are options, URLs or paths."""

    digest: str
    lines: tuple[str, ...]
    is_opaque: bool


def _check(text: str) -> str:
    register_url_secrets(text.rpartition("@ ")[2])
    if text.startswith("-") or not text.isprintable():
        raise ValueError(f"{text!r} is not a package: write httpie, httpie==3.2.4 or httpie>=3,<4")
    try:
        Requirement(text)
    except InvalidRequirement as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"{text!r} is not a package: {reason}; write httpie, httpie==3.2.4 or httpie>=3,<4"
        ) from None
    return text


PackageSpec = Annotated[str, AfterValidator(_check)]
"""A package with an optional version, as pip takes it."""


def name_of(spec: str) -> str:
    """The canonical name of the package in a requirement."""
    return str(canonicalize_name(Requirement(spec).name))


def read_requirements(text: str) -> Listed:
    """Read the content of a file of requirements, see pip's page on their format. Raises ResourceError if it is too long."""
    joined = re.sub(r"\\\r?\n", " ", text)
    lines: list[str] = []
    is_opaque = False
    for line in joined.splitlines():
        spec = _OPTIONS.sub("", line).strip()
        if spec.startswith("-"):
            is_opaque = True
            continue
        if not spec:
            continue
        if len(lines) == _MOST:
            raise ResourceError(f"it requires more than {_MOST} packages", "divide it")
        try:
            Requirement(spec)
            lines.append(spec)
        except (InvalidRequirement, RecursionError):  # as for very many brackets
            is_opaque = True
    return Listed(hashlib.sha256(text.encode()).hexdigest(), tuple(lines), is_opaque)


def missing(specs: Iterable[str], installed: Mapping[str, tuple[str, ...]], python: str | None) -> list[str]:
    """The ``specs`` that the installed versions do not meet. ``python`` is as in ``python3.11``."""
    return [spec for spec in specs if not _is_met(Requirement(spec), installed, python)]


def _is_met(wanted: Requirement, installed: Mapping[str, tuple[str, ...]], python: str | None) -> bool:
    if wanted.marker is not None and python is not None:
        version = python.removeprefix("python")
        if not wanted.marker.evaluate({"python_version": version, "python_full_version": f"{version}.0"}):
            return True
    versions = installed.get(str(canonicalize_name(wanted.name)), ())
    try:
        return bool(versions) and all(wanted.specifier.contains(each, prereleases=True) for each in versions)
    except InvalidVersion:
        return False
