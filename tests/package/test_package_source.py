"""Packages installed from files and URLs: real .deb and .rpm files, by the real apt and dnf."""

from __future__ import annotations

import hashlib
import os
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from deb_packages import Deb
from loopback import LoopbackServer
from one_shot import checked
from property_problems import the_problem
from rpm_packages import Rpm, write_repository

from reactor.engine.events import Result
from reactor.graph.build import build
from reactor.resources.file import File
from reactor.resources.package import Package, package_files
from reactor.resources.process import run
from reactor.testing.story import converge_once


@contextmanager
def serving(content: bytes):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    with LoopbackServer(Handler) as server:
        server.asked = []
        yield server


@pytest.fixture(scope="session")
def rpm_files(tmp_path_factory):
    directory = tmp_path_factory.mktemp("rpm-files")
    rpms = [Rpm("extra", version, requires="app >= 2.0") for version in ("1.0", "2.0")]
    write_repository(directory / "files", rpms)
    return [next((directory / "files").rglob(f"extra-{version}-1.*.rpm")) for version in ("1.0", "2.0")]


@pytest.fixture
def files(host, tmp_path, request):
    """Versions 1.0 and 2.0 of `extra`, which no repository has and which needs `app` 2.0."""
    if host.manager == "dnf":
        return request.getfixturevalue("rpm_files")
    paths = []
    for version in ("1.0", "2.0"):
        paths.append(tmp_path / f"extra_{version}_all.deb")
        paths[-1].write_bytes(Deb("extra", version, depends="app (>= 2.0)").content())
    return paths


def extra(host, source, ensure="present", **properties):
    return Package(name="extra", ensure=ensure, provider=host.manager, source=str(source), **properties)


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def installed(host) -> str:
    """The version of `extra` that is there."""
    return host.packages["extra"].removeprefix("0:")


async def test_a_package_is_installed_from_a_file_with_what_it_depends_on(host, files):
    check = await checked(extra(host, files[0], checksum=digest(files[0])))
    assert (check.error, check.result) == (None, Result.CHANGED)
    assert "also installed app" in check.actions[0]
    assert host.packages.keys() == {"extra", "app"}
    assert installed(host).startswith("1.0")


async def test_what_is_installed_starts_no_program_and_needs_no_file(host, files, monkeypatch):
    await checked(extra(host, files[0]))

    async def refuse(*_):
        raise AssertionError("a program was started")

    monkeypatch.setattr("reactor.resources.package.commands.run", refuse)
    assert (await checked(extra(host, "/nonexistent/extra" + files[0].suffix))).result is Result.OK


async def test_present_is_the_version_that_the_file_holds_up_and_down(host, files, tmp_path):
    source = tmp_path / f"extra{files[0].suffix}"
    for file, version in ((files[0], "1.0"), (files[1], "2.0"), (files[0], "1.0")):
        source.write_bytes(file.read_bytes())
        check = await checked(extra(host, source))
        assert (check.error, check.result) == (None, Result.CHANGED)
        assert installed(host).startswith(version)
    source.write_bytes(files[1].read_bytes())
    check = await checked(extra(host, source), noop=True)
    assert check.actions[0].startswith("Would have upgraded to 2.0")
    assert installed(host).startswith("1.0")


async def test_a_file_that_has_not_changed_is_read_once(host, files, monkeypatch):
    resource = extra(host, files[0])
    await checked(resource)
    assert (await checked(resource)).result is Result.OK

    async def refuse(*_):
        raise AssertionError("a program was started")

    monkeypatch.setattr("reactor.resources.package.commands.run", refuse)
    assert (await checked(resource)).result is Result.OK


async def test_a_dry_run_names_what_would_come_with_it_and_installs_nothing(host, files):
    check = await checked(extra(host, files[0]), noop=True)
    assert check.error is None
    assert check.actions[0].startswith(
        "Would have installed version present; would also have installed app 2."
    )
    assert host.packages == {}


async def test_another_version_is_installed_up_and_down(host, files):
    for file, version in ((files[0], "1.0"), (files[1], "2.0"), (files[0], "1.0")):
        wanted = version if host.manager == "apt" else f"{version}-1"
        check = await checked(extra(host, file, wanted))
        assert (check.error, check.result) == (None, Result.CHANGED)
        assert installed(host).startswith(version)
        assert (await checked(extra(host, file, wanted))).result is Result.OK


@pytest.mark.parametrize("noop", [True, False])
async def test_a_file_of_another_version_is_refused(host, files, noop):
    check = await checked(extra(host, files[0], "2.0"), noop=noop)
    assert check.error.startswith(f"{files[0]} holds version 1.0")
    assert check.error.endswith("of extra, and not 2.0")
    assert host.packages == {}


async def test_a_file_of_another_package_is_refused(host, files):
    resource = Package(name="other", ensure="present", provider=host.manager, source=str(files[0]))
    check = await checked(resource)
    assert check.error == f"{files[0]} holds the package extra, and not other"
    assert host.packages == {}


@pytest.mark.parametrize("noop", [True, False])
async def test_a_file_with_another_checksum_is_refused(host, files, noop):
    check = await checked(extra(host, files[0], checksum=digest(files[1])), noop=noop)
    assert check.error.startswith(
        f"{files[0]} has the SHA-256 {digest(files[0])}, and not {digest(files[1])}"
    )
    assert host.packages == {}


