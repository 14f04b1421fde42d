"""Which change a dry run names for what a resource misses, when nothing orders the two."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from reactor.engine.noop import LaterProviders, concerns


class Brings:
    """A resource that provides ``paths``, might provide what begins with ``might``, and maybe ``more`` than it says."""

    def __init__(self, *paths, might="", more=False, kind="brings", name="brings"):
        self.name = name
        self.paths = paths
        self.might = might
        self.provides_more = more
        self.kind = kind

    def relations(self):
        return SimpleNamespace(provides=self.paths)

    def might_provide(self, missing):
        return missing.startswith(self.might)


def found(*resources, missing="/a/b", of=99, relied_on=()):
    return LaterProviders(range(len(resources)), resources).find(of, missing, relied_on)


def test_who_provides_it_goes_before_who_may_bring_more_than_it_says():
    assert found(Brings(more=True), Brings("/a/b")) == 1
    assert found(Brings(more=True), Brings("/elsewhere")) == 0
    assert found(Brings("/elsewhere"), Brings("/elsewhere/too")) is None


def test_the_first_of_several_is_named_and_never_the_one_that_misses_it():
    three = (Brings("/a/b"), Brings("/a/b"), Brings("/a/b"))
    assert found(*three) == 0
    assert found(*three, of=0) == 1
    assert found(*three, of=1) == 0
    assert found(Brings("/a/b"), of=0) is None
    packages = (Brings(more=True), Brings(more=True))
    assert (found(*packages), found(*packages, of=0), found(*packages, of=1)) == (0, 1, 0)


def test_who_misses_it_is_not_named_in_a_graph_of_hundreds_either():
    """Numbers that are equal are one object only up to 256."""
    many = [Brings("/elsewhere", might="/never")] * 300
    assert found(*many, Brings("/a/b"), of=int("300")) is None
    assert found(*many, Brings(more=True), of=int("300")) is None


@pytest.mark.parametrize("missing", ["visudo", "/etc/sudoers.d", "user#sudo"])
def test_a_package_of_a_similar_name_is_named_rather_than_the_first(missing):
    packages = [Brings(more=True, name=name) for name in ("nginx", "sudo", "postgresql")]
    assert found(*packages, missing=missing) == 1
    assert found(*packages, missing="user#postgres") == 2
    assert found(*packages, missing="/bin/other") == 0
    assert found(*packages, missing="/") == 0


def test_who_can_not_provide_it_is_not_named():
    assert found(Brings("/a/b", might="/never"), Brings("/a/b/c")) == 1
    assert found(Brings(more=True, might="/never")) is None


def test_a_path_that_it_relies_on_tells_who_brings_what_is_no_path():
    resources = (Brings("/bin/a"), Brings("/bin/b"))
    assert found(*resources, missing="user#x") is None
    assert found(*resources, missing="user#x", relied_on=["/bin/b"]) == 1
    assert found(*resources, missing="user#x", of=1, relied_on=["/bin/b"]) is None
    assert found(Brings("/bin/a", might="/"), missing="user#x", relied_on=["/bin/a"]) is None


def test_a_package_does_not_come_with_another_package():
    package = Brings(more=True, kind="package")
    assert found(package, missing="package#other") is None
    assert found(package, missing="user#x") == 0


@pytest.mark.parametrize(
    ("provided", "missing", "is_concerned"),
    [
        ("/a/b", "/a/b", True),
        ("/a/b", "/a/b/c", True),
        ("/a/b", "/a", True),
        ("/a/b", "/a/bc", False),
        ("/a/bc", "/a/b", False),
        ("/a", "/b", False),
    ],
)
def test_a_path_above_or_below_is_concerned_and_one_that_only_begins_so_is_not(
    provided, missing, is_concerned
):
    assert concerns(Brings("/unrelated", provided), missing) is is_concerned
