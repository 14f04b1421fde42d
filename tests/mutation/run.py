"""Break the core on purpose, a line at a time, and see which of it the tests notice.

`python tests/mutation/run.py [--sample 100] [--part NAME] [--seed N] [--jobs N]`. All is done in clones of the last
commit, in `build/mutation/COMMIT`. Once for a commit and these parts, it is recorded which tests execute which lines.
Each mutant, made by cosmic-ray (`requirements-mutation.lock`), is then tried with the tests that executed the line, in
one process, until one fails. What came of it is written at once: a run that was interrupted goes on when it is started
again with its seed.

A mutant is killed when a test fails that passes without it, or when the tests take much longer than recorded. Ends with 1
when one survives that `explained.toml` does not explain.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from choosing import choose
from recording import Recording, record
from trying import Bench
from workshop import HERE, PROJECT, clone, run, tool

PARTS = {
    "engine": (
        "reactor/engine",
        (
            "tests/engine",
            "tests/health",
            "tests/simulation",
            "tests/file/test_file_dry_run.py",
            "tests/file/test_file_two_names.py",
            "tests/language",
            "tests/control/test_pause_controller.py",
            "tests/console/test_events_page.py",
            "tests/scaffold/test_scaffold_undone.py",
            "tests/cli/test_observers.py",
            "tests/cli/test_run_follows_itself.py",
            "tests/cli/test_run_reload.py",
            "tests/cli/test_run_reverse.py",
            "tests/mounts/test_run_beside_a_dead_mount.py",
        ),
    ),
    "journal": (
        "reactor/journal",
        (
            "tests/journal",
            "tests/engine/test_detect_only.py",
            "tests/engine/test_reload.py",
            "tests/engine/test_ten_thousand_events.py",
            "tests/language/test_deferred_values.py",
            "tests/control/test_pause_file.py",
            "tests/control/test_waiting.py",
            "tests/fleet/test_event_sender.py",
            "tests/cli/test_kept_diffs.py",
            "tests/cli/test_run_reverse.py",
            "tests/cli/test_state_of_others.py",
            "tests/cli/test_state_of_runs.py",
            "tests/cli/test_state_on_sick_disks.py",
        ),
    ),
    "manifest": (
        "reactor/manifest",
        (
            "tests/manifest",
            "tests/language",
            "tests/ccm",
            "tests/cli",
            "tests/data",
            "tests/expression",
            "tests/facts",
            "tests/file/test_file_templates.py",
            "tests/fleet/test_imports.py",
            "tests/fleet/test_shared_values.py",
            "tests/health/test_goss_included.py",
            "tests/lsp",
            "tests/notify",
            "tests/roles",
            "tests/scaffold/test_scaffold_manifest.py",
            "tests/secrets",
            "tests/source",
            "tests/templates/test_jet_templates.py",
            "tests/templates/test_missing_values.py",
            "tests/templates/test_template_engines.py",
        ),
    ),
    "watchers": (
        "watchers",
        (
            "tests/watchers",
            "tests/network",
            "tests/systemd/test_dbus.py",
            "tests/systemd/test_unit_watcher.py",
            "tests/systemd/test_forged_signals.py",
            "tests/systemd/test_mount_units.py",
            "tests/systemd/test_service_drift.py",
            "tests/systemd/test_service_refresh.py",
            "tests/systemd/test_service_shown.py",
            "tests/service/test_unit_files.py",
            "tests/service/test_dbus_wire.py",
            "tests/service/test_presets.py",
            "tests/hostkinds/test_readiness.py",
            "tests/hostkinds/test_firewall.py",
            "tests/hostkinds/test_filesystem.py",
            "tests/hostkinds/test_mount.py",
            "tests/hostkinds/test_sysctl.py",
            "tests/mounts/test_mount_changes.py",
            "tests/container/test_container.py",
            "tests/certificate/test_certificate.py",
            "tests/exec/test_exec_resource.py",
            "tests/file/test_file_two_names.py",
            "tests/floods/test_loop_turns.py",
            "tests/health/test_health_repairs.py",
            "tests/tidy",
        ),
    ),
    "file": ("resources/file", ("tests/file", "tests/attacks")),
}
"""What is mutated, and the tests that are recorded for it. Those of `tests/crash` take minutes each, and are left out."""


def main() -> int:
    """Try the sample, telling each survivor as it is found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sample", type=int, default=100, help="how many mutants; 0 for all")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this one; may be repeated")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6)
    parser.add_argument(
        "--jobs", type=int, default=2, help="mutants side by side, each in a clone of its own"
    )
    parser.add_argument("--directory", type=Path, default=PROJECT / "build/mutation")
    parser.add_argument("--commit", default="HEAD")
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    commit = run("git", "rev-parse", "--short=9", asked.commit, cwd=PROJECT).strip()
    place = (asked.directory / commit).resolve()
    python = tool(asked.directory.absolute())
    clones = [clone(place, number, commit) for number in range(asked.jobs)]
    parts = sorted(set(asked.part or PARTS))
    recording = recorded(place, clones[0], parts, asked.jobs)
    folders = [PARTS[name][0] for name in parts]
    mutants = drawn(python, clones[0], folders, asked.sample, asked.seed)
    print(f"{len(mutants)} mutants", flush=True)
    return tell(try_all(mutants, clones, recording, place / "results.jsonl"))


