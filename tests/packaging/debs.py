"""The package, the version before it, and which releases are asked for."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIFE = Path(__file__).parent / "life-of-a-package"
_NOT_SOURCES = (".git", ".venv", ".*_cache", ".hypothesis", "__pycache__", "build", "dist", "*.egg-info")


def copy_of_checkout(target: Path) -> Path:
    """This checkout as it is now, without what tools have made in it."""
    return Path(shutil.copytree(ROOT, target, symlinks=True, ignore=shutil.ignore_patterns(*_NOT_SOURCES)))


def version_before(deb: Path, target: Path) -> Path:
    """The package at ``deb`` as an older one, with a module that the new one does not have any more."""
    unpacked = target / "unpacked"
    subprocess.run(["dpkg-deb", "-R", deb, unpacked], check=True)
    control = unpacked / "DEBIAN/control"
    control.write_text(re.sub(r"(?m)^Version: ", r"\g<0>0.0.1~", control.read_text()))
    (site,) = unpacked.glob("opt/reactor/lib/python3*/site-packages")
    (site / "reactor/of_the_version_before.py").write_text("")
    before = target / "before.deb"
    build = ["dpkg-deb", "--root-owner-group", "-Zzstd", "-z1", "--build", unpacked, before]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(unpacked)
    return before


def named_among(known: Sequence[str], words: list[str], about: str | None) -> Sequence[str]:
    """Those of ``known`` that are named, or all. Ends the program for any other word, and for --help."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="|".join(known))
    names = parser.parse_args(words).names
    for name in names:
        if name not in known:
            parser.error(f"invalid choice: {name!r}")
    return names or known
