"""Run the benchmarks one after the other, and write the table of benchmarks/README.md.

    python benchmarks/all.py [--only drift --only idle] [--write]

With ``--write`` the rows of each benchmark that ran take the place of its old ones in `measured.json`, and the table in the
README is made of that file. So no figure in it is typed, and one benchmark can be measured again alone.

All together end within 35 minutes: a benchmark that takes over 6 minutes is stopped, and those that would begin after
35 minutes are not run. They keep their old rows, and the last lines name them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from _harness import RECORD, Row  # noqa: E402 - it is beside this script

MEASURED = HERE / "measured.json"
README = HERE / "README.md"
BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"
BENCHMARKS = (
    "drift", "drift_apart", "convergence", "foreign_writes", "idle", "oneshot", "large", "noop_kinds", "scheduler", "chain",
    "network", "tools", "services", "packages", "reload", "archive", "scaffold", "parts", "editor", "clients", "nats", "without_network", "fleet", "loading", "expressions", "malformed",
)  # fmt: skip
"""In the order of the table. The other benchmarks of malformed input take hours and print tables of their own."""
COUNTS = {"expressions": "20000", "malformed": "5000"}
"""What is given to benchmarks that take hours otherwise."""
TOTAL_SECONDS, MOST_SECONDS = 35 * 60.0, 6 * 60.0
STOPPING_SECONDS = 30.0


def run(name: str, seconds: float) -> list[dict[str, object]] | None:
    """Run one benchmark and return its tables, each with ``title``, ``against`` and ``rows``.

    None if it failed, or took longer than ``seconds``.
    """
    command = [sys.executable, str(HERE / f"{name}.py"), *([COUNTS[name]] if name in COUNTS else [])]
    with tempfile.NamedTemporaryFile("r", suffix=".jsonl") as record:
        process = subprocess.Popen(command, env={**os.environ, RECORD: record.name})
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.terminate()  # it stops what it has started, and removes its files
            process.wait(STOPPING_SECONDS)
            code = -1
        return None if code else [json.loads(line) for line in record]


def lines(measured: dict[str, dict]) -> list[str]:
    """The table in Markdown, with the day on which each part was measured."""
    table = ["| what | reactor | compared with | ratio | bar | | measured |", "|---|---|---|---|---|---|---|"]
    for name in (name for name in BENCHMARKS if name in measured):
        day = measured[name]["day"]
        for part in measured[name]["tables"]:
            for row in part["rows"]:
                what, ours, floor, ratio, bar, verdict = Row(**row).cells()
                other = f"{part['against']} {floor}" if floor else ""
                table.append(f"| `{name}`: {what} | {ours} | {other} | {ratio} | {bar} | {verdict} | {day} |")
    return table


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=BENCHMARKS, action="append", help="only this one; may be repeated")
    parser.add_argument(
        "--write", action="store_true", help="write measured.json and the table of the README"
    )
    options = parser.parse_args()
    measured = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    names, missing, start = options.only or BENCHMARKS, [], time.monotonic()
    for number, name in enumerate(names, 1):
        passed = time.monotonic() - start
        print(f"[{number}/{len(names)}] {name}, after {passed:.0f} s", file=sys.stderr, flush=True)
        left = min(MOST_SECONDS, TOTAL_SECONDS - passed - STOPPING_SECONDS)
        tables = run(name, left) if left > 0 else None
        if tables is None:
            missing.append(name)
            continue
        measured[name] = {"day": time.strftime("%Y-%m-%d"), "tables": tables}
        if options.write:  # at once, so that an interrupted run keeps what it has measured
            write(measured)
    if missing:
        sys.exit(f"not measured, because they failed or took too long: {', '.join(missing)}")


def write(measured: dict[str, dict]) -> None:
    """Store the figures, and make the table of them."""
    MEASURED.write_text(json.dumps(measured, indent=1) + "\n")
    before, _, rest = README.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    README.write_text(before + BEGIN + "\n".join(lines(measured)) + "\n" + END + after)


if __name__ == "__main__":
    main()
