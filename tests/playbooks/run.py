"""Runs the manifests of examples/drupal and examples/three-hosts twice on fresh Debians, and looks at what they made.

    python tests/playbooks/run.py [drupal|web|database|bastion]...

As root, with the network, about ten minutes and 3 GB for drupal, and three minutes for each of the others. debootstrap
makes the Debian; systemd runs in it as PID 1. Drush and Drupal come from git repositories made here, since their
servers may be out of reach: the same URLs in the data, other values.
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

from debs import copy_of_checkout, named_among  # noqa: E402
from run import WITH_SYSTEMD, Root, bare  # noqa: E402

RELEASE = "bookworm"
HOSTS = ("web", "database", "bastion")
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


def drupal(root: Root) -> None:
    """The manifest of a playbook of Ansible."""
    repository(root.path / "srv/git/drush", {"drush": DRUSH, "composer.json": "{}\n"}, "master")
    repository(root.path / "srv/git/drupal", {"index.php": INDEX}, "8.1.x")
    play(root, "play")


def play(root: Root, script: str, *words: str) -> None:
    """Run a manifest twice where systemd runs; the packages come before, since there is no network beside it."""
    path = f"/srv/reactor/tests/playbooks/{script}"
    root.run(path, "fetch", *words)
    root.run(*root.take(WITH_SYSTEMD), path, "twice", *words)


def main(words: list[str]) -> None:
    """All of it, or what is named. Ends with 1 when a claim does not hold."""
    names = named_among(("drupal", *HOSTS), words, __doc__)
    if os.geteuid():
        sys.exit("only root may mount and boot what this needs")
    if not shutil.which("debootstrap"):
        sys.exit("missing: debootstrap: apt-get install debootstrap")
    os.umask(0o022)
    with tempfile.TemporaryDirectory(prefix="playbooks-") as place:
        os.chmod(place, 0o755)
        first = bare(RELEASE, Path(place) / "root")
        first.install("systemd", "dbus", "python3-venv", "ca-certificates", "curl", "git")
        shutil.copy("/etc/ssl/certs/ca-certificates.crt", first.path / "etc/ssl/certs/ca-certificates.crt")
        copy_of_checkout(first.path / "srv/reactor")
        first.run("/srv/reactor/scripts/setup")
        for name in names:
            print(f"== {name}", flush=True)
            root = first.copy(name)
            if name == "drupal":
                drupal(root)
            else:
                play(root, "play-hosts", name)
            shutil.rmtree(root.path)
    print("all claims hold")


if __name__ == "__main__":
    main(sys.argv[1:])
