from functools import partial

import pytest
from apt_root import AptRoot
from deb_packages import Deb
from dnf_root import DnfRoot
from rpm_packages import Rpm, write_repository

from reactor.resources.package import providers

DEBS = (
    *(Deb("app", version, conffiles={"/etc/app.conf": f"from {version}\n"}) for version in ("1.0-1", "2.0-1", "2.1-1")),
    Deb("dependent", depends="app (>= 2.0)"),
    Deb("epoch", "1:0.5"),
    Deb("bad", scripts={"postinst": "exit 1"}),
    *(Deb(f"tiny{number}") for number in range(20)),
)  # fmt: skip
RPMS = (
    *(Rpm("app", *version) for version in (("1.0", "1"), ("2.0", "9.el9"), ("2.0", "10.el9"), ("2.1~rc1", "1"))),
    Rpm("dependent", requires="app >= 2.0"),
    Rpm("epoch", "0.5", epoch=1),
    Rpm("bad", before="error('it does not want to')"),
    *(Rpm(f"tiny{number}") for number in range(4)),
)  # fmt: skip


@pytest.fixture
def apt(tmp_path, monkeypatch):
    """A system of its own, whose lists are fetched; the provider `apt` works in it."""
    root = AptRoot(tmp_path / "system", *DEBS)
    root.update()
    monkeypatch.setitem(providers.made, "apt", root.provider())
    return root


@pytest.fixture
def forbid_programs(monkeypatch):
    """Once called, a program that is started for a package fails the test."""

    async def refuse(*_):
        raise AssertionError("a program was started")

    return partial(monkeypatch.setattr, "reactor.resources.package.commands.run", refuse)


@pytest.fixture(scope="session")
def rpm_repository(tmp_path_factory):
    directory = tmp_path_factory.mktemp("rpms")
    write_repository(directory / "repository", RPMS)
    return directory / "repository"


@pytest.fixture
def dnf(tmp_path, monkeypatch, rpm_repository):
    root = DnfRoot(tmp_path / "system", rpm_repository)
    monkeypatch.setitem(providers.made, "dnf", root.provider())
    return root


@pytest.fixture(params=["apt", "dnf"])
def host(request):
    """Either of both systems: what is alike in them has one test."""
    return request.getfixturevalue(request.param)
