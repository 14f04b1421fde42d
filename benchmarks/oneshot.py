"""Whole processes, start-up included: `reactor run --converge-once`, first and again, against CFEngine 3.

CFEngine (Debian's `cfengine3`, a C program) gets the fastest policy it has for the job: `create`, `perms` and
`content`. Bars: faster at 1,000 files, at most half its time at 10,000. With 10 files what counts is start-up:
at most twice `python -c "import trio, networkx, pydantic, yaml"`, and `reactor validate` at most 1.5 times.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from _harness import (
    HERE,
    REACTOR,
    Row,
    World,
    arguments,
    content_of,
    interleaved,
    medians,
    seconds_of,
    show,
    workspace,
    write_manifest,
)

IMPORTS = [sys.executable, "-c", "import trio, networkx, pydantic, yaml"]
POLICY_HEAD = """
body common control { bundlesequence => { "main" }; }
body perms managed { mode => "0644"; owners => { "root" }; groups => { "root" }; rxdirs => "false"; }
bundle agent main
{
  files:
"""
FirstAndAgain = tuple[float, float]


def write_policy(world: World, path: Path) -> Path:
    """The CFEngine policy for the same files as the manifest."""
    promise = '    "{}" create => "true", perms => managed, content => "{}";'
    promises = (promise.format(world.path(number), content_of(number)) for number in range(world.count))
    path.write_text("\n".join([POLICY_HEAD, *promises, "}"]))
    path.chmod(0o600)  # cf-agent refuses a policy that others could write
    return path


def first_and_again(world: World, command: Sequence[str]) -> FirstAndAgain:
    """Seconds of a run that creates every file, and of the next one, which finds all as desired."""
    world.make_directories()
    first, again = seconds_of(command), seconds_of(command)
    world.check_content()
    return first, again


def commands(world: World, space: Path) -> dict[str, list[str]]:
    """What brings about the same files, by name."""
    manifest = write_manifest(world, space / f"{world.count}.yaml")
    policy = write_policy(world, space / f"{world.count}.cf")
    return {
        "CFEngine": ["cf-agent", "-KI", "-f", str(policy)],
        "reactor": [REACTOR, "run", "--converge-once", str(manifest)],
        "bare loop": [sys.executable, str(HERE / "bare_loop.py"), *world.arguments()],
    }


def against_cfengine(space: Path, files: int, rounds: int, bar: float) -> list[Row]:
    """First and again, of CFEngine and of the bare loop."""
    world = World(space / "w", files // 10, files)
    contenders: dict[str, Callable[[], FirstAndAgain]] = {
        name: partial(first_and_again, world, command) for name, command in commands(world, space).items()
    }
    found = interleaved(rounds, contenders)
    rows = []
    for position, run in enumerate(("first", "again")):
        seconds = {name: median(times[position] for times in results) for name, results in found.items()}
        rows.append(Row(f"{files} files, {run}: CFEngine", seconds["reactor"], "s", bar, seconds["CFEngine"]))
        rows.append(
            Row(f"{files} files, {run}: bare loop", seconds["reactor"], "s", None, seconds["bare loop"])
        )
    return rows


def against_imports(space: Path, rounds: int) -> list[Row]:
    """Ten files, where start-up is nearly all."""
    world = World(space / "ten", 1, 10)
    world.make_directories()
    manifest = str(write_manifest(world, space / "ten.yaml"))
    run = [REACTOR, "run", "--converge-once", manifest]
    validate = [REACTOR, "validate", manifest]
    plans = {"imports": IMPORTS, "again": run, "validate": validate, "help": [REACTOR, "--help"]}
    contenders: dict[str, Callable[[], float]] = {
        name: partial(seconds_of, plan) for name, plan in plans.items()
    }
    contenders["first"] = lambda: first_and_again(world, run)[0]
    times = medians(interleaved(rounds, contenders))
    bars = {"first": 2.0, "again": 2.0, "validate": 1.5, "help": None}
    return [
        Row(f"10 files, {name}: imports", times[name], "s", bar, times["imports"])
        for name, bar in bars.items()
    ]


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__)
    rounds = 2 if options.quick else 5
    if not shutil.which("cf-agent"):
        sys.exit("CFEngine 3 is not installed: apt-get install cfengine3")
    with workspace(options.dir) as space:
        rows = against_imports(space, 3 * rounds)
        rows += against_cfengine(space, 1000, rounds, 1.0)
        if not options.quick:
            rows += against_cfengine(space, 10_000, rounds, 0.5)
    show("one-shot, whole processes", rows, "other")


if __name__ == "__main__":
    main()