async def test_a_file_that_is_no_package_is_refused(host, files, tmp_path):
    broken = tmp_path / f"broken{files[0].suffix}"
    broken.write_text("nothing of the kind")
    check = await checked(extra(host, broken))
    assert check.error.startswith(f"{broken} is not a package")
    assert host.packages == {}


async def test_a_file_that_is_missing_is_named(host, files):
    check = await checked(extra(host, f"/nonexistent/extra{files[0].suffix}"))
    assert check.error.startswith("can't read the package /nonexistent/extra")


async def test_a_file_that_a_stranger_may_change_needs_a_checksum(host, files, tmp_path):
    theirs = tmp_path / f"theirs{files[0].suffix}"
    theirs.write_bytes(files[0].read_bytes())
    theirs.chmod(0o666)
    refused = await checked(extra(host, theirs))
    assert refused.error.startswith(f"the package {theirs} can't be trusted")
    assert host.packages == {}
    assert (await checked(extra(host, theirs, checksum=digest(theirs)))).result is Result.CHANGED


async def test_the_bytes_that_were_checked_are_installed(host, files, tmp_path, monkeypatch):
    """Somebody replaces the file once its name and version have been read."""
    file = tmp_path / f"mine{files[0].suffix}"
    file.write_bytes(files[0].read_bytes())
    commands = []

    async def replace_first(command, *more):
        commands.append(command.arguments)
        if "install" in command.arguments:
            file.write_bytes(files[1].read_bytes())
        return await run(command, *more)

    monkeypatch.setattr("reactor.resources.package.commands.run", replace_first)
    wanted = digest(files[0])
    check = await checked(extra(host, file, checksum=wanted))
    # The digest is that of the file as it is afterwards.
    assert check.error == f"{file} has the SHA-256 {digest(files[1])}, and not {wanted}"
    assert installed(host).startswith("1.0")
    copies = [word for words in commands for word in words if word.endswith(files[0].suffix)]
    assert copies
    assert not any(map(os.path.exists, copies))


async def test_a_package_comes_from_a_url_and_is_fetched_once(host, files):
    with serving(files[0].read_bytes()) as server:
        url = f"{server.base}/pool/extra{files[0].suffix}?token=1"
        check = await checked(extra(host, url, checksum=digest(files[0])))
        assert (check.error, check.result) == (None, Result.CHANGED)
        assert (await checked(extra(host, url, checksum=digest(files[0])))).result is Result.OK
        assert len(server.asked) == 1
    assert host.packages.keys() == {"extra", "app"}


async def test_a_url_with_another_checksum_is_refused(host, files):
    with serving(files[1].read_bytes()) as server:
        check = await checked(extra(host, f"{server.base}/extra{files[0].suffix}", checksum=digest(files[0])))
    assert f"has the SHA-256 {digest(files[1])}" in check.error
    assert host.packages == {}


async def test_packages_from_files_and_repositories_go_together(host, files, monkeypatch):
    transactions = []

    async def overhear(command, *more):
        transactions.extend(word for word in command.arguments if word == "install")
        return await run(command, *more)

    monkeypatch.setattr("reactor.resources.package.commands.run", overhear)
    ended, _ = await converge_once(
        extra(host, files[0]), Package(name="tiny0", ensure="present", provider=host.manager)
    )
    assert ended.counts[Result.CHANGED] == 2
    assert transactions == ["install"]
    assert host.packages.keys() == {"extra", "app", "tiny0"}


async def test_a_file_for_the_other_package_manager_is_refused(host):
    suffix, other = (".rpm", "dnf") if host.manager == "apt" else (".deb", "apt")
    problem = the_problem(Package, name="a", ensure="present", provider=host.manager, source=f"/a{suffix}")
    assert problem.message == f"{host.manager} can't install a {suffix} file: that is for {other}"


def test_a_package_goes_after_the_file_it_is_installed_from():
    file = File(name="/srv/a.deb", ensure="present", source="/b.deb", owner="root", group="root", mode="0644")
    package = Package(name="a", ensure="present", provider="apt", source="/srv/a.deb")
    graph, problems = build([package, file])
    assert not problems
    assert set(graph.dag.predecessors(package.ref)) == {file.ref}


@pytest.mark.parametrize(
    ("properties", "path"),
    [
        ({"ensure": "absent", "source": "/a.deb"}, ("source",)),
        ({"ensure": "latest", "source": "/a.deb"}, ("source",)),
        ({"ensure": "present", "checksum": "0" * 64}, ("checksum",)),
        ({"ensure": "present", "source": "/a.tar"}, ("source",)),
        ({"ensure": "present", "source": "ftp://example.com/a.deb"}, ("source",)),
        ({"ensure": "present", "source": "/a.deb", "checksum": "abc"}, ("checksum",)),
    ],
)
def test_what_makes_no_sense_is_refused(properties, path):
    assert the_problem(Package, name="a", **properties).path == path


def test_a_url_without_tls_and_checksum_is_warned_of():
    plain = Package(name="a", ensure="present", source="http://example.com/a.deb")
    assert [problem.path for problem in plain.warnings()] == [("source",)]
    for properties in ({"source": "https://example.com/a.deb"}, {"source": "/a.deb"}, {}):
        assert not list(Package(name="a", ensure="present", **properties).warnings())
    checked = Package(name="a", ensure="present", source="http://example.com/a.deb", checksum="0" * 64)
    assert not list(checked.warnings())


def test_the_suffixes_are_those_of_the_providers():
    assert package_files.SUFFIXES == {"apt": ".deb", "dnf": ".rpm"}
