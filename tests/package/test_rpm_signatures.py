"""Signatures of .rpm files that are installed from a file, by the real rpm and dnf, with a key made for the tests."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from one_shot import checked
from rpm_packages import Rpm, write_repository

from reactor.engine.events import Result
from reactor.resources.package import Package


@pytest.fixture(scope="module")
def rpms(tmp_path_factory):
    """`signed.rpm`, `unsigned.rpm`, and `key.asc`, by which the first is signed."""
    top = tmp_path_factory.mktemp("signed")
    home = top / "gpg"
    home.mkdir(mode=0o700)
    options = ["--homedir", home, "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""]
    made = ["--quick-generate-key", "Nobody <nobody@example.com>", "rsa2048", "sign"]
    subprocess.run(["gpg", *options, *made], check=True, capture_output=True)
    key = subprocess.run(["gpg", *options, "--armor", "--export"], check=True, capture_output=True).stdout
    (top / "key.asc").write_bytes(key)
    write_repository(top / "repository", [Rpm("extra")])
    shutil.copy(next((top / "repository").rglob("extra-1.0*.rpm")), top / "unsigned.rpm")
    shutil.copy(top / "unsigned.rpm", top / "signed.rpm")
    defines = {"__gpg": shutil.which("gpg"), "_gpg_name": "nobody@example.com", "_dbpath": top / "db"}
    words = [word for name, value in defines.items() for word in ("--define", f"{name} {value}")]
    signing = ["rpmsign", "--addsign", *words, top / "signed.rpm"]
    subprocess.run(signing, check=True, capture_output=True, env={**os.environ, "GNUPGHOME": str(home)})
    yield top
    subprocess.run(["gpgconf", "--homedir", home, "--kill", "all"], check=True)


@pytest.fixture
def strict(dnf):
    """A host that installs signed files only."""
    (dnf.root / "etc/dnf").mkdir(parents=True, exist_ok=True)
    (dnf.root / "etc/dnf/dnf.conf").write_text("[main]\nlocalpkg_gpgcheck=1\n")
    return dnf


async def converge(file, *, noop):
    extra = Package(name="extra", ensure="present", provider="dnf", source=str(file))
    return await checked(extra, noop=noop)


@pytest.mark.parametrize("noop", [True, False])
@pytest.mark.parametrize("name", ["unsigned", "signed"])
async def test_a_file_that_no_known_key_has_signed_is_refused_also_by_a_rehearsal(strict, rpms, name, noop):
    check = await converge(rpms / f"{name}.rpm", noop=noop)
    assert check.result is Result.FAILED
    assert "its signature is not that of a key that rpm knows" in check.error
    assert "rpm --import" in check.hint
    assert strict.packages == {}


async def test_a_file_signed_by_a_known_key_is_installed(strict, rpms):
    strict.run("rpmkeys", "--root", str(strict.root), "--import", str(rpms / "key.asc"))
    assert (await converge(rpms / "signed.rpm", noop=True)).result is Result.WOULD_CHANGE
    check = await converge(rpms / "signed.rpm", noop=False)
    assert (check.error, check.result) == (None, Result.CHANGED)
    assert "extra" in strict.packages


async def test_where_the_host_asks_for_no_signatures_none_is_needed(dnf, rpms):
    assert (await converge(rpms / "unsigned.rpm", noop=True)).result is Result.WOULD_CHANGE
    assert (await converge(rpms / "unsigned.rpm", noop=False)).result is Result.CHANGED
