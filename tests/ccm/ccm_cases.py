"""The case files: what goes in, and what CCM was seen to make of it.

``REACTOR_CCM_CASES`` may name further files of the same format, separated by colons.
"""

import os
from pathlib import Path

import pytest
import yaml

from reactor.resource.registry import find_kind

HERE = Path(__file__).parent
FILES = [
    HERE / "cases-core.yaml",
    HERE / "cases-more.yaml",
    *map(Path, filter(None, os.environ.get("REACTOR_CCM_CASES", "").split(":"))),
]

WAITING: dict[str, str] = {}
"""Kinds that are not there yet, and what waits for them. A test fails as soon as one of them is there."""

SECTIONS = {
    "meta", "templates", "hiera", "version_apt", "version_generic_dnf", "manifest_validation", "apply_runs",
}  # fmt: skip

DOCUMENTS = {path: yaml.load(path.read_text(), yaml.CSafeLoader) for path in FILES}


def templates():
    """The cases of templates, each with the environment of its file."""
    found = []
    for path, document in DOCUMENTS.items():
        section = document.get("templates") or {"cases": ()}
        for number, case in enumerate(section["cases"], 1):
            name = f"{path.stem}-{number}-{case['mode']}-{case['template'][:40]}"
            found.append(pytest.param({"env": section.get("env", {}), **case}, id=name))
    return found


def named(section):
    """The cases of a section whose cases have names."""
    return [
        pytest.param(case, id=f"{path.stem}-{case['name']}")
        for path, document in DOCUMENTS.items()
        for case in document.get(section, ())
    ]


def versions(section):
    """The cases of a section that compares versions."""
    return [
        pytest.param(case, id=f"{path.stem}-{case['a']}-{case['b']}")
        for path, document in DOCUMENTS.items()
        for case in document.get(section, ())
    ]


def awaited(case):
    """The kinds that the case uses and that are not there yet."""
    texts = [case["manifest"], *case.get("files", {}).values()]
    return {kind for kind in WAITING if not is_there(kind) and any(_uses(text, kind) for text in texts)}


def is_there(kind):
    """Whether the kind is installed, and is more than a name."""
    try:
        find_kind(kind)
    except (KeyError, ImportError):
        return False
    return True


def _uses(text, kind):
    return f"- {kind}:" in text or f"{{{kind}:" in text
