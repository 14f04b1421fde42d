"""The lock files agree with pyproject.toml, with each other and with what is installed. None of this asks the network."""

import platform
import re
from importlib.metadata import requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pins import DEV, PLAIN, PYTHONS, TOOLS, applies, declared, entries, pinned

THIS_PYTHON = platform.python_version()
RUN = "run scripts/lock, and commit what it writes"


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("lock", [PLAIN, DEV])
def test_every_dependency_is_locked_within_its_bounds(lock, python):
    versions, requirements = pinned(lock, python), [*declared(dev=lock == DEV)]
    assert requirements
    for requirement in requirements:
        if applies(requirement, python):
            name = canonicalize_name(requirement.name)
            assert name in versions, f"{lock} has no {requirement.name} for Python {python}: {RUN}"
            assert requirement.specifier.contains(versions[name]), (
                f"{lock} has {versions[name]} of {requirement}: {RUN}"
            )


@pytest.mark.parametrize("lock", [PLAIN, DEV, *TOOLS])
def test_every_entry_of_a_lock_is_one_version_with_hashes_and_no_place_to_get_it_from(lock):
    found = list(entries(lock))
    assert found
    for requirement, options in found:
        assert [pin.operator for pin in requirement.specifier] == ["=="], requirement
        assert requirement.url is None
        assert options, f"{requirement} has no hashes"
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", option) for option in options), options


@pytest.mark.parametrize("python", PYTHONS)
def test_development_runs_on_the_versions_that_are_installed_without_it(python):
    plain, dev = pinned(PLAIN, python), pinned(DEV, python)
    assert {name: dev.get(name) for name in plain} == plain


def required(requirement):
    """What the installed library of that name requires, with these extras, on this Python."""
    lines = requires(requirement.name) or []
    for found in map(Requirement, lines):
        if any(applies(found, THIS_PYTHON, extra) for extra in ("", *requirement.extras)):
            yield found


@pytest.mark.parametrize("lock", [PLAIN, DEV])
def test_a_lock_has_what_its_libraries_require_and_nothing_else(lock):
    """pip installs every line of it, and looks at nothing that a library requires."""
    versions = pinned(lock, THIS_PYTHON)
    queue = [each for each in declared(dev=lock == DEV) if applies(each, THIS_PYTHON)]
    seen, reached = set(), set()
    while queue:
        requirement = queue.pop()
        if str(requirement) in seen:
            continue
        seen.add(str(requirement))
        name = canonicalize_name(requirement.name)
        assert name in versions, f"{lock} has no {name}: {RUN}"
        assert requirement.specifier.contains(versions[name]), (
            f"{lock}: {versions[name]} for {requirement}: {RUN}"
        )
        reached.add(name)
        queue += required(requirement)
    assert set(versions) == reached
