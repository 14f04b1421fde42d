"""Whole processes, start-up included: `reactor run --converge-once`, first and again, against CFEngine 3.

CFEngine (Debian's `cfengine3`, a C program) gets the fastest policy it has for the job: `create`, `perms` and `content`
for files, `commands` that run unless a file is there, and chains of a file and a command that runs when that was
changed. With 10 files what counts is start-up: at most three times that of CFEngine, at most twice `python -c "import
trio, networkx, pydantic, yaml"`, and `reactor validate` at most 1.5 times. "Again" is the second run, right after the
first: nothing has changed, and reactor proves that without importing the engine. "Again, not proven" is a second run
that must check everything, for example because another run has used the state directory meanwhile. Where a run is
active, it does the work of a one-shot run: at most the time of CFEngine, from the moment another version of the
manifest is in place until the command has ended.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from _harness import (
    REACTOR,
    STATE,
    Row,
    World,
    arguments,
    content_of,
    interleaved,
    medians,
    reactor_running,
    seconds_of,
    show,
    workspace,
    write_manifest,
)

IMPORTS = [sys.executable, "-c", "import trio, networkx, pydantic, yaml"]
DISK = Path("/var/tmp")
POLICY_HEAD = """
body common control { bundlesequence => { "main" }; }
body perms managed { mode => "0644"; owners => { "root" }; groups => { "root" }; rxdirs => "false"; }
body classes repaired(name) { promise_repaired => { "$(name)" }; }
bundle agent main
{
"""
FirstAndAgain = tuple[float, float]


@dataclass(frozen=True)
class Job:
    """One job, as a manifest and as a policy for CFEngine. ``prepare`` makes the world as it is before the first run."""

    manifest: Path
    policy: Path
    prepare: Callable[[], None]
    check: Callable[[], None]

    def commands(self) -> dict[str, list[str]]:
        """What does the job, by name."""
        return {
            "CFEngine": ["cf-agent", "-KI", "-f", str(self.policy)],
            "reactor": [REACTOR, "run", "--converge-once", str(self.manifest)],
        }


def write_policy(path: Path, *sections: Sequence[str]) -> Path:
    """The policy of these sections, each a kind of promise and its promises."""
    lines = [line for kind, *promises in sections for line in (f"  {kind}:", *promises)]
    path.write_text("\n".join([POLICY_HEAD, *lines, "}"]))
    path.chmod(0o600)  # cf-agent refuses a policy that others could write
    return path


def file_promises(world: World, more: str = "") -> list[str]:
    """The files of the world, as promises."""
    promise = '    "{}" create => "true", perms => managed, content => "{}"{};'
    numbers = range(world.count)
    return [promise.format(world.path(n), content_of(n), more.format(n)) for n in numbers]


def files(space: Path, count: int, *, is_on_disk: bool = False) -> Job:
    """``count`` files of 220 bytes in a tenth as many directories."""
    world = World(space / "w", max(1, count // 10), count, is_on_disk)
    return Job(
        write_manifest(world, space / f"{count}.yaml"),
        write_policy(space / f"{count}.cf", ["files", *file_promises(world)]),
        world.make_directories,
        world.check_content,
    )


def execs(space: Path, count: int) -> Job:
    """``count`` commands, each of which makes a file, and runs unless that is there."""
    made = space / "made"
    paths = [made / f"e{number}" for number in range(count)]
    entries = [f"      - touch {path}:\n          creates: {path}" for path in paths]
    manifest = space / "execs.yaml"
    manifest.write_text("\n".join(["resources:", "  - exec:", *entries]) + "\n")
    promise = '    "/usr/bin/touch {0}" if => not(fileexists("{0}"));'
    policy = write_policy(space / "execs.cf", ["commands", *(promise.format(path) for path in paths)])
    return Job(manifest, policy, partial(_empty, made), partial(_must_exist, paths))


def chains(space: Path, count: int) -> Job:
    """``count`` files, each with a command that runs when the file was changed."""
    world, made = World(space / "c", 1, count), space / "ran"
    paths = [made / f"r{number}" for number in range(count)]
    manifest = write_manifest(world, space / "chains.yaml")
    entries = [
        f"      - touch {path}:\n          refreshonly: true\n          subscribe: [file#{world.path(number)}]"
        for number, path in enumerate(paths)
    ]
    with manifest.open("a") as file:
        file.write("\n".join(["  - exec:", *entries]) + "\n")
    promises = [f'    c{number}::\n    "/usr/bin/touch {path}";' for number, path in enumerate(paths)]
    policy = write_policy(
        space / "chains.cf",
        ["files", *file_promises(world, ', classes => repaired("c{}")')],
        ["commands", *promises],
    )

    def prepare() -> None:
        world.make_directories()
        _empty(made)

    return Job(manifest, policy, prepare, partial(_must_exist, paths))


def _empty(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()


def _must_exist(paths: Sequence[Path]) -> None:
    for path in paths:
        assert path.exists(), path


def first_and_again(job: Job, command: Sequence[str], *, may_prove: bool = True) -> FirstAndAgain:
    """Seconds of a run that does the job, and of the next one, which finds all as desired."""
    job.prepare()
    first = seconds_of(command)
    if not may_prove:
        Path(STATE.name, "proof.json").unlink()
    again = seconds_of(command)
    job.check()
    return first, again


def against_cfengine(
    what: str, job: Job, rounds: int, bars: tuple[float, float], *, also_not_proven: bool = False
) -> list[Row]:
    """First and again, each with its bar; ``also_not_proven`` adds a row for a second run that looks at everything."""
    commands = job.commands()
    contenders: dict[str, Callable[[], FirstAndAgain]] = {
        name: partial(first_and_again, job, command) for name, command in commands.items()
    }
    if also_not_proven:
        contenders["not proven"] = partial(first_and_again, job, commands["reactor"], may_prove=False)
    found = interleaved(rounds, contenders)
    rows = rows_of(what, found, bars)
    if also_not_proven:
        ours, floor = (median(again for _, again in found[name]) for name in ("not proven", "CFEngine"))
        rows.append(Row(f"{what}, again, not proven: CFEngine", ours, "s", None, floor))
    return rows


def rows_of(what: str, found: dict[str, list[FirstAndAgain]], bars: tuple[float, float]) -> list[Row]:
    """First and again, each with its bar."""
    rows = []
    for position, (run, bar) in enumerate(zip(("first", "again"), bars, strict=True)):
        seconds = {name: median(times[position] for times in results) for name, results in found.items()}
        rows.append(Row(f"{what}, {run}: CFEngine", seconds["reactor"], "s", bar, seconds["CFEngine"]))
    return rows


def by_active_run(job: Job, before: Path) -> FirstAndAgain:
    """The same, where a run of the manifest is active. ``before`` is the version that it has applied before."""
    wanted, command = job.manifest.read_text(), job.commands()["reactor"]
    _replace(job.manifest, before.read_text())
    seconds_of(command)
    job.prepare()  # the files are gone
    seconds_of(command)
    _replace(job.manifest, wanted)
    first, again = seconds_of(command), seconds_of(command)
    job.check()
    return first, again


def _replace(path: Path, text: str) -> None:
    new = path.with_name("new")
    new.write_text(text)
    new.replace(path)


def where_a_run_is_active(space: Path, rounds: int) -> list[Row]:
    """Ten files, first and again, where a run of the manifest is active."""
    for name in ("cfengine", "active"):
        (space / name).mkdir()
    theirs, ours = files(space / "cfengine", 10), files(space / "active", 10)
    before = space / "before.yaml"
    before.write_text(ours.manifest.read_text().replace("ensure: present", "ensure: absent"))
    ours.prepare()
    with reactor_running(ours.manifest):
        contenders: dict[str, Callable[[], FirstAndAgain]] = {
            "CFEngine": partial(first_and_again, theirs, theirs.commands()["CFEngine"]),
            "reactor": partial(by_active_run, ours, before),
        }
        return rows_of("10 files where a run is active", interleaved(rounds, contenders), (1.0, 1.0))


def against_imports(space: Path, rounds: int) -> list[Row]:
    """Ten files, where start-up is nearly all."""
    job = files(space, 10)
    job.prepare()
    run = job.commands()["reactor"]
    validate = [REACTOR, "validate", str(job.manifest)]
    plans = {"imports": IMPORTS, "again": run, "validate": validate, "help": [REACTOR, "--help"]}
    contenders: dict[str, Callable[[], float]] = {
        name: partial(seconds_of, plan) for name, plan in plans.items()
    }
    contenders["first"] = lambda: first_and_again(job, run)[0]
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
    with workspace(options.dir) as space, workspace(DISK) as disk:
        rows = against_imports(space, 3 * rounds)
        rows += against_cfengine("10 files", files(space, 10), 3 * rounds, (3.0, 3.0), also_not_proven=True)
        with workspace(options.dir) as apart:
            rows += where_a_run_is_active(apart, 3 * rounds)
        rows += against_cfengine("1000 files", files(space, 1000), rounds, (0.8, 0.8), also_not_proven=True)
        rows += against_cfengine(
            "1000 files on a disk", files(disk, 1000, is_on_disk=True), rounds, (0.9, 0.8)
        )
        rows += against_cfengine("100 execs", execs(space, 100), rounds, (1.2, 3.0))
        rows += against_cfengine("100 chains", chains(space, 100), rounds, (2.0, 2.0))
        if not options.quick:
            rows += against_cfengine("10000 files", files(space, 10_000), rounds, (0.28, 0.25))
    show("one-shot, whole processes", rows, "other")


if __name__ == "__main__":
    main()
