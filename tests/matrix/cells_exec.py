"""Cells of the kind exec: each guard with each command, and each later change of what the command made."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from cell import Cell, differs

KIND = "exec"
GUARDS: dict[str, tuple[dict[str, object], bool | None]] = {
    "none": ({}, True),
    "onlyif yes": ({"onlyif": "true"}, True),
    "onlyif no": ({"onlyif": "false"}, False),
    "unless yes": ({"unless": "true"}, False),
    "unless no": ({"unless": "false"}, True),
    "both run": ({"onlyif": "true", "unless": "false"}, True),
    "both do not": ({"onlyif": "false", "unless": "false"}, False),
    "creates, missing": ({"creates": "{place}/mark"}, True),
    "creates, there": ({"creates": "{place}/there"}, False),
    "refreshonly": ({"refreshonly": True}, False),
    "a guard that is not there": ({"onlyif": "/nowhere/guard"}, None),
    "a guard that hangs": ({"onlyif": "sleep 60", "timeout": "0.1s"}, None),
    "a guard that is no program": ({"unless": "/etc/passwd"}, None),
}
"""The guards, each with whether the command runs; None where that is unknown."""
COMMANDS: dict[str, tuple[dict[str, object], bool, str]] = {
    "does it": ({"command": "touch {place}/mark"}, True, ""),
    "in a shell": ({"command": "echo x > {place}/mark", "provider": "shell"}, True, ""),
    "in a directory": ({"command": "touch mark", "cwd": "{place}"}, True, ""),
    "with variables": ({"command": 'touch "$MARK"', "provider": "shell", "environment": ["MARK={place}/mark"]}, True, ""),
    "by a path": ({"command": "touch {place}/mark", "path": "/usr/bin:/bin"}, True, ""),
    "an accepted code": ({"command": "touch {place}/mark; exit 3", "provider": "shell", "returns": [0, 3]}, True, ""),
    "another code": ({"command": "touch {place}/mark; exit 3", "provider": "shell"}, False, "only running it tells its code"),
    "hangs": ({"command": "sleep 60", "timeout": "0.2s"}, False, "only running it tells how long it takes"),
    "no such program": ({"command": "/nowhere/program"}, False, ""),
    "no such name": ({"command": "no-such-program-at-all"}, False, ""),
    "no such name in its path": ({"command": "touch {place}/mark", "path": "/nowhere"}, False, ""),
    "not executable": ({"command": "/etc/passwd"}, False, ""),
    "a directory": ({"command": "/etc"}, False, ""),
    "no such directory": ({"command": "touch {place}/mark", "cwd": "/nowhere"}, False, ""),
    "a file for a directory": ({"command": "touch {place}/mark", "cwd": "/etc/passwd"}, False, ""),
    "a script without an interpreter": ({"command": "{place}/script"}, False, ""),
}  # fmt: skip
"""The commands, each with whether it succeeds, and why a rehearsal can't know that it fails."""


def cells() -> Iterator[Cell]:
    """Every guard with every command, and programs that another resource brings."""
    for guard, (asking, runs) in GUARDS.items():
        for command, (doing, ends_well, reason) in COMMANDS.items():
            if "timeout" in asking and "timeout" in doing:
                continue
            # The guard has the same timeout, and starts late on a busy machine: it is short only where it must expire.
            more = {"timeout": "60s"} if "timeout" in doing and runs is False else {}
            properties = {**doing, **asking, **more}
            yield _cell(guard, command, properties, runs=runs, ends_well=ends_well, reason=reason)
    yield from _brought()


def _cell(guard, command, properties, *, runs: bool | None, ends_well: bool, reason: str) -> Cell:
    if "provider" in properties and guard in IN_A_SHELL:  # which runs, and says 127 or 126
        runs = IN_A_SHELL[guard]
    # The path that the command should make is there.
    made_anyway = guard == "creates, missing" and command == "another code"
    # The guards run in that directory, too.
    blind_guard = "cwd" in properties and command != "in a directory" and guard in ASKING
    fails = runs is None or (runs and not ends_well and not made_anyway) or blind_guard
    fails |= guard in ASKING and command == "no such name in its path"
    marked = bool(runs) and (ends_well or made_anyway) and not fails
    resources = partial(_resources, properties)
    once = guard == "none" or guard in ASKING  # each new run does it again
    return Cell(
        KIND, f"{guard} / {command}", resources, partial(_wrong, marked), _state, None, fails, reason if runs else "",
        always=once and bool(runs),
    )  # fmt: skip


