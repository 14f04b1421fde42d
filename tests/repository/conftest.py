import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from apt_root import AptRoot
from deb_packages import Deb
from dnf_root import DnfRoot
from rpm_packages import Rpm, write_repository

from reactor.resources.package import providers


class Signer(NamedTuple):
    """Who signs repositories: the home of gpg, and the public key as text."""

    home: Path
    key: str

    def sign(self, directory):
        """Give a flat repository of debs a signed index of its indices."""
        packages = directory / "Packages"
        digest = subprocess.run(
            ["sha256sum", packages], capture_output=True, text=True, check=True
        ).stdout.split()[0]
        text = f"Date: Sat, 01 Jan 2022 00:00:00 UTC\nSHA256:\n {digest} {packages.stat().st_size} Packages\n"
        (directory / "InRelease").unlink(missing_ok=True)
        gpg(self.home, "--clearsign", "--output", str(directory / "InRelease"), input=text)


def gpg(home, *arguments, **options):
    command = [
        "gpg",
        "--homedir",
        home,
        "--batch",
        "--quiet",
        "--pinentry-mode",
        "loopback",
        "--passphrase",
        "",
        *arguments,
    ]
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


@pytest.fixture(scope="session")
def signer(tmp_path_factory):
    yield from signer_at(tmp_path_factory.mktemp("gpg"))


@pytest.fixture(scope="session")
def stranger(tmp_path_factory):
    yield from signer_at(tmp_path_factory.mktemp("gpg"))


def signer_at(home):
    home.chmod(0o700)
    gpg(home, "--quick-generate-key", "Nobody <nobody@example.com>", "ed25519", "sign")
    yield Signer(home, gpg(home, "--armor", "--export"))
    subprocess.run(["gpgconf", "--homedir", home, "--kill", "all"], check=True)


@pytest.fixture
def apt(tmp_path, monkeypatch):
    """A system without any repository yet; that with the package `app` is described by nobody."""
    root = AptRoot(tmp_path / "system", Deb("app"))
    (root.root / "etc/apt/sources.list").unlink()
    root.update()
    monkeypatch.setitem(providers.made, "apt", root.provider())
    return root


@pytest.fixture
def dnf(tmp_path, monkeypatch):
    write_repository(tmp_path / "repository", [Rpm("app")])
    root = DnfRoot(tmp_path / "system", tmp_path / "repository")
    (root.root / "etc/yum.repos.d/tiny.repo").unlink()
    monkeypatch.setitem(providers.made, "dnf", root.provider())
    return root
