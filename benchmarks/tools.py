"""Other people's tools on files that reactor keeps: none may fail because of us, and our content always comes back.

`install`, `cp --remove-destination`, `cp -a`, `sed -i`, `mv`, vim and `patch`, 500 runs each, on random managed
files under a running `reactor run`. After each, the file must be as desired again within 3 s.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from _harness import (
    PROBER_CORE,
    Row,
    World,
    arguments,
    content_of,
    pinned,
    progress,
    reactor_running,
    show,
    workspace,
    write_manifest,
)

DIRS, FILES = 10, 100
PATIENCE_SECONDS = 3.0
SETTLE_SECONDS = 0.02
FOREIGN = "# edited by hand\n"
PATCH = f"@@ -1,1 +1,1 @@\n-{{old}}+{FOREIGN}"

Tool = Callable[[str, str, Path], list[str]]
TOOLS: dict[str, Tool] = {
    "install": lambda new, path, _: ["install", "-m", "0600", new, path],
    "cp --remove-destination": lambda new, path, _: ["cp", "--remove-destination", new, path],
    "cp -a": lambda new, path, _: ["cp", "-a", new, path],
    "sed -i": lambda _, path, __: ["sed", "-i", "s/managed/edited/", path],
    "mv": lambda new, path, _: ["mv", new, path],
    "vim": lambda _, path, __: [
        "vim",
        "-es",
        "-N",
        "-u",
        "NONE",
        "-i",
        "NONE",
        "-c",
        "%s/managed/edited/",
        "-c",
        "wq",
        path,
    ],
    "patch": lambda _, path, scratch: ["patch", "-s", path, str(scratch / "patch")],
}


@dataclass
class Tally:
    """What became of one tool's runs."""

    runs: int = 0
    failed: int = 0
    lost: int = 0
    repairs: int = 0
    error: str = ""


def is_right(path: Path, number: int) -> bool:
    """Whether content and mode are as desired."""
    try:
        return path.read_text() == content_of(number) and path.stat().st_mode & 0o7777 == 0o644
    except FileNotFoundError:
        return False


def came_back(path: Path, number: int) -> bool:
    """Wait until the file is right, and still is a little later, so that the next run starts from rest."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if is_right(path, number):
            time.sleep(SETTLE_SECONDS)
            if is_right(path, number):
                return True
        time.sleep(0.0005)
    return False


def use(tool: Tool, path: Path, number: int, scratch: Path) -> subprocess.CompletedProcess[str]:
    """Run one tool once on one file."""
    new = scratch / "new"
    new.write_text(FOREIGN)
    (scratch / "patch").write_text(
        f"--- a\n+++ b\n{PATCH.format(old=content_of(number).splitlines(keepends=True)[0])}"
    )
    command = pinned(PROBER_CORE, tool(str(new), str(path), scratch))
    return subprocess.run(command, capture_output=True, text=True, check=False)


def try_tool(tool: Tool, world: World, runs: int, scratch: Path) -> Tally:
    """Run one tool on random files."""
    tally = Tally()
    rng = random.Random(1)
    for _ in range(runs):
        number = rng.randrange(world.count)
        path = Path(world.path(number))
        done = use(tool, path, number, scratch)
        tally.runs += 1
        if done.returncode:
            tally.failed += 1
            tally.error = tally.error or (done.stderr + done.stdout).strip()[:100]
        tally.lost += not came_back(path, number)
    return tally


def repairs_so_far(output: Path) -> int:
    """How many changes reactor has made."""
    events = map(json.loads, output.read_text().splitlines())
    return sum(event["event"] == "checked" and event["result"] == "changed" for event in events)


def rows(tallies: dict[str, Tally]) -> Sequence[Row]:
    """One line of failures and one of losses a tool."""
    found = []
    for name, tally in tallies.items():
        found.append(Row(f"{name}: failed of {tally.runs}", tally.failed, "", 0))
        found.append(Row(f"{name}: not restored", tally.lost, "", 0))
        found.append(Row(f"{name}: repairs a run", tally.repairs / tally.runs, ""))
    return found


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__)
    missing = [tool for tool in ("install", "cp", "sed", "mv", "vim", "patch") if not shutil.which(tool)]
    if missing:
        sys.exit(f"not installed: {', '.join(missing)}")
    runs = 50 if options.quick else 500
    tallies = {}
    with workspace(options.dir) as space:
        world = World(space / "w", DIRS, FILES)
        world.make_directories()
        with reactor_running(write_manifest(world, space / "manifest.yaml")) as running:
            for name, tool in TOOLS.items():
                progress(name)
                before = repairs_so_far(running.output)
                tallies[name] = try_tool(tool, world, runs, space)
                tallies[name].repairs = repairs_so_far(running.output) - before
        world.check_content()
    progress("")
    show(f"tools on managed files, {options.dir}", rows(tallies))
    for name, tally in tallies.items():
        if tally.error:
            print(f"{name} said: {tally.error}")


if __name__ == "__main__":
    main()