def recorded(place: Path, first: Path, parts: list[str], jobs: int) -> Recording:
    """What the tests of these parts execute, found out once."""
    target = place / ("recording.json" if len(parts) == len(PARTS) else f"recording-{'-'.join(parts)}.json")
    if not target.exists():
        tests = sorted({test for part in parts for test in PARTS[part][1]})
        record(first, [PARTS[part][0] for part in parts], tests, jobs, target)
    recording = Recording.read(target)
    print(f"{len(recording.seconds)} tests, {sum(recording.seconds.values()):.0f} s", flush=True)
    return recording


def drawn(python: Path, first: Path, folders: list[str], size: int, seed: int) -> list[dict]:
    """The sample, drawn once."""
    target = first.parent / f"sample-{'-'.join([*folders, str(size), str(seed)]).replace('/', '.')}.jsonl"
    if not target.exists():
        found = run(python, HERE / "mutants.py", "--sample", size, "--seed", seed, *folders, cwd=first)
        target.write_text(found)
    return [json.loads(line) for line in target.read_text().splitlines()]


def try_all(mutants: list[dict], clones: list[Path], recording: Recording, target: Path) -> list[dict]:
    """The results of the mutants, those of an earlier run among them."""
    lines = target.read_text().splitlines() if target.exists() else []
    known = {result["key"]: result for result in map(json.loads, lines)}
    modules = {*recording.lines, *(mutant["module"] for mutant in mutants)}
    texts = {module: (clones[0] / module).read_text() for module in modules}
    benches: SimpleQueue[Bench] = SimpleQueue()
    for each in clones:
        benches.put(Bench(each))

    def attempt(mutant: dict) -> dict:
        if mutant["key"] in known:
            return known[mutant["key"]]
        bench = benches.get()
        try:
            choice = choose(recording, mutant["module"], texts, mutant["first"], mutant["last"])
            result = bench.attempt(mutant, choice)
        finally:
            benches.put(bench)
        with target.open("a") as written:
            written.write(json.dumps(result) + "\n")
        print(f"{result['ending']:8} {result['seconds']:5.1f} s  {result['key']}", flush=True)
        return result

    with ThreadPoolExecutor(len(clones)) as pool:
        results = list(pool.map(attempt, mutants))
    for _ in clones:
        benches.get().close()
    return results


def tell(results: list[dict]) -> int:
    """Print what survived, and what share was killed; 1 when something survived without a reason."""
    reasons = explained()
    survivors = [result for result in results if result["ending"] not in ("killed", "hung")]
    without = [each for each in survivors if (each["module"], each["was"], each["became"]) not in reasons]
    for each in without:
        words = (
            f"{each['ending']}; {each['tests']} of {each['of']} tests"
            if each["of"]
            else "no test executes it"
        )
        print(f"\n{each['key']} ({words})\n- {each['was']}\n+ {each['became']}")
    killed = len(results) - len(survivors)
    share = killed / len(results) if results else 1.0
    explained_count = len(survivors) - len(without)
    print(
        f"\n{killed} of {len(results)} killed, {share:.1%}; {explained_count} explained, {len(without)} survived"
    )
    return 1 if without else 0


def explained() -> set[tuple[str, str, str]]:
    """The mutants that change nothing that anybody could notice: module, line as it is, line as it becomes."""
    entries = tomllib.loads((HERE / "explained.toml").read_text()).get("mutant", [])
    return {(entry["module"], entry["was"], entry["became"]) for entry in entries}


if __name__ == "__main__":
    sys.exit(main())
