"""Repairs after drift of the kinds of every day: links, lines, settings, entries of hosts, keys, firewall, git.

`reactor run` keeps one resource of each kind. Another process damages it and looks, without sleeping, until it is right
again. Bars, at the median: links, lines, settings and keys in 5 ms, the firewall in 20 ms, a work tree of git in 50 ms.
Root runs it, in namespaces of its own with an /etc of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from _harness import PROBER_CORE, Row, arguments, pinned, progress, reactor_running, show, workspace

ALONE = "REACTOR_BENCHMARK_ALONE"
"""The variable that says that this process is in namespaces of its own."""
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIG0lz3NMSaHdJz5Nj6tfW9uNEJnsBej9x8HXNHd2SKtz ada"
PROBER = """
import os, sys, time, subprocess
setup, damage, is_right, samples = sys.argv[1:5]
world = {"os": os, "subprocess": subprocess}
exec(setup, world)
damage, is_right = compile(damage, "damage", "exec"), compile(is_right, "is_right", "eval")
assert eval(is_right, world), "not right at first"
for _ in range(int(samples)):
    time.sleep(0.3)
    start = time.perf_counter()
    exec(damage, world)
    changed = time.perf_counter()
    while not eval(is_right, world):
        if time.perf_counter() - start > 10:
            sys.exit("not repaired")
    end = time.perf_counter()
    print((end - start) * 1e3, (end - changed) * 1e3)
"""
READ = "def read(path):\n    try:\n        return open(path).read()\n    except FileNotFoundError:\n        return ''\n"
WRITE = READ + "def write(path, text):\n    with open(path, 'w') as file:\n        file.write(text)\n"


@dataclass(frozen=True)
class Drift:
    """A resource, and how the prober damages it and sees that it is right again, as Python."""

    name: str
    bar: float
    resources: str
    setup: str
    damage: str
    is_right: str


def drifts(space: Path) -> Iterator[Drift]:
    """Every drift that is measured."""
    link = space / "link"
    yield Drift(
        "a link that points elsewhere",
        5,
        f"file: [{{{link}: {{ensure: link, target: /srv/right}}}}]",
        "",
        f"os.symlink('/srv/wrong', '{link}.new'); os.replace('{link}.new', '{link}')",
        f"os.readlink('{link}') == '/srv/right'",
    )
    yield from _text_drifts(space)
    yield Drift(
        "a rule of the firewall",
        20,
        "firewall: [{host: {rules: [{accept: tcp/22}, {accept: tcp/80}]}}]",
        "from reactor.resources.firewall.kernel import read_table\nright = read_table('reactor').form\n",
        "subprocess.run(['nft', 'flush', 'chain', 'inet', 'reactor', 'input'], check=True)",
        "read_table('reactor').form == right",
    )
    yield from _git_drifts(space)


def _text_drifts(space: Path) -> Iterator[Drift]:
    hosts, keys = Path("/etc/hosts"), Path("/etc/ssh/keys/root")
    yield _text(
        "a lost line", space / "lines", "wanted\n", "", "line: [{wanted: {path: PATH, create: true}}]"
    )
    yield _text(
        "a setting",
        space / "sshd_config",
        "Port 22\n",
        "Port 23\n",
        "setting: [{Port: {path: PATH, value: 22, create: true}}]",
    )
    yield _text(
        "an entry of /etc/hosts",
        hosts,
        "192.0.2.1\tdb\n",
        "192.0.2.9\tdb\n",
        "host: [{db: {ip: 192.0.2.1}}]",
    )
    yield _text(
        "a lost ssh key",
        keys,
        KEY + "\n",
        "",
        f"authorized_key: [{{ada: {{user: root, path: PATH, key: {KEY}}}}}]",
    )
    yield _text(
        "another option of an ssh key",
        keys,
        f"restrict {KEY}\n",
        f"{KEY}\n",
        f"authorized_key: [{{ada: {{user: root, path: PATH, options: [restrict], key: {KEY}}}}}]",
    )


def _git_drifts(space: Path) -> Iterator[Drift]:
    tree = space / "tree"
    yield Drift(
        "a changed file of a work tree of git",
        50,
        f"git: [{{{tree}: {{url: {space}/origin, revision: main, force: true}}}}]",
        WRITE + f"right = read('{tree}/f50')\n",
        f"write('{tree}/f50', 'wrong')",
        f"read('{tree}/f50') == right",
    )
    yield Drift(
        "a deleted file of a work tree of git",
        50,
        f"git: [{{{tree}: {{url: {space}/origin, revision: main, force: true}}}}]",
        READ + f"right = read('{tree}/f50')\n",
        f"os.unlink('{tree}/f50')",
        f"read('{tree}/f50') == right",
    )


def _text(name: str, path: Path, right: str, wrong: str, resources: str) -> Drift:
    """A part of a text file, which another program replaces by ``wrong``."""
    setup = (
        WRITE
        + f"right = read('{path}')\nwrong = right.replace({right!r}, {wrong!r})\nassert wrong != right\n"
    )
    return Drift(
        name,
        5,
        resources.replace("PATH", str(path)),
        setup,
        f"write('{path}', wrong)",
        f"read('{path}') == right",
    )


def make_world(space: Path) -> None:
    """An /etc of our own, and a repository with 100 files."""
    passwd, group = Path("/etc/passwd").read_text(), Path("/etc/group").read_text()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "own", "/etc"], check=True)
    for name, text in {"passwd": passwd, "group": group, "hosts": "127.0.0.1\tlocalhost\n"}.items():
        Path("/etc", name).write_text(text)
    for directory in ("systemd/system", "ssh/keys"):
        Path("/etc", directory).mkdir(parents=True)
    origin = space / "origin"
    origin.mkdir()
    for number in range(100):
        (origin / f"f{number}").write_text(f"file {number}\n" * 20)
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "all"]):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *identity, *words], cwd=origin, check=True)


def measured(drift: Drift, space: Path, samples: int) -> tuple[float, float]:
    """The median milliseconds from the start and from the end of the damage until it was right again."""
    manifest = space / "manifest.yaml"
    manifest.write_text(f"resources:\n  - {drift.resources}\n")
    with reactor_running(manifest):
        command = [sys.executable, "-c", PROBER, drift.setup, drift.damage, drift.is_right, str(samples)]
        output = subprocess.run(
            pinned(PROBER_CORE, command), check=True, capture_output=True, text=True
        ).stdout
    times = [[float(word) for word in line.split()] for line in output.splitlines()]
    return median(each[0] for each in times), median(each[1] for each in times)


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__)
    if ALONE not in os.environ:
        os.environ[ALONE] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--net", sys.executable, *sys.argv])
    samples = 9 if options.quick else 30
    rows = []
    with workspace(options.dir) as space:
        make_world(space)
        for drift in drifts(space):
            progress(drift.name)
            _, taken = measured(drift, space, samples)
            rows.append(Row(f"repair of {drift.name}, p50", taken, "ms", drift.bar))
    progress("")
    show(f"repairs of {json.dumps(str(options.dir))[1:-1]}", rows)


if __name__ == "__main__":
    main()
