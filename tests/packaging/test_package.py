"""The Debian package on this host's own Debian. ``python tests/packaging/run.py`` does the same on bare ones, 12 and 13."""

import os
import shutil
import subprocess

import pytest
from debs import LIFE, ROOT, copy_of_checkout, version_before
from package_index import index_answers

NO_BOOT = 125
WITH_SYSTEMD = ROOT / "tests" / "systemd" / "with-systemd"


def has_venv():
    """Whether Debian's own Python can make environments: nothing is to be installed here."""
    if not os.access("/usr/bin/python3", os.X_OK):
        return False
    return (
        subprocess.run(
            ["/usr/bin/python3", "-c", "import ensurepip"], check=False, capture_output=True
        ).returncode
        == 0
    )


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    place = tmp_path_factory.mktemp("package")
    if os.geteuid():
        pytest.skip("only root may boot a copy of this machine to install the package in")
    if not shutil.which("dpkg-deb"):
        pytest.skip("this is no Debian: there is no dpkg-deb")
    if not has_venv():
        pytest.skip("Debian's own Python has no module venv: apt-get install python3-venv")
    if not index_answers(place):
        pytest.skip("the package index does not answer, and the libraries come from there")
    os.chmod(place, 0o755)
    return copy_of_checkout(place / "checkout")


def test_the_package_is_installed_upgraded_removed_and_purged(checkout):
    there = set(checkout.rglob("*"))
    built = checkout.parent / "built"
    done = subprocess.run([checkout / "scripts/deb", built], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert set(checkout.rglob("*")) == there, "nothing is left in the checkout"
    (after,) = built.glob("*.deb")
    assert done.stdout.splitlines()[-1] == str(after)
    life = [WITH_SYSTEMD, LIFE, version_before(after, built), after]
    done = subprocess.run(life, capture_output=True, text=True, check=False)
    if done.returncode == NO_BOOT:
        pytest.skip(f"no systemd can be booted here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stdout[-300:] + done.stderr
