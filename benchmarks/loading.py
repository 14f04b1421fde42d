"""What expressions and loops cost when a manifest is loaded: 10,000 files with one expression each, against the same
without, and 10,000 users by ``for_each``, as `reactor validate` of a process of its own.

The same expression in every value is parsed once; one of its own in every value is parsed 10,000 times.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from _harness import Row, arguments, interleaved, medians, show, workspace

from reactor.loading import load

COUNT = 10_000
BAR = 2.5
USERS_BAR = 1.5
"""Seconds for 10,000 users."""
VALUES: dict[str, Callable[[int], str]] = {
    "none": lambda number: f"listen 8080 in {number}",
    "the same in each": lambda number: f"listen {{{{ Data.port }}}} in {number}",
    "another in each": lambda number: f"listen {{{{ Data.port + {number} }}}} in",
}


def write(path: Path, count: int, value: Callable[[int], str]) -> Path:
    """A manifest of ``count`` files with these contents."""
    lines = ["data: {port: 8080}", "resources:", "  - file:"]
    lines.append("      - defaults: {owner: root, group: root, mode: '0644', ensure: present}")
    lines += (f'      - /srv/d{n % 1000}/f{n}: {{content: "{value(n)}"}}' for n in range(count))
    path.write_text("\n".join(lines) + "\n")
    return path


def write_users(path: Path, count: int) -> Path:
    """A manifest of ``count`` users by one loop."""
    lines = ["data:", "  users:"]
    lines += (
        f"    u{n}: {{uid: {10_000 + n}, comment: 'The user {n}', shell: /bin/bash}}" for n in range(count)
    )
    lines.append("resources:\n  - user:\n      - '{{ key }}':")
    lines += ("          for_each: '{{ Data.users }}'", "          ensure: present")
    lines += (f"          {name}: '{{{{ item.{name} }}}}'" for name in ("uid", "comment", "shell"))
    path.write_text("\n".join(lines) + "\n")
    return path


def validate_seconds(manifest: Path) -> float:
    """How long `reactor validate` takes, the start of Python included."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "reactor", "validate", manifest], check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - start


def load_seconds(manifest: Path) -> float:
    """How long it takes to load."""
    start = time.perf_counter()
    load(str(manifest))
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__)
    count, rounds = (1000, 3) if options.quick else (COUNT, 5)
    with workspace(options.dir) as directory:
        manifests = {
            name: write(directory / f"{n}.yaml", count, value)
            for n, (name, value) in enumerate(VALUES.items())
        }
        taken = medians(
            interleaved(rounds, {name: partial(load_seconds, path) for name, path in manifests.items()})
        )
        users = write_users(directory / "users.yaml", count)
        validations = [validate_seconds(users) for _ in range(rounds)]
    rows = [
        Row(f"{count:,} files, expressions: {name}", taken[name], "s", BAR, taken["none"])
        for name in VALUES
        if name != "none"
    ]
    rows.append(Row(f"{count:,} users by for_each, validated", min(validations), "s", USERS_BAR))
    show("loading with expressions", rows, "without")


if __name__ == "__main__":
    main()
