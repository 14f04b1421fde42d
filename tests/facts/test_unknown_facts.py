"""A fact that could not be found out is not there: it is neither empty nor zero."""

import pytest

from reactor.documents import read_values
from reactor.facts import cpu, host, memory, network, partition
from reactor.facts.facts import Facts
from reactor.facts.host import distribution
from reactor.loading import load
from reactor.manifest.inputs import Inputs
from reactor.resource.diagnostic import ManifestError


def refuse(*_arguments):
    raise OSError(24, "Too many open files")


@pytest.mark.parametrize(
    ("module", "reader", "path"),
    [
        (network, "links", ("network", "default_ipv4")),
        (network, "links", ("network", "addresses")),
        (cpu, "read", ("cpu", "info")),
        (memory, "numbers", ("memory", "virtual", "total")),
        (memory, "read_if_there", ("memory", "swap", "devices")),
        (partition, "read_mounts", ("partition", "partitions")),
        (host, "distribution", ("host", "info", "platformFamily")),
    ],
)
def test_what_the_kernel_does_not_report_is_missing_and_stops_a_manifest(
    module, reader, path, monkeypatch, tmp_path
):
    monkeypatch.setattr(module, reader, refuse)
    facts = Facts(parse=read_values, where=(), timeout=60.0)
    found = facts
    for key in path[:-1]:
        found = found[key]
    assert path[-1] not in found
    assert any("Too many open files" in note for note in facts.notes)

    manifest = tmp_path / "m.yaml"
    manifest.write_text(f"resources: [{{exec: [{{'/bin/echo {{{{ Facts.{'.'.join(path)} }}}}': {{}}}}]}}]\n")
    with pytest.raises(ManifestError, match=f"has no key '{path[-1]}'"):
        load(str(manifest), Inputs(facts))


def test_what_else_is_known_of_the_host_stays(monkeypatch):
    monkeypatch.setattr(host, "distribution", refuse)
    assert Facts(parse=read_values, where=())["host"]["info"]["os"] == "linux"


def test_an_os_release_that_cannot_be_read_is_not_a_host_of_no_family(tmp_path):
    (tmp_path / "os-release").mkdir()
    with pytest.raises(IsADirectoryError):
        distribution(str(tmp_path))
    (tmp_path / "os-release").rmdir()
    assert distribution(str(tmp_path)).family == ""


def test_no_way_to_the_internet_is_known(monkeypatch):
    def unreachable(*_arguments):
        raise OSError(101, "Network is unreachable")

    monkeypatch.setattr(network.socket.socket, "connect", unreachable)
    assert network.network()["default_ipv4"] == ""
