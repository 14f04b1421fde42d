"""A symlink or a bind mount above gives one file two names: the graph takes them for one file."""

import os

import pytest
from graph_samples import Path, Thing, built

from reactor.graph.graph import EdgeKind
from reactor.resource.relations import Claim


class Managed(Path, kind="managed"):
    """A path that is claimed as the file kind claims it."""

    mode: str = "0644"

    def claims(self):
        yield Claim("path", self.name, {"ensure": self.ensure, "mode": self.mode})


class Mounted(Thing, kind="mounted"):
    """A mount point that is claimed as the mount kind claims it."""

    device: str

    def claims(self):
        yield Claim("mount point", self.name, {"device": self.device})


class Purging(Path, kind="purging"):
    """A directory in which everything is removed that nobody manages."""

    def relations(self):
        return super().relations()._replace(purges=self.name)


@pytest.fixture
def host(tmp_path):
    """A directory ``real`` with ``sub`` in it, and a symlink ``ln`` to it."""
    (tmp_path / "real" / "sub").mkdir(parents=True)
    (tmp_path / "ln").symlink_to("real")
    return tmp_path


def problems(*resources):
    return built(*resources)[1]


def edges(*resources):
    graph, found = built(*resources)
    assert found == []
    return {(edge.first, edge.second) for edge in graph.edges if edge.kind is EdgeKind.AUTOMATIC}


def test_two_names_of_one_file_that_want_different_things_are_refused_with_both_names(host):
    first, second = Managed(name=f"{host}/real/f"), Managed(name=f"{host}/ln/f", mode="0600")
    (problem,) = problems(first, second)
    assert problem.message == (
        f"{first.ref} and {second.ref} do not agree on mode of the path {host}/ln/f, which is {host}/real/f as well"
    )
    assert problem.place.line == 2
    assert [place.line for _, place in problem.notes] == [1]


def test_two_names_that_want_the_same_are_no_problem(host):
    assert problems(Managed(name=f"{host}/real/f"), Managed(name=f"{host}/ln/f")) == []


def test_a_chain_of_symlinks_and_dots_is_followed(host):
    (host / "real" / "up").symlink_to("../ln/./sub")
    (host / "absolute").symlink_to(host / "real" / "up")
    (problem,) = problems(
        Managed(name=f"{host}/real/sub/f"), Managed(name=f"{host}/absolute/f", ensure="absent")
    )
    assert "do not agree on ensure" in problem.message


def test_symlinks_in_a_circle_lead_nowhere(host):
    (host / "x").symlink_to("y")
    (host / "y").symlink_to("x")
    assert problems(Managed(name=f"{host}/x/f"), Managed(name=f"{host}/real/f", mode="0600")) == []


def test_a_path_of_thousands_of_directories_is_no_problem():
    assert (
        problems(Managed(name="/a" * 3000, ensure="directory"), Managed(name="/a" * 3000 + "/b", mode="0600"))
        == []
    )


def test_a_directory_that_is_still_missing_is_compared_where_it_would_be(host):
    (problem,) = problems(
        Managed(name=f"{host}/real/later/f"), Managed(name=f"{host}/ln/later/f", mode="0600")
    )
    assert "do not agree on mode" in problem.message


def test_the_last_name_is_not_followed(host):
    (host / "real" / "to").symlink_to("f")
    assert problems(Managed(name=f"{host}/real/f"), Managed(name=f"{host}/real/to", mode="0600")) == []


def test_a_symlink_that_the_manifest_manages_is_not_believed(host):
    """It is to be a directory: then there are two files."""
    resources = [Managed(name=f"{host}/ln", ensure="directory", mode="0755"), Managed(name=f"{host}/real/f")]
    assert problems(*resources, Managed(name=f"{host}/ln/f", mode="0600")) == []


def test_a_bind_mount_gives_a_second_name(host):
    (host / "bound").mkdir()
    os.system(f"mount --bind {host}/real {host}/bound")
    try:
        (problem,) = problems(Managed(name=f"{host}/real/f"), Managed(name=f"{host}/bound/f", mode="0600"))
    finally:
        os.system(f"umount {host}/bound")
    assert "do not agree on mode" in problem.message


def test_two_names_of_one_mount_point_are_refused(host):
    (problem,) = problems(
        Mounted(name=f"{host}/real/sub", device="a"), Mounted(name=f"{host}/ln/sub", device="b")
    )
    assert "do not agree on device of the mount point" in problem.message


def test_what_is_to_be_below_another_name_of_a_directory_that_goes_is_a_problem(host):
    gone, kept = Managed(name=f"{host}/real/sub", ensure="absent"), Managed(name=f"{host}/ln/sub/f")
    (problem,) = problems(gone, kept)
    assert problem.message == f"{gone.ref} removes {gone.name}, and {kept.ref} needs {kept.name}"


def test_a_file_waits_for_its_directory_by_whatever_name(host):
    directory, file = Path(name=f"{host}/real/sub"), Path(name=f"{host}/ln/sub/f")
    assert edges(directory, file) == {(directory.ref, file.ref)}


def test_a_file_waits_for_what_its_symlinked_directory_leads_to(host):
    directory, file = Path(name=f"{host}/real"), Path(name=f"{host}/ln/f")
    assert edges(directory, file) == {(directory.ref, file.ref)}


def test_what_creates_a_path_is_waited_for_by_another_name(host):
    """As ``creates`` of exec: it is no claim, and still an edge."""
    command = Thing(name="make", providing=(f"{host}/ln/made",))
    user = Thing(name="use", using=(f"{host}/real/made/f",))
    assert edges(command, user) == {(command.ref, user.ref)}


def test_what_is_managed_by_another_name_is_not_purged(host):
    purging, kept = Purging(name=f"{host}/real/sub"), Path(name=f"{host}/ln/sub/f")
    built(purging, kept)
    assert purging.declared.managed_paths == {f"{host}/real/sub/f"}
