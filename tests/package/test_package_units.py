"""A service goes after the package that its unit comes from."""

import pytest

from reactor.graph.build import build
from reactor.resources.package import Package
from reactor.resources.package.dpkg_database import DpkgDatabase
from reactor.resources.service import Service

LISTED = """/.
/usr/lib/systemd/system/ssh.service
/usr/lib/systemd/system/ssh@.service
/usr/sbin/sshd
"""


@pytest.fixture
def database(tmp_path, monkeypatch):
    (tmp_path / "info").mkdir()
    (tmp_path / "info/openssh-server.list").write_text(LISTED)
    database = DpkgDatabase(str(tmp_path), "/nowhere")
    monkeypatch.setattr(
        Package, "_provider", type("Provider", (), {"name": "apt", "database": database, "settings": ()})()
    )
    return database


@pytest.mark.parametrize(
    ("package", "ensure", "unit", "ordered"),
    [
        ("nginx", "present", "nginx", True),
        ("nginx", "1.2-3", "nginx.service", True),
        ("nginx", "present", "apache2", False),
        ("openssh-server", "present", "ssh", True),
        ("openssh-server", "present", "ssh@1", True),
    ],
)
def test_a_service_goes_after_the_package_of_its_unit(database, package, ensure, unit, ordered):
    resources = [Service(name=unit), Package(name=package, ensure=ensure)]
    graph, problems = build(resources)
    assert problems == []
    edges = [(edge.first, edge.second, str(edge.kind)) for edge in graph.edges]
    assert edges == ([(f"package#{package}", f"service#{unit}", "automatic")] if ordered else [])


@pytest.mark.parametrize(("package", "unit"), [("nginx", "nginx"), ("openssh-server", "ssh@1")])
def test_a_service_is_stopped_before_its_package_goes(database, package, unit):
    graph, problems = build([Package(name=package, ensure="absent"), Service(name=unit, ensure="stopped")])
    assert problems == []
    assert [(edge.first, edge.second) for edge in graph.edges] == [(f"service#{unit}", f"package#{package}")]


def test_a_package_that_is_not_installed_lists_nothing(database):
    assert database.units("nginx") == []
