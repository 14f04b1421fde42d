"""Which packages a manifest may name, and how it is told of others."""

from __future__ import annotations

import pytest
from property_problems import the_problem

from reactor.graph.build import build
from reactor.resource.plan import Action
from reactor.resources.file import File
from reactor.resources.package import Package, PackageState
from reactor.resources.repository import Repository


@pytest.mark.parametrize("name", ["a;b", "a|b", "a&b", "$(id)", "a`id`", "a'b", 'a"b', "a\nb", "a*", "{a,b}"])
def test_a_dangerous_name_is_refused(name):
    problem = the_problem(Package, name=name, ensure="present")
    assert problem.message == f'package name contains dangerous characters: "{name}"'


@pytest.mark.parametrize("name", ["a/b", "a@b", "a b", "../a", "-o", "--root=x", "+a", "ä", "a=1"])
def test_an_invalid_name_is_refused(name):
    problem = the_problem(Package, name=name, ensure="present")
    assert (
        problem.message
        == f'package name contains invalid characters: "{name}" (allowed: alphanumeric, ._+:~-)'
    )


@pytest.mark.parametrize("ensure", ["1.0;id", "1.0 -o x", "$(id)", "-1.0", "1.0/testing", "1*", "1\n2"])
def test_a_dangerous_version_is_refused(ensure):
    problem = the_problem(Package, name="app", ensure=ensure)
    assert problem.message == f'package version/ensure contains dangerous characters: "{ensure}"'


def test_an_empty_version_is_refused_as_such():
    assert the_problem(Package, name="app", ensure="").message == "package version/ensure cannot be empty"


def test_a_misspelt_state_is_no_version():
    problem = the_problem(Package, name="app", ensure="presnt")
    assert problem.path == ("ensure",)
    assert "not a version" in problem.message


@pytest.mark.parametrize(
    "name", ["nginx", "g++", "libc6:i386", "libstdc++6", "python3.11", "a~b", "Glibc.i686", "a_b"]
)
def test_names_of_packages_are_taken(name):
    assert Package(name=name, ensure="present").ref == f"package#{name}"


@pytest.mark.parametrize(
    "ensure", ["1.24.0-1", "1:2.0-3", "2:1.0.0+git-20190109-0ubuntu2", "5.9-8+b18", "1.0~rc1", "1.0^git1"]
)
def test_versions_are_taken(ensure):
    assert Package(name="app", ensure=ensure).ensure == ensure


def test_packages_go_after_repositories_and_settings_of_the_package_manager():
    repository = Repository(name="tiny", provider="apt", url="https://packages.example.com")
    settings = File(
        name="/etc/apt/apt.conf.d/99proxy",
        ensure="present",
        content="",
        owner="root",
        group="root",
        mode="0644",
    )
    wanted = Package(name="app", ensure="present", provider="apt")
    unwanted = Package(name="old", ensure="absent", provider="apt")
    graph, problems = build([wanted, unwanted, repository, settings])
    assert not problems
    assert set(graph.dag.predecessors(wanted.ref)) == {repository.ref, settings.ref}
    assert set(graph.dag.predecessors(unwanted.ref)) == set()


async def test_undoing_brings_back_the_version_that_was_there():
    package = Package(name="app", ensure="latest", provider="apt")
    assert (await package.reversal(PackageState("1.0-1", newest="2.0"))).ensure == "1.0-1"
    assert (await package.reversal(PackageState())).ensure == "absent"


def test_noop_says_what_apply_did():
    package = Package(name="app", ensure="2.0", provider="apt")
    (action,) = package.plan(PackageState("1.0"), refresh=False)
    assert isinstance(action, Action)
    assert (action.would, action.did) == ("Would have upgraded to 2.0", "upgraded to 2.0")


def test_a_version_of_more_digits_than_python_reads_is_refused():
    problem = the_problem(Package, name="app", ensure="1." + "1" * 5000)
    assert problem.message == "a version has 255 characters at most"


@pytest.mark.parametrize(
    ("ensure", "missing", "might"),
    [
        ("present", "/etc/app", True),
        ("present", "user#www-data", True),
        ("present", "/mnt/data", False),
        ("present", "/mnt", False),
        ("present", "/mntx", True),
        ("present", "/etc/reactor/templates/site.j2", False),
        ("present", "/home/ada/site/site.j2", False),
        ("absent", "/etc/app", False),
    ],
)
def test_a_dry_run_counts_on_no_package_for_what_none_brings(ensure, missing, might):
    assert Package(name="app", ensure=ensure).might_provide(missing) == might