IN_A_SHELL = {"a guard that is not there": False, "a guard that is no program": True}
ASKING = {
    "a guard that is no program",
    "onlyif yes",
    "onlyif no",
    "unless yes",
    "unless no",
    "both run",
    "both do not",
}


def _brought() -> Iterator[Cell]:
    """Commands whose program, directory or interpreter is a file of the same manifest."""
    own = {"owner": "root", "group": "root"}
    script: Mapping[str, object] = {
        "ensure": "present",
        "content": "#!/bin/sh\ntouch $1\n",
        "mode": "0755",
        **own,
    }
    folder: Mapping[str, object] = {"ensure": "directory", "mode": "0755", **own}
    manifests: dict[str, Callable[[Path], list[dict[str, object]]]] = {
        "its program": lambda place: [
            {"file": [{f"{place}/tool": script}]},
            {"exec": [{"go": {"command": f"{place}/tool {place}/mark", "creates": f"{place}/mark"}}]},
        ],
        "its directory": lambda place: [
            {"file": [{f"{place}/way": folder}]},
            {"exec": [{"go": {"command": f"touch {place}/mark", "cwd": f"{place}/way", "creates": f"{place}/mark"}}]},
        ],
        "its guard": lambda place: [
            {"file": [{f"{place}/tool": script}]},
            {"exec": [{"go": {
                "command": f"touch {place}/mark", "onlyif": f"{place}/tool {place}/seen", "creates": f"{place}/mark",
            }}]},
        ],
        "its path": lambda place: [
            {"file": [{f"{place}/way": folder}, {f"{place}/way/tool": script}]},
            {"exec": [{"go": {
                "command": f"tool {place}/mark", "path": f"{place}/way:/bin", "creates": f"{place}/mark",
                "require": [f"file#{place}/way/tool"],
            }}]},
        ],
        "what another command makes": lambda place: [
            {"exec": [
                {"first": {"command": f"touch {place}/seed", "creates": f"{place}/seed"}},
                {"second": {
                    "command": f"cp {place}/seed {place}/mark", "creates": f"{place}/mark", "require": ["exec#first"],
                }},
            ]},
        ],
        "a program that another command makes": lambda place: [
            {"exec": [
                {"first": {"command": f"cp /bin/touch {place}/tool", "creates": f"{place}/tool"}},
                {"second": {
                    "command": f"{place}/tool {place}/mark", "creates": f"{place}/mark", "require": ["exec#first"],
                }},
            ]},
        ],
        "a refresh": lambda place: [
            {"file": [{f"{place}/conf": {**script, "mode": "0644"}}]},
            {"exec": [{"go": {
                "command": f"touch {place}/mark", "refreshonly": True, "subscribe": [f"file#{place}/conf"],
            }}]},
        ],
    }  # fmt: skip
    for name, resources in manifests.items():
        yield Cell(KIND, f"brought: {name}", resources, partial(_wrong, True), _state)


def _resources(properties: dict[str, object], place: Path) -> list[dict[str, object]]:
    def filled(value: object) -> object:
        if isinstance(value, list):
            return [filled(each) for each in value]
        return value.replace("{place}", str(place)) if isinstance(value, str) else value

    return [{"exec": [{"go": {key: filled(value) for key, value in properties.items()}}]}]


def _state(place: Path) -> None:
    (place / "there").touch()
    (place / "script").write_text("#!/nowhere/interpreter\n")
    (place / "script").chmod(0o755)


def _wrong(marked: bool, place: Path) -> str | None:
    return differs("that the command has run", os.path.exists(place / "mark"), marked)
