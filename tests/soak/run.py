"""A soak: a world that goes wrong twenty times a second, for as long as you like, and a judge that asks nobody but the kernel.

    python tests/soak/run.py --minutes 100

It manages 5,000 files, copies, a scaffold, 50 commands with subscribers, and as root services of a systemd of its own. What
goes wrong must be right within `BOUND` seconds, by our own stat(2) and read(2). At the end nothing is wrong, the audit
has found nothing that no event announced, and reactor holds as many descriptors as before and about as much memory. While
something is wrong for longer than the bound, `reactor status` must not say that all is converged.
Exit codes: 0 all of it holds, 1 something does not.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from judge import Soak  # noqa: E402 - it is beside us
from soak_world import World  # noqa: E402

WITH_SYSTEMD = HERE.parent / "systemd" / "with-systemd"
INSIDE = "REACTOR_SOAK_SERVICES"


def arguments() -> argparse.Namespace:
    """What to do."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=100.0)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--commands", type=int, default=50)
    parser.add_argument("--rate", type=float, default=20.0, help="what goes wrong each second")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-services", action="store_true", help="boot no systemd")
    return parser.parse_args()


def main() -> int:
    """Run it, in a world of its own if there may be one."""
    options = arguments()
    if os.geteuid() == 0 and not options.no_services and INSIDE not in os.environ:
        command = [WITH_SYSTEMD, sys.executable, __file__, *sys.argv[1:]]
        return subprocess.run(command, env={**os.environ, INSIDE: "1"}, check=False).returncode
    services = 5 if INSIDE in os.environ else 0
    with tempfile.TemporaryDirectory(prefix="reactor-soak-", dir="/dev/shm") as directory:
        world = World(Path(directory) / "world", options.files, options.commands, services)
        world.root.mkdir()
        soak = Soak(world, Path(directory), options.minutes * 60, options.rate, options.seed)
        return soak.run()


if __name__ == "__main__":
    sys.exit(main())
