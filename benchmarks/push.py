"""`reactor push` of a bundle of 1 MB with 100 files to 20 hosts, beside `ansible` copying one file to the same 20.

The hosts are 20 sshds on loopback, where nothing is to do. "new" pushes a bundle that no host has, "again" the one in force. In
both, a process stands by on the hosts, as within a minute after a push of a new bundle. In "alone" and "new, alone" none does,
as later. Ansible gets as many forks, and finds its file in place, too; its other settings are its defaults, so its
connections stay for a minute as ours do. It is taken from PATH, or from --ansible.
Bar: at most 0.2 times the time of ansible.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from _harness import REACTOR, ROOT, Row, argument_parser, interleaved, medians, seconds_of, show, workspace

sys.path[:0] = [str(ROOT / "tests/fleet"), str(ROOT / "tests/cli"), str(ROOT / "tests")]
from ssh_hosts import ssh_world  # noqa: E402 - it is among the tests

HOSTS, FILES, SIZE = 20, 100, 1_000_000
BAR = 0.2
LOOKS = 2.0
"""Seconds within which a process that stands by has ended without its socket, or has been made ready."""
MANIFEST = "resources: [{{file: [{{{path}: {{ensure: present, source: f000, owner: root, group: root, mode: '0644'}}}}]}}]\n"


def write_site(space: Path) -> Path:
    """The directory that is pushed: a manifest of one file, and 100 files that do not compress."""
    site = space / "site"
    site.mkdir()
    for number in range(FILES):
        (site / f"f{number:03d}").write_bytes(os.urandom(SIZE // FILES))
    (site / "manifest.yaml").write_text(MANIFEST.format(path=space / "managed"))
    return site


def push_new(site: Path, command: list[str]) -> float:
    """Seconds of a push of a bundle that no host has. The managed file stays as it is."""
    (site / f"f{FILES - 1:03d}").write_bytes(os.urandom(SIZE // FILES))
    return seconds_of(command)


def alone(sockets: list[Path], push: Callable[[], float]) -> float:
    """Seconds of ``push`` to hosts on which no process stands by."""
    for each in sockets:
        each.unlink(missing_ok=True)
    time.sleep(LOOKS)
    taken = push()
    time.sleep(LOOKS)
    return taken


def main() -> None:
    """Measure and print."""
    parser = argument_parser(__doc__)
    parser.add_argument("--ansible", default=shutil.which("ansible"), help="the program ansible")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured")
    options = parser.parse_args()
    if options.ansible is None:
        sys.exit("not installed: ansible (pip install ansible-core, in an environment of its own)")
    rounds, hosts = (1, 4) if options.quick else (options.rounds, HOSTS)
    with workspace(options.dir) as space, ssh_world(space) as world:
        started = [world.start(f"web{number:02d}") for number in range(hosts)]
        inventory = space / "hosts.ini"
        variables = f"[all:vars]\nansible_ssh_common_args=-F {world.config}\nansible_python_interpreter={sys.executable}\n"
        inventory.write_text("\n".join(host.line for host in started) + f"\n{variables}")
        site = write_site(space)
        push = [
            REACTOR,
            "push",
            str(site),
            "-i",
            str(inventory),
            "-F",
            str(world.config),
            "--forks",
            str(hosts),
        ]
        copy = f"src={site}/f000 dest={space}/copied mode=0644"
        ansible = [options.ansible, "all", "-i", str(inventory), "-f", str(hosts), "-m", "copy", "-a", copy]
        seconds_of(push)
        seconds_of(ansible)
        sockets = [host.fleet / "standby" for host in started]
        new, again = partial(push_new, site, push), partial(seconds_of, push)
        contenders = {
            "new, alone": partial(alone, sockets, new),
            "new": new,
            "again": again,
            "alone": partial(alone, sockets, again),
            "ansible": partial(seconds_of, ansible),
        }
        found = medians(interleaved(rounds, contenders))
    rows = [
        Row(f"push to {hosts} hosts, {name}", found[name], "s", bar, found["ansible"])
        for name, bar in (("new", BAR), ("again", BAR), ("alone", BAR), ("new, alone", None))
    ]
    show(f"push of 1 MB in {FILES} files, {options.dir}", rows, "ansible")


if __name__ == "__main__":
    main()
