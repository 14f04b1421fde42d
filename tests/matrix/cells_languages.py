"""Cells of the kinds npm and gem: which packages are there, by the packages that are wanted."""

from __future__ import annotations

import atexit
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path

from cell import Cell, differs

from reactor.resources.process import ENVIRONMENT

sys.path.append(str(Path(__file__).parents[1] / "language_packages"))
from registries import gem_registry, make_npm, npm_registry

STATES = {
    "nothing": "",
    "an empty directory": "mkdir",
    "one 1.0": "mkdir one",
    "another directory": "mkdir mine",
    "a file": "file",
}
VERSIONS = {"npm": ("one@1.0.0", "one@2.0.0"), "gem": ("one:1.0", "one:2.0")}
WANTED = ("one", "the newer", "unwanted", "absent", "no such package")


@cache
def _registry(kind: str) -> str:
    """The URL of a registry that is served until the end; npm is found from then on."""
    root = Path(tempfile.mkdtemp(prefix="matrix-languages-"))
    stack = ExitStack()
    atexit.register(stack.close)
    if kind == "gem":
        return str(stack.enter_context(gem_registry(root)))
    ENVIRONMENT["PATH"] = f"{make_npm(root)}:{ENVIRONMENT['PATH']}"
    return str(stack.enter_context(npm_registry())[0])


def cells() -> Iterator[Cell]:
    """Every state by everything wanted."""
    for kind in VERSIONS:
        for wanted in WANTED:
            for state in STATES:
                yield _cell(kind, state, wanted)


def _cell(kind: str, state: str, wanted: str) -> Cell:
    properties: dict[str, object] = {
        "one": {"packages": ["one"]},
        "the newer": {"packages": [VERSIONS[kind][1]]},
        "unwanted": {"unwanted": ["one"]},
        "absent": {"ensure": "absent"},
        "no such package": {"packages": ["none"]},
    }[wanted]

    def resources(place: Path) -> list[dict[str, object]]:
        return [{kind: [{str(place / "tools"): {"registry": _registry(kind), **properties}}]}]

    fails = state in ("another directory", "a file") or wanted == "no such package"
    make = partial(_make, kind, STATES[state])
    return Cell(kind, f"{state} / {wanted}", resources, partial(_wrong, kind, wanted), make, None, fails)


def _make(kind: str, acts: str, place: Path) -> None:
    tools = place / "tools"
    for act in acts.split():
        match act:
            case "mkdir":
                tools.mkdir()
            case "mine":
                (tools / "mine").write_text("mine")
            case "file":
                tools.write_text("mine")
            case "one" if kind == "npm":
                module = tools / "lib/node_modules/one"
                module.mkdir(parents=True)
                (module / "package.json").write_text(json.dumps({"name": "one", "version": "1.0.0"}))
            case "one":
                (tools / "gems/one-1.0").mkdir(parents=True)
                (tools / "specifications").mkdir()
                (tools / "specifications/one-1.0.gemspec").write_text(
                    "Gem::Specification.new { |s| s.name = 'one'; s.version = '1.0'; s.summary = 'x'; s.authors = ['x'] }\n"
                )


def _wrong(kind: str, wanted: str, place: Path) -> str | None:
    tools = place / "tools"
    if wanted == "absent":
        return differs("that it is there", tools.exists(), False)
    if kind == "npm":
        found = {
            json.loads(path.read_text())["version"]
            for path in tools.glob("lib/node_modules/one/package.json")
        }
    else:
        found = {path.stem.partition("-")[2] for path in tools.glob("specifications/one-*.gemspec")}
    if wanted == "unwanted":
        return differs("the versions", found, set())
    newest = VERSIONS[kind][1][len("one@") :]
    if wanted == "the newer":
        return differs("that it is there", newest in found, True)
    return differs("that it is there", bool(found), True)
