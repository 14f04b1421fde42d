"""What is inside goes first, whatever kind it is of, and what is to be there comes after."""

from __future__ import annotations

import itertools

import pytest
from graph_samples import Path, Thing, edges, graph_of

from reactor.resources.accounts import User
from reactor.resources.archive import Archive
from reactor.resources.exec import Exec
from reactor.resources.file import File
from reactor.resources.mount import Mount
from reactor.resources.package import Package
from reactor.resources.repository import Repository
from reactor.resources.scaffold import Scaffold
from reactor.resources.service import Service
from reactor.testing import story

OWNER = {"owner": "root", "group": "root"}


def gone(path):
    return File(name=path, ensure="absent")


def there(path):
    return File(name=path, ensure="present", mode="0644", content="x", **OWNER)


def directory(path):
    return File(name=path, ensure="directory", mode="0755", **OWNER)


def unmounted(path, ensure="absent"):
    return Mount(name=path, ensure=ensure, device="tmpfs", fstype="tmpfs")


ADA = User(name="ada", ensure="absent", home="/home/ada", manage_home=True)
NGINX = Package(name="nginx", ensure="absent", provider="apt")
OLD = Repository(name="old", ensure="absent", provider="apt")
TREE = Scaffold(name="/srv/app", ensure="absent", source="/srv/templates")

IN_THIS_ORDER = {
    "a mount in a mount": [unmounted("/mnt/in"), unmounted("/mnt")],
    "three mounts": [unmounted("/m/a/b"), unmounted("/m/a", "unmounted"), unmounted("/m")],
    "a file in a mount": [gone("/mnt/x"), unmounted("/mnt")],
    "a file in a directory in a mount": [gone("/mnt/d/x"), gone("/mnt/d"), unmounted("/mnt", "unmounted")],
    "a mount and its mount point": [unmounted("/mnt"), gone("/mnt")],
    "a mount in a directory": [unmounted("/srv/mnt"), gone("/srv")],
    "an archive in a mount": [Archive(name="/mnt/x.zip", ensure="absent", url="http://h/x.zip", **OWNER), unmounted("/mnt")],
    "a tree in a mount": [TREE, unmounted("/srv")],
    "what comes in place of a mount": [unmounted("/mnt"), there("/mnt/x")],
    "a mount in place of another": [unmounted("/mnt"), Mount(name="/mnt/in", device="tmpfs", fstype="tmpfs")],
    "a command in a mount": [Exec(name="/mnt/bin/end"), unmounted("/mnt")],
    "a command that is put where a mount was": [unmounted("/mnt"), there("/mnt/end"), Exec(name="/mnt/end")],
    "a file in a home": [gone("/home/ada/x"), ADA],
    "a mount on a home": [unmounted("/home/ada"), ADA],
    "what comes in place of a home": [ADA, directory("/home/ada"), there("/home/ada/x")],
    "a service of a package": [Service(name="nginx", ensure="stopped"), NGINX],
    "a unit in place of that of a package": [
        NGINX, there("/usr/lib/systemd/system/nginx.service"), Service(name="nginx", ensure="running"),
    ],
    "a package from what is left": [OLD, Package(name="web", ensure="present", provider="apt")],
    "a file in a tree": [gone("/srv/app/x"), TREE],
    "a tree and its templates": [TREE, gone("/srv/templates/x"), gone("/srv/templates")],
    "a template of a tree that stays": [
        gone("/srv/templates/x"), Scaffold(name="/srv/app", ensure="present", source="/srv/templates"),
    ],
    "a drop-in of a service": [gone("/etc/systemd/system/web.service.d/x.conf"), Service(name="web", ensure="running")],
}  # fmt: skip


@pytest.mark.parametrize("resources", IN_THIS_ORDER.values(), ids=IN_THIS_ORDER)
def test_each_goes_before_the_next_in_whatever_order_they_are_declared(resources):
    for declared in itertools.permutations(resources):
        graph = story.graph_of(declared)
        pairs = {(edge.first, edge.second) for edge in graph.edges}
        expected = [(first.ref, second.ref) for first, second in itertools.pairwise(resources)]
        assert [pair for pair in expected if pair not in pairs] == []


def clears(name, *paths):
    return Thing(name=name, clearing=paths)


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        pytest.param([clears("t", "/a/"), Path(name="/a")], [], id="only what is below"),
        pytest.param([clears("t", "/a"), Path(name="/a")], [("t", "/a")], id="also what is at it"),
        pytest.param([clears("t", "/a/"), Path(name="/ab")], [], id="no neighbour"),
        pytest.param([clears("s", "/a"), clears("t", "/a")], [], id="two that clear the same"),
        pytest.param([clears("s", "/a/b"), clears("t", "/a")], [("s", "t")], id="from the bottom up"),
        pytest.param([Thing(name="s", clearing=("/a",), using=("/a/b",))], [], id="never to itself"),
    ],
)
def test_edges_follow_from_what_is_cleared(resources, expected):
    assert edges(graph_of(*resources)) == dict.fromkeys(expected, "automatic")
