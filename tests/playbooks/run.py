"""Runs the manifest of examples/drupal twice on a fresh Debian, and looks at the site that it serves.

    python tests/playbooks/run.py

As root, with the network, about ten minutes and 3 GB. debootstrap makes the Debian; systemd runs in it as PID 1. Drush and Drupal
come from git repositories made here, since their servers may be out of reach: the same URLs in the data, other values.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "packaging"))

from debs import copy_of_checkout  # noqa: E402
from run import WITH_SYSTEMD, bare  # noqa: E402

RELEASE = "bookworm"
DRUSH = """#!/usr/bin/env php
<?php  // what `drush site-install` leaves behind, as far as the manifest looks at it
mkdir("sites/default/files/styles", 0755, true);
file_put_contents("sites/default/files/styles/one.css", "body {}");
file_put_contents("sites/default/settings.php", "<?php $" . "databases = 'made by drush';");
"""
INDEX = "<?php include 'sites/default/settings.php'; echo 'Drupal says: ', $databases;\n"


def repository(directory: Path, files: dict[str, str], branch: str) -> None:
    """A git repository with one commit of these files."""
    directory.mkdir(parents=True)
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
        (directory / name).chmod(0o755)
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com", "-C", str(directory)]
    subprocess.run([*git, "init", "-q", "-b", branch], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "one"], check=True)


def main() -> None:
    """All of it. Ends with 1 when a claim does not hold."""
    if os.geteuid():
        sys.exit("only root may mount and boot what this needs")
    if not shutil.which("debootstrap"):
        sys.exit("missing: debootstrap: apt-get install debootstrap")
    os.umask(0o022)
    with tempfile.TemporaryDirectory(prefix="drupal-") as place:
        os.chmod(place, 0o755)
        root = bare(RELEASE, Path(place) / "root")
        root.install("systemd", "dbus", "python3-venv", "ca-certificates", "curl", "git")
        shutil.copy("/etc/ssl/certs/ca-certificates.crt", root.path / "etc/ssl/certs/ca-certificates.crt")
        copy_of_checkout(root.path / "srv/reactor")
        root.run("/srv/reactor/scripts/setup")
        repository(root.path / "srv/git/drush", {"drush": DRUSH, "composer.json": "{}\n"}, "master")
        repository(root.path / "srv/git/drupal", {"index.php": INDEX}, "8.1.x")
        root.run("/srv/reactor/tests/playbooks/play", "fetch")  # there is no network beside that systemd
        root.run(*root.take(WITH_SYSTEMD), "/srv/reactor/tests/playbooks/play", "twice")
    print("all claims hold")


if __name__ == "__main__":
    main()
