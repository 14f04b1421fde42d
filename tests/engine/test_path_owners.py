"""Which claims of two resources are about one thing."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from reactor.engine.path_owners import PathOwners, _is_same
from reactor.graph.graph import Claimed
from reactor.resource.base import Resource
from reactor.resource.plan import ResourceError
from reactor.resource.relations import MOUNT_POINTS, PATHS, UNITS, Claim

ANSWERING = SimpleNamespace(unresponsive_reason=lambda _: None)
FILE = {"ensure": "file", "content": "x"}
ATTRIBUTES = {"ensure": "present", "mode": "0644"}


@pytest.fixture
def names(tmp_path):
    """Two hard links of one file, two of another, a file without others, and both directories of the first by a second name."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/one").touch()
    os.link(tmp_path / "a/one", tmp_path / "a/two")
    (tmp_path / "a/third").touch()
    os.link(tmp_path / "a/third", tmp_path / "a/fourth")
    (tmp_path / "a/other").touch()
    (tmp_path / "b").symlink_to("a")
    return lambda path, desired=FILE: Claim(PATHS, f"{tmp_path}/{path}", desired)


def test_one_name_in_one_directory_is_one_thing_by_whatever_path(names):
    assert _is_same(names("a/one"), names("b/one"), ANSWERING)
    assert _is_same(names("a/missing"), names("b/missing"), ANSWERING)
    for ours, theirs in (("a/one", "b/other"), ("a/other", "b/one"), ("a/missing", "b/one")):
        assert not _is_same(names(ours), names(theirs), ANSWERING)


def test_hard_links_share_their_attributes_and_not_their_content(names):
    assert _is_same(names("a/one", ATTRIBUTES), names("b/two", ATTRIBUTES), ANSWERING)
    assert not _is_same(names("a/one"), names("b/two"), ANSWERING)
    assert not _is_same(names("a/one", ATTRIBUTES), names("b/two"), ANSWERING)
    assert not _is_same(names("a/one"), names("b/two", ATTRIBUTES), ANSWERING)
    assert not _is_same(names("a/other", ATTRIBUTES), names("b/missing", ATTRIBUTES), ANSWERING)
    assert not _is_same(names("a/one", ATTRIBUTES), names("a/third", ATTRIBUTES), ANSWERING)


def test_a_path_on_a_mount_that_does_not_answer_is_not_read(names):
    silent = SimpleNamespace(unresponsive_reason=lambda path: "no answer" if "/b/" in path else None)
    assert not _is_same(names("a/one"), names("b/one"), silent)
    assert _is_same(names("b/one"), names("b/one"), silent)


def test_units_are_equal_by_their_names_only():
    assert _is_same(Claim(UNITS, "a.service", {}), Claim(UNITS, "a.service", {}), ANSWERING)
    assert not _is_same(Claim(UNITS, "a.service", {}), Claim(UNITS, "b.service", {}), ANSWERING)


def compared(ours, *theirs):
    """What a resource with the claim ``ours`` is told of another with the claims ``theirs``."""
    other = SimpleNamespace(
        claims=lambda: theirs, ref="file#other", declared=SimpleNamespace(place="site.yaml:3")
    )
    owners = PathOwners(SimpleNamespace(resources={1: other}))
    try:
        owners._compare(0, ours, 1, ANSWERING)
    except ResourceError as error:
        assert not owners._is_owner(0), "who was refused owns nothing"
        return error.message
    return None


@pytest.mark.parametrize("spaces", [(PATHS, MOUNT_POINTS), (MOUNT_POINTS, PATHS)])
def test_a_mount_point_and_a_path_do_not_contradict_each_other(spaces):
    ours, theirs = (Claim(space, "/a", {"ensure": space}) for space in spaces)
    assert compared(ours, theirs) is None


def test_who_wants_the_same_or_something_else_agrees():
    ours = Claim(PATHS, "/a", {"ensure": "file", "mode": "0600"})
    assert compared(ours, Claim(PATHS, "/a", {"ensure": "file", "owner": "root"})) is None
    assert compared(ours, Claim(PATHS, "/b", {"ensure": "absent"})) is None


def test_who_disagrees_is_told_on_what_and_with_whom():
    ours = Claim(PATHS, "/a", {"ensure": "file", "mode": "0600"})
    theirs = (
        Claim(PATHS, "/b", {"ensure": "absent"}),
        Claim(PATHS, "/a", {"ensure": "absent", "mode": "0644"}),
    )
    assert compared(ours, *theirs) == "the path /a: file#other (site.yaml:3) declares another ensure and mode"


class Unit:
    """A resource that claims a unit. ``units`` has the keys and the stamp of all."""

    contradictions = Resource.contradictions
    declared = SimpleNamespace(place=None, deferred=None)

    def __init__(self, units, name, state):
        self.ref, self._units, self._name, self._state = f"service#{name}", units, name, state

    def claims(self):
        self._units.reads += 1
        yield Claim(UNITS, self._units.keys[self._name], {"ensure": self._state}, stamp=self._units.stamp)


class Units:
    """The vertex table of resources that claim units by ``keys``, and how often their claims were read."""

    def __init__(self, **keys):
        self.stamp, self.keys, self.reads = "now", keys, 0
        self.resources = [Unit(self, name, state) for name, state in zip(keys, "abc", strict=False)]
        self.refs = [each.ref for each in self.resources]
        self.claimed = Claimed(units=dict.fromkeys(self.refs))
        self.find = self.refs.index
        self._owners = PathOwners(self)

    def check(self, vertex):
        self.reads = 0
        mounts = SimpleNamespace(by_point=(), unresponsive_reason=lambda _: None)
        try:
            self._owners.require_agreement(vertex, mounts)
        except ResourceError as error:
            return error.message
        return None


def test_the_names_of_other_units_are_read_once_while_they_can_not_have_changed():
    units = Units(one="one", two="two", three="three")
    assert units.check(0) is None
    assert units.reads == 4  # its own, and all
    assert units.check(1) is None
    assert units.reads == 1


def test_a_unit_that_becomes_another_name_of_a_managed_one_is_refused():
    units = Units(one="one", two="two", three="three")
    assert units.check(0) is None
    units.keys["two"], units.stamp = "one", "later"
    assert units.check(0) == "the unit one: service#two declares another ensure"
    assert units.check(2) is None


def test_all_units_are_compared_while_their_names_may_change():
    units = Units(one="one", two="one")
    units.stamp = None
    assert "service#two declares another ensure" in units.check(0)
    units.keys["two"] = "two"
    assert units.check(0) is None
    assert units.check(0) is None
    assert units.reads == 2
