"""A dry run tells that a package would overwrite a file of another, where the package is on this host already."""

import shutil

import pytest
from deb_packages import Deb
from dnf_root import DnfRoot
from rpm_packages import Rpm, write_repository

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resources.package import Package, providers
from reactor.testing.story import converge_once

NOOP, RUN = RunOptions(noop=True), RunOptions()
BOTH = "/usr/share/both file"
OWNER = Deb("owner", files={BOTH: "of the owner\n"})


async def check_of(host, name, options, **properties):
    resource = Package(name=name, ensure="present", provider=host.manager, **properties)
    _, story = await converge_once(resource, options=options)
    return story.checks(resource.ref)[0]


@pytest.fixture
def taken(apt):
    """A system where `owner` is installed, and a function that makes the file of another package."""
    apt.offer(OWNER)
    apt.update()
    apt.install("owner")

    def file_of(deb):
        path = apt.root / f"{deb.name}.deb"
        path.write_bytes(deb.content())
        return str(path)

    return apt, file_of


async def test_a_dry_run_refuses_a_file_that_would_overwrite_that_of_another_package(taken):
    apt, file_of = taken
    new = Deb("new", files={BOTH: "of the new one\n", "/usr/share/own": ""})
    check = await check_of(apt, "new", NOOP, source=file_of(new))
    assert check.error == f"can't install new: it would overwrite {BOTH}, which is also in package owner"
    assert check.hint.startswith(f"{BOTH} belongs to owner: have package#owner absent")
    check = await check_of(apt, "new", RUN, source=file_of(new))
    assert f"trying to overwrite '{BOTH}', which is also in package owner 1.0" in check.error
    assert apt.packages.keys() == {"owner"}


def divert(apt):
    apt.run("dpkg-divert", "--package", "new", "--no-rename", "--divert", f"{BOTH}.theirs", "--add", BOTH)


def allow(apt):
    (apt.root / "etc/dpkg/dpkg.cfg.d").mkdir(parents=True)
    (apt.root / "etc/dpkg/dpkg.cfg.d/local").write_text("force-overwrite\n")


def remove(apt):
    apt.apt_get("remove", "owner")


@pytest.mark.parametrize(
    ("fields", "prepare"),
    [
        ({"replaces": "other, owner (<< 2)"}, None),
        ({"conflicts": "owner"}, None),
        ({}, divert),
        ({}, allow),
        ({}, remove),
    ],
)
async def test_a_dry_run_refuses_no_file_that_dpkg_takes(taken, fields, prepare):
    apt, file_of = taken
    if prepare is not None:
        prepare(apt)
    source = file_of(Deb("new", files={BOTH: "of the new one\n"}, **fields))
    check = await check_of(apt, "new", NOOP, source=source)
    assert check.error is None
    if prepare is not allow:  # the dpkg of this test reads the configuration of the host
        check = await check_of(apt, "new", RUN, source=source)
        assert check.result is Result.CHANGED
        assert "new" in apt.packages


async def test_a_dry_run_knows_the_files_of_a_package_that_apt_has_downloaded_only(apt):
    apt.offer(OWNER, Deb("top", depends="below"), Deb("below", "1:2.0", files={BOTH: ""}))
    apt.update()
    apt.install("owner")
    check = await check_of(apt, "top", NOOP)
    assert check.actions == ("Would have installed version present; would also have installed below 1:2.0",)
    apt.apt_get("install", "--download-only", "top")
    check = await check_of(apt, "top", NOOP)
    assert check.error == f"can't install below: it would overwrite {BOTH}, which is also in package owner"


async def test_two_new_packages_with_one_file_are_refused(apt):
    own = "/usr/share/mine"
    one, two = Deb("one", files={own: ""}, depends="two"), Deb("two", files={own: ""})
    apt.offer(one, two)
    apt.update()
    apt.apt_get("install", "--download-only", "one")
    check = await check_of(apt, "one", NOOP)
    assert f"it would overwrite {own}, which is also in package" in check.error
    check = await check_of(apt, "two", NOOP)
    assert check.error is None


@pytest.fixture
def host(tmp_path, monkeypatch):
    """A system with a repository of files, two of whose packages have one file."""
    rpms = (Rpm("owner", file="both"), Rpm("new", file="both"), Rpm("top", requires="new"), Rpm("fine"))
    write_repository(tmp_path / "repository", rpms)
    root = DnfRoot(tmp_path / "system", tmp_path / "repository")
    monkeypatch.setitem(providers.made, "dnf", root.provider())
    root.install("owner")
    return root


async def test_a_dry_run_has_rpm_test_packages_that_are_on_this_host(host, tmp_path):
    (found,) = (tmp_path / "repository").rglob("new-1*.rpm")
    shutil.copy(found, tmp_path / "new.rpm")
    for name, source in (("top", None), ("new", None), ("new", str(tmp_path / "new.rpm"))):
        check = await check_of(host, name, NOOP, **({"source": source} if source else {}))
        assert "file /usr/share/both from install of new-0:1.0-1.noarch conflicts with file" in check.error
        assert check.hint.startswith("/usr/share/both belongs to owner")
    check = await check_of(host, "fine", NOOP)
    assert check.actions == ("Would have installed version present",)
    assert host.packages.keys() == {"owner"}
