"""Builds the Debian package on each release, and installs, upgrades, removes and purges it on a bare one.

    python tests/packaging/run.py [bookworm] [trixie]

As root, with the network. Every release is made by debootstrap in a directory that is thrown away, takes about 2 GB and
five minutes, and is used three times: the package is built in one copy; its life is played in another that has nothing
but what debootstrap installs, not even Python; and again in a third, where systemd runs as PID 1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from debs import LIFE, copy_of_checkout, named_among, version_before

HERE = Path(__file__).parent
WITH_SYSTEMD = HERE.parent / "systemd" / "with-systemd"
MIRROR = "http://deb.debian.org/debian"
RELEASES = ("bookworm", "trixie")
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"


class Root:
    """A Debian in a directory."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def copy(self, name: str) -> Root:
        """Another one like it."""
        target = self.path.parent / name
        subprocess.run(["cp", "-a", "--reflink=auto", self.path, target], check=True)
        return Root(target)

    def run(self, *command: str) -> None:
        """Run a command in there. What it says is shown."""
        subprocess.run([HERE / "in-root", self.path, *command], check=True, stdin=subprocess.DEVNULL)

    def install(self, *packages: str) -> None:
        """Install packages of the release."""
        self.run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages)

    def take(self, *paths: Path) -> list[str]:
        """Copies of files of this machine. Returns where they are in there."""
        for path in paths:
            shutil.copy2(path, self.path / "srv")
        return [f"/srv/{path.name}" for path in paths]


def bare(release: str, target: Path) -> Root:
    """What debootstrap makes, with the names and certificates of servers as this machine has them."""
    subprocess.run(["debootstrap", "--variant=minbase", release, target, MIRROR], check=True)
    shutil.copy("/etc/resolv.conf", target / "etc/resolv.conf")
    return Root(target)


def build(root: Root, target: Path) -> Path:
    """The package, built on this Debian."""
    root.install("python3-venv", "ca-certificates")
    shutil.copy(f"/{CERTIFICATES}", root.path / CERTIFICATES)
    copy_of_checkout(root.path / "srv/reactor")
    root.run("/srv/reactor/scripts/deb", "/srv/built")
    (built,) = (root.path / "srv/built").glob("*.deb")
    return Path(shutil.move(built, target))


def play(release: str, place: Path) -> None:
    """All of it, on one release."""
    print(f"== {release}: a bare one", flush=True)
    first = bare(release, place / "bare")
    print(f"== {release}: build", flush=True)
    after = build(first.copy("builder"), place)
    before = version_before(after, place)
    shutil.rmtree(place / "builder")

    print(f"== {release}: the life of {after.name} where nothing else is", flush=True)
    booted = first.copy("booted")
    first.run(*first.take(LIFE, before, after))
    print(f"== {release}: the life of {after.name} where systemd runs", flush=True)
    booted.install("systemd", "dbus", "python3")
    booted.run(*booted.take(WITH_SYSTEMD), *booted.take(LIFE, before, after))


def main(words: list[str]) -> None:
    """Play all releases, or those that are named."""
    releases = named_among(RELEASES, words, __doc__)
    if os.geteuid():
        sys.exit("only root may mount and boot what this needs")
    if not shutil.which("debootstrap"):
        sys.exit("missing: debootstrap: apt-get install debootstrap")
    os.umask(0o022)
    for release in releases:
        with tempfile.TemporaryDirectory(prefix=f"{release}-") as place:
            os.chmod(place, 0o755)
            play(release, Path(place))
    print("all claims hold on", *releases)


if __name__ == "__main__":
    main(sys.argv[1:])
