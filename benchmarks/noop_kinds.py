"""What a run costs that finds 200 users, 100 services or 500 packages as desired, beyond a run with one of them.

A run that is proven to find nothing to do checks nothing; the rows with "checked" are of runs that must check
everything. For services that are enabled, too, systemd looks through all links for each of them: what it takes for that
alone, asked by `systemctl is-enabled`, is shown beside. Whole processes of `reactor run --converge-once`, in turns. In
a systemd of its own in namespaces, as the tests have it: it makes the users and starts the services there, and takes the packages
that are installed here. Needs root and apt.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import median

from _harness import REACTOR, Row, arguments, interleaved, medians, seconds_of, show, workspace
from services import READY, WITH_SYSTEMD, write_units

BARS = {"user": 20, "service": 40, "package": 20}
"""Milliseconds. There is none for services that are enabled."""


def make_users(count: int) -> list[str]:
    """Make the users; return them as items of a manifest."""
    names = [f"bench{number}" for number in range(count)]
    for name in names:
        subprocess.run(["useradd", "--no-create-home", name], check=True)
    return [f"{name}: {{ensure: present}}" for name in names]


def start_services(count: int) -> list[str]:
    """Start and enable the services; return their names."""
    write_units(count)
    names = [f"bench{number}" for number in range(count)]
    subprocess.run(["systemctl", "enable", "--quiet", "--now", *names], check=True)
    return names


def installed_packages(count: int) -> list[str]:
    """Packages that are installed, as items of a manifest."""
    query = ["dpkg-query", "--show", "--showformat", "${db:Status-Abbrev} ${Package}\\n"]
    lines = subprocess.run(query, check=True, capture_output=True, text=True).stdout.splitlines()
    names = sorted({line.split()[1] for line in lines if line.startswith("ii ")})[:count]
    assert len(names) == count, f"only {len(names)} packages are installed"
    return [f"{name}: {{ensure: present}}" for name in names]


def written(path: Path, kind: str, items: list[str]) -> Path:
    """A manifest of ``items``."""
    path.write_text("\n".join(["resources:", f"  - {kind}:", *(f"      - {item}" for item in items)]) + "\n")
    return path


def run_of(manifest: Path, *options: str) -> float:
    """The seconds of one run, on a state directory of its own as on a host that has one manifest."""
    state = ["--state-dir", str(manifest.with_suffix(".state"))]
    return seconds_of([REACTOR, "run", "--converge-once", *state, *options, str(manifest)])


def milliseconds(manifest: Path, *, checks: bool) -> float:
    """The wall time of one run; with ``checks``, of one that must check everything, since nothing of it is proven."""
    if checks:
        (manifest.with_suffix(".state") / "proof.json").unlink(missing_ok=True)
    return 1000 * run_of(manifest)


def require_nothing_to_do(manifest: Path) -> None:
    """Run once, so that all is as desired; then check that a dry run finds nothing to do."""
    run_of(manifest)
    run_of(manifest, "--noop", "--detailed-exitcodes")


def beyond_one(space: Path, kind: str, items: list[str], turns: int, *, checks: bool = False) -> float:
    """Milliseconds of a run of all ``items``, beyond those of a run with the first one."""
    manifests = {
        name: written(space / f"{name}.yaml", kind, some)
        for name, some in (("one", items[:1]), ("all", items))
    }
    for manifest in manifests.values():
        require_nothing_to_do(manifest)
    took = medians(
        interleaved(
            turns, {name: partial(milliseconds, path, checks=checks) for name, path in manifests.items()}
        )
    )
    return took["all"] - took["one"]


def is_enabled(names: list[str]) -> float:
    """Milliseconds of ``systemctl is-enabled``."""
    return 1000 * seconds_of(["systemctl", "is-enabled", "--quiet", *names])


def main() -> None:
    """Measure and print; outside of the namespaces, go in first."""
    options = arguments(__doc__)
    if not READY.exists():
        os.execv(WITH_SYSTEMD, [WITH_SYSTEMD, sys.executable, *sys.argv])
    share, turns = (10, 3) if options.quick else (1, 9)
    services = start_services(100 // share)
    items = {
        "user": make_users(200 // share),
        "service": [f"{name}: {{}}" for name in services],
        "package": installed_packages(500 // share),
    }
    with workspace(options.dir) as space:
        rows = [
            Row(f"{len(found)} {kind}s", beyond_one(space, kind, found, turns), "ms", BARS[kind])
            for kind, found in items.items()
        ]
        for kind in ("user", "package"):
            checked = beyond_one(space, kind, items[kind], turns, checks=True)
            rows.append(Row(f"{len(items[kind])} {kind}s, checked", checked, "ms", None))
        enabled = beyond_one(space, "service", [f"{name}: {{enable: true}}" for name in services], turns)
    by_systemctl = [is_enabled(services) - is_enabled(services[:1]) for _ in range(turns)]
    rows.append(Row(f"{len(services)} services, enabled", enabled, "ms", None, median(by_systemctl)))
    show("runs that find all as desired, beyond a run with one resource", rows, "systemctl is-enabled")


if __name__ == "__main__":
    main()
