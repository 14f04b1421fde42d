"""Run the tests that need Debian 13: ``python tests/debian13/run.py [ARGUMENT...]``. Root runs it; CI does not.

Debian 12 has a podman without quadlet. So debootstrap makes a Debian 13 in a directory that stays
(`/var/cache/reactor-debian13`, or ``$REACTOR_DEBIAN13``), with the libraries of the lock file; that takes minutes, once
for each lock file. Each run boots its systemd in namespaces, over a view that is thrown away, and installs reactor in
there. Further arguments are those of pytest.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
LOCK = CHECKOUT / "requirements-dev.lock"
CACHE = Path(os.environ.get("REACTOR_DEBIAN13", "/var/cache/reactor-debian13"))
MIRROR = "http://deb.debian.org/debian"
PACKAGES = (
    "aardvark-dns", "busybox-static", "ca-certificates", "console-setup", "crun", "dbus", "iproute2", "kbd", "netavark",
    "nftables", "podman", "polkitd", "python3", "python3-venv", "systemd", "systemd-sysv", "systemd-timesyncd", "tzdata",
)  # fmt: skip
LIBRARIES = """
set -e
mount -t proc proc /proc
python3 -m venv /opt/reactor
/opt/reactor/bin/pip install -q --require-hashes --no-deps -r /opt/lock
"""
IN_THERE = """
set -e
scratch=$(mktemp -d)
printf '[build]\\nbuild_base=%s\\n[egg_info]\\negg_base=%s\\n' "$scratch" "$scratch" >"$scratch/setup.cfg"
DIST_EXTRA_CONFIG=$scratch/setup.cfg /opt/reactor/bin/pip install -q --no-index --no-deps --no-build-isolation .
export PYTHONPATH=tests/matrix:tests/systemd
exec /opt/reactor/bin/python -m pytest -n0 -p no:cacheprovider "$@"
"""
LONGEST_MAKING, LONGEST_RUN = 3600, 1800
"""In seconds."""


def made_root() -> Path:
    """The directory of the Debian 13; makes it where it is missing."""
    key = hashlib.sha256(LOCK.read_bytes() + repr(PACKAGES).encode()).hexdigest()[:16]
    root = CACHE / key
    if not root.exists():
        half = CACHE / f"{key}.{os.getpid()}"
        try:
            make_root(half)
            half.rename(root)
        finally:
            shutil.rmtree(half, ignore_errors=True)
    return root


def make_root(root: Path) -> None:
    """Make a Debian 13 at ``root``."""
    if shutil.which("debootstrap") is None:
        sys.exit("there is no debootstrap: apt-get install debootstrap")
    root.mkdir(parents=True)
    bootstrap = [
        "debootstrap",
        "--variant=minbase",
        f"--include={','.join(PACKAGES)}",
        "trixie",
        root,
        MIRROR,
    ]
    subprocess.run(bootstrap, check=True, timeout=LONGEST_MAKING)
    # The network is that of this machine, with the authorities that it trusts.
    for path in ("/etc/resolv.conf", "/etc/ssl/certs/ca-certificates.crt"):
        shutil.copy(path, f"{root}{path}")
    shutil.copy(LOCK, root / "opt" / "lock")
    pip = {"PIP_ONLY_BINARY": ":all:", **os.environ}
    chroot = [
        "unshare",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "chroot",
        root,
        "bash",
        "-c",
        LIBRARIES,
    ]
    subprocess.run(chroot, check=True, env=pip, timeout=LONGEST_MAKING)


def main(arguments: list[str]) -> int:
    """The exit code of pytest."""
    root = made_root()
    chosen = [argument for argument in arguments if Path(argument.partition("::")[0]).exists()]
    tests = [] if chosen else sorted(map(str, HERE.glob("on_*.py")))
    boot = [HERE.parent / "systemd" / "with-systemd", "bash", "-c", IN_THERE, "bash", *tests, *arguments]
    world = {**os.environ, "WITH_SYSTEMD_ROOT": str(root)}
    return subprocess.run(boot, cwd=CHECKOUT, env=world, timeout=LONGEST_RUN, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
