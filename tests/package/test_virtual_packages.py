"""Names that packages provide, and files that two of them have."""

from __future__ import annotations

import pytest
from deb_packages import Deb
from one_shot import checked
from package_checks import package
from rpm_packages import Rpm, write_repository

from reactor.engine.events import Result


@pytest.fixture
def mail(host, tmp_path):
    """Two packages provide `mta`, one provides `editor`; `real` is a package, and another one provides it, too."""
    shared = {"files": {"/usr/share/common": "x"}}
    if host.manager == "apt":
        host.offer(
            Deb("exim", provides="mta"), Deb("postfix", provides="mta (= 1.0), smtp"), Deb("vim", provides="editor"),
            Deb("real"), Deb("fake", provides="real"), Deb("one", **shared), Deb("other", **shared),
        )  # fmt: skip
        host.update()
    else:
        rpms = (
            Rpm("exim", provides="mta"), Rpm("postfix", provides="mta = 1.0"), Rpm("vim", provides="editor"),
            Rpm("real"), Rpm("fake", provides="real"), Rpm("one", file="common"), Rpm("other", file="common"),
        )  # fmt: skip
        write_repository(tmp_path / "mail", rpms)
        host.describe("mail", f"file://{tmp_path}/mail")
    return host


async def test_a_virtual_package_is_there_when_something_provides_it(mail):
    mail.install("postfix")
    check = await checked(package(mail, "mta"))
    assert (check.error, check.result) == (None, Result.OK)
    assert mail.packages.keys() == {"postfix"}


async def test_a_virtual_package_that_one_provides_is_installed_by_that(mail):
    would = await checked(package(mail, "editor"), noop=True)
    assert would.actions[0].startswith("Would have installed version present; would also have installed vim")
    check = await checked(package(mail, "editor"))
    assert (check.error, check.result) == (None, Result.CHANGED)
    assert mail.packages.keys() == {"vim"}
    assert (await checked(package(mail, "editor"))).result is Result.OK


async def test_of_several_that_provide_it_the_error_names_them(mail):
    check = await checked(package(mail, "mta"))
    assert check.error == '"mta" is a virtual package, and several provide it'
    assert check.hint == "name one of its providers: exim, postfix"
    assert mail.packages == {}


async def test_a_virtual_package_has_no_versions(mail):
    check = await checked(package(mail, "editor", "1.0"))
    assert check.error == '"editor" is a virtual package, which has no versions'


async def test_what_only_provides_a_name_stays_when_that_is_absent(mail):
    mail.install("postfix")
    for options in ({"noop": True}, {}):
        check = await checked(package(mail, "mta", "absent"), **options)
        assert (check.error, check.result) == (None, Result.OK)
        assert mail.packages.keys() == {"postfix"}


async def test_a_package_that_is_real_is_installed_whoever_provides_it(mail):
    mail.install("fake")
    check = await checked(package(mail, "real"))
    assert (check.error, check.result) == (None, Result.CHANGED)
    assert mail.packages.keys() == {"fake", "real"}


async def test_a_file_of_two_packages_is_reported_with_whom_it_belongs_to(mail):
    mail.install("one")
    check = await checked(package(mail, "other"))
    assert check.result is Result.FAILED
    assert "/usr/share/common" in check.error
    assert "/usr/share/common belongs to one: have package#one absent" in check.hint
