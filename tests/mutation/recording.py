"""Records once, for a commit, which tests execute which lines, and how long each test takes.

The tests run in a clone whose Python measures itself in every process. What a process that is killed executed is lost: such
a line may look untested. A test that fails in the recording is left out: it would seem to notice everything.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Container
from pathlib import Path
from typing import NamedTuple

from workshop import HERE, run

_RC = """\
[tool.coverage.run]
data_file = "{data}/lines"
parallel = true
sigterm = true
patch = ["_exit", "fork"]
context = "${{MUTATION_TEST-}}"
include = [{include}]
disable_warnings = ["no-data-collected", "module-not-measured", "couldnt-parse", "dynamic-conflict", "already-imported"]
"""


class Recording(NamedTuple):
    """The tests that passed, with their seconds, and by file and line those that executed it."""

    seconds: dict[str, float]
    lines: dict[str, dict[int, frozenset[str]]]

    @classmethod
    def read(cls, path: Path) -> Recording:
        """What `record` has written."""
        content = json.loads(path.read_text())
        tests = list(content["seconds"])
        lines = {
            file: {int(line): frozenset(tests[number] for number in found) for line, found in of_file.items()}
            for file, of_file in content["lines"].items()
        }
        return cls(content["seconds"], lines)


def record(clone: Path, folders: list[str], tests: list[str], jobs: int, target: Path) -> None:
    """Run the tests in ``clone`` and write to ``target`` what they execute below ``folders``."""
    data = clone.parent / "measured"
    data.mkdir(exist_ok=True)
    data.chmod(0o777)  # tests become other users
    rc = data / "coverage.toml"
    rc.write_text(
        _RC.format(data=data, include=", ".join(json.dumps(f"{clone}/{name}/*") for name in folders))
    )
    times = data / "times"
    environment = {
        "COVERAGE_PROCESS_START": str(rc), "MUTATION_TIMES": str(times), "PYTHONPATH": str(HERE),
        "PYTEST_ADDOPTS": "-p recorder",  # also in the pytest of a world of its own
        "WITH_SYSTEMD_SHARED": str(data),  # else it would be lost with the world of tests/systemd
    }  # fmt: skip
    pytest = [clone / ".venv/bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    # A place of its own: in the usual one, pytest ends by removing what earlier runs left, which may take half an hour.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        Path(place).chmod(0o755)
        subprocess.run(
            [*pytest, f"-n{jobs}", f"--basetemp={place}/t", *tests],
            cwd=clone,
            env=os.environ | environment,
            stdout=(data / "output").open("w"),
            stderr=subprocess.STDOUT,
            check=False,
        )
    coverage = [clone / ".venv/bin/coverage", "combine", "-q", f"--rcfile={rc}", f"--data-file={data}/all"]
    run(*coverage, *sorted(data.glob("lines.*")), cwd=clone)
    seconds = _passed(times)
    target.write_text(json.dumps({"seconds": seconds, "lines": _lines(data / "all", clone, list(seconds))}))


def _passed(times: Path) -> dict[str, float]:
    seconds: dict[str, float] = defaultdict(float)
    others = set()
    for line in times.read_text().splitlines():
        test, outcome, took = json.loads(line)
        seconds[test] += took
        if outcome != "passed":
            others.add(test)
    return {test: took for test, took in seconds.items() if test not in others}


def _lines(data: Path, clone: Path, tests: list[str]) -> dict[str, dict[int, list[int]]]:
    """By file and line, the numbers of the tests."""
    numbers = {test: number for number, test in enumerate(tests)}
    found: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    asked = (
        "select path, context, numbits from line_bits"
        " join file on file.id = file_id join context on context.id = context_id"
    )
    with sqlite3.connect(data) as database:
        for path, context, bits in database.execute(asked):
            if (test := _innermost(context, numbers)) is not None:
                of_file = found[str(Path(path).relative_to(clone))]
                for line in _numbers(bits):
                    of_file[line].append(numbers[test])
    return found


def _innermost(context: str, tests: Container[str]) -> str | None:
    """The test of a context: in a world of its own, a pytest names the test that has made the world, a bar, and its own."""
    bars = (number for number, letter in enumerate(context) if letter == "|")
    inner = (context[bar + 1 :] for bar in bars)
    return next((each for each in (*inner, context) if each in tests), None)


def _numbers(bits: bytes) -> list[int]:
    """The lines in a bit set of coverage.py."""
    return [at * 8 + bit for at, byte in enumerate(bits) for bit in range(8) if byte & 1 << bit]
