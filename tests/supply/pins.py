"""What pyproject.toml asks for, and what the lock files pin."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

PLAIN, DEV = "requirements.lock", "requirements-dev.lock"
TOOLS = ["requirements-lock.lock", "requirements-mutation.lock"]
PYTHONS = ["3.11.2", "3.12.0", "3.13.0", "3.14.0", "3.15.0"]
"""3.11.2 is that of Debian 12."""


def machine(python, extra):
    """What markers are evaluated against: CPython of that version on Linux."""
    return {
        "python_version": python.rpartition(".")[0],
        "python_full_version": python,
        "sys_platform": "linux",
        "platform_system": "Linux",
        "platform_machine": "x86_64",
        "os_name": "posix",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "extra": extra,
    }


def applies(requirement, python, extra=""):
    return requirement.marker is None or requirement.marker.evaluate(machine(python, extra))


def declared(*, dev):
    """The requirements in pyproject.toml, with those of the build, and of a fleet."""
    extras = PROJECT["project"]["optional-dependencies"]
    lines = [*PROJECT["build-system"]["requires"], *PROJECT["project"]["dependencies"]]
    for extra in extras.values() if dev else [extras["fleet"]]:
        lines += [line for line in extra if not line.startswith("reactor-converge[")]
    return [Requirement(line) for line in lines]


def entries(lock):
    """The entries of a lock file: each a requirement with the text of its options."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / lock).read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    for line in filter(str.strip, text.splitlines()):
        requirement, *options = re.split(r"\s+(?=--)", line.strip())
        yield Requirement(requirement), options


def pinned(lock, python):
    """The version of each library that this Python gets, by its canonical name."""
    found = {}
    for requirement, _ in entries(lock):
        if applies(requirement, python):
            (pin,) = requirement.specifier
            name = canonicalize_name(requirement.name)
            assert name not in found, f"{lock} has two versions of {name} for Python {python}"
            found[name] = pin.version
    return found
