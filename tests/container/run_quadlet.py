"""Run the tests of quadlet with the generator of Debian 13: ``python tests/container/run_quadlet.py``.

Fetches podman with apt, and unpacks it into a temporary directory; nothing is installed. Further arguments are those of
pytest. CI runs only the tests that need no podman: those of `test_quadlet`.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

SOURCE = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie main\n"


def fetch_podman(place: Path) -> Path:
    """Unpack podman below ``place``; return its generator."""
    for name in ("lists/partial", "cache/archives/partial"):
        (place / name).mkdir(parents=True)
    (place / "sources").write_text(SOURCE)
    (place / "status").touch()
    options = {
        "Dir::Etc::sourcelist": "sources",
        "Dir::State::lists": "lists",
        "Dir::Cache": "cache",
        "Dir::State::status": "status",
    }
    usual = [f"-o{name}={place}/{value}" for name, value in options.items()]
    apt = ["apt-get", "-qq", *usual, "-oDir::Etc::sourceparts=/dev/null", "-oAPT::Sandbox::User=root"]
    subprocess.run([*apt, "update"], check=True)
    subprocess.run([*apt, "download", "podman"], check=True, cwd=place)
    subprocess.run(["dpkg-deb", "-x", *place.glob("podman_*.deb"), place / "root"], check=True)
    return place / "root/usr/libexec/podman/quadlet"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        os.environ["REACTOR_QUADLET"] = str(fetch_podman(Path(directory)))
        tests = Path(__file__).parents[1] / "systemd" / "on_podman.py"
        sys.exit(pytest.main(["-n0", str(tests), *sys.argv[1:]]))
