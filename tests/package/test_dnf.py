"""The real dnf and rpm, in a system of their own."""

from __future__ import annotations

import shutil
import sqlite3

import pytest
import trio
from dnf_root import DnfRoot
from rpm_packages import Rpm, add_module, write_repository

from reactor.engine.events import Cause, Output, Result
from reactor.resources.package import Package, providers
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once, running


def package(name, ensure="present", **properties):
    return Package(name=name, ensure=ensure, provider="dnf", **properties)


async def test_a_package_whose_record_is_damaged_is_not_taken_for_absent(dnf):
    dnf.dnf("install", "app-1.0")
    with sqlite3.connect(dnf.root / "var/lib/rpm/rpmdb.sqlite") as database:
        database.execute("UPDATE Packages SET blob = x'00000001000000010000000000000000'")
    database.close()
    for ensure in ("absent", "1.0"):
        ended, story = await converge_once(package("app", ensure))
        assert ended.counts[Result.FAILED] == 1
        assert "rpm can't list the installed packages" in story.checks("package#app")[0].error


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_packages_keep_the_contract_of_kinds(promise, dnf):
    await promise(
        Case(
            make=lambda: package("app", "1.0"),
            world=lambda: dnf.packages,
            spoil=lambda: dnf.dnf("upgrade", "app"),
        )
    )


async def test_versions_go_up_down_and_away(dnf):
    for ensure, installed, did in [
        ("1.0", "0:1.0-1", "installed version 1.0"),
        ("2.0-9.el9", "0:2.0-9.el9", "upgraded to 2.0-9.el9"),
        ("latest", "0:2.1~rc1-1", "upgraded to latest"),
        ("0:2.0", "0:2.0-10.el9", "downgraded to 0:2.0"),
        ("absent", None, "uninstalled"),
    ]:
        ended, story = await converge_once(package("app", ensure))
        assert ended.counts[Result.CHANGED] == 1
        assert story.checks("package#app")[0].actions == (did,)
        assert dnf.packages.get("app") == installed
        ended, _ = await converge_once(package("app", ensure))
        assert ended.changes == 0


async def test_a_script_that_fails_after_the_installation_is_told_although_dnf_succeeds(
    tmp_path, monkeypatch
):
    write_repository(tmp_path / "repository", [Rpm("half", after="error('no licence')")])
    dnf = DnfRoot(tmp_path / "system", tmp_path / "repository")
    monkeypatch.setitem(providers.made, "dnf", dnf.provider())
    ended, story = await converge_once(package("half"))
    assert ended.counts[Result.CHANGED] == 1
    said = [output.line for output in story.all(Output)]
    assert "dnf succeeded, although a script of a package failed:" in said
    assert any("no licence" in line for line in said)


async def test_a_version_without_its_release_matches_any(dnf):
    dnf.dnf("install", "app-2.0-9.el9")
    for ensure in ("2.0", "2.0-9.el9", "0:2.0-9.el9", "present"):
        ended, _ = await converge_once(package("app", ensure))
        assert ended.changes == 0


async def test_a_version_without_its_epoch_matches_any(dnf):
    for ensure in ("0.5", "1:0.5", "0.5-1", "1:0.5-1"):
        await converge_once(package("epoch", ensure))
    assert dnf.packages == {"epoch": "1:0.5-1"}


async def test_versions_that_dnf_installs_side_by_side_are_each_there_until_all_go(dnf):
    """As it does with kernels."""
    dnf.options += ("--setopt=installonlypkgs=app",)
    providers.made["dnf"] = dnf.provider()
    for ensure, installed in [
        ("2.0-9.el9", ["2.0-9.el9"]),
        ("latest", ["2.0-9.el9", "2.1~rc1-1"]),
        ("1.0", ["1.0-1", "2.0-9.el9", "2.1~rc1-1"]),
        ("absent", []),
    ]:
        for result in (Result.CHANGED, Result.OK):
            ended, _ = await converge_once(package("app", ensure))
            assert ended.counts[result] == 1
        assert dnf.versions("app") == installed
        ended, _ = await converge_once(package("app", installed[0] if installed else "absent"))
        assert ended.counts[Result.OK] == 1


async def test_a_bad_one_and_an_unknown_one_fail_alone(dnf):
    ended, story = await converge_once(
        package("tiny0"), package("bad"), package("tiny1"), package("nosuch"), package("tiny2.noarch", "1.0")
    )
    assert ended.counts[Result.CHANGED] == 3
    assert set(dnf.packages) == {"tiny0", "tiny1", "tiny2"}
    assert story.checks("package#nosuch")[0].error == 'no repository has a package "nosuch"'
    assert story.checks("package#bad")[0].error.startswith('failed to install package "bad", dnf exited 1')


async def test_an_error_quotes_what_dnf_names_as_the_cause(dnf, tmp_path):
    knot = Rpm("knot", requires=", ".join(f"nowhere{number}" for number in range(4)))
    write_repository(tmp_path / "knots", [knot])
    dnf.describe("knots", f"file://{tmp_path}/knots")
    _, story = await converge_once(package("knot"))
    error = story.checks("package#knot")[0].error
    assert all(f"nothing provides nowhere{number} needed by knot" in error for number in range(4))
    assert "Problem: conflicting requests" in error


async def test_what_came_with_a_package_does_not_go_with_it_if_it_is_to_be_present(dnf):
    dnf.dnf("install", "dependent")
    ended, _ = await converge_once(package("app"), package("dependent", "absent"))
    assert ended.counts[Result.FAILED] == 0
    assert set(dnf.packages) == {"app"}


@pytest.mark.parametrize(
    ("setting", "cause"),
    [("", "you do not have any GPG public keys"), ("gpgkey=file:///nowhere", "is not signed")],
)
async def test_an_error_reports_that_a_package_is_not_signed(setting, cause, dnf):
    repository = dnf.root / "etc/yum.repos.d/tiny.repo"
    repository.write_text(repository.read_text().replace("gpgcheck=0", f"gpgcheck=1\n{setting}"))
    _, story = await converge_once(package("tiny0"))
    assert cause in story.checks("package#tiny0")[0].error
    assert dnf.packages == {}


async def test_a_package_whose_place_another_takes_is_an_error_that_says_so(dnf, tmp_path):
    write_repository(tmp_path / "more", [Rpm("tinier", provides="tiny0 = 2", obsoletes="tiny0 < 2")])
    dnf.describe("more", f"file://{tmp_path}/more")
    ended, story = await converge_once(package("tiny0"), package("tiny1"))
    assert (ended.counts[Result.CHANGED], ended.counts[Result.FAILED]) == (1, 1)
    check = story.checks("package#tiny0")[0]
    assert check.error == 'dnf succeeded, but package "tiny0" is not installed'
    assert check.hint == "another may have taken its place: see what dnf install tiny0 says"


async def test_repositories_that_dnf_leaves_out_are_named_and_do_not_stop_the_others(dnf):
    dnf.describe("down", "file:///nowhere")
    ended, story = await converge_once(package("tiny0"), package("nosuch"))
    assert (ended.counts[Result.CHANGED], ended.counts[Result.FAILED]) == (1, 1)
    assert "dnf can't use these repositories, and leaves them out: down" in {
        line.line for line in story.all(Output)
    }


async def test_what_the_repository_has_dropped_for_a_newer_version_is_looked_for_in_fresh_lists(
    dnf, tmp_path
):
    directory = tmp_path / "more"
    write_repository(directory, [Rpm("extra")])
    dnf.describe("more", f"file://{directory}")
    dnf.dnf("makecache")
    shutil.rmtree(directory)
    write_repository(directory, [Rpm("extra", "1.1")])
    ended, _ = await converge_once(package("extra"), package("tiny0"))
    assert ended.counts[Result.CHANGED] == 2
    assert dnf.packages["extra"] == "0:1.1-1"


async def test_a_repository_that_went_down_is_named_when_its_lists_are_to_be_fetched_again(dnf, tmp_path):
    write_repository(tmp_path / "more", [Rpm("extra")])
    dnf.describe("more", f"file://{tmp_path}/more")
    await converge_once(package("extra", "latest"))
    shutil.rmtree(tmp_path / "more")
    providers.made["dnf"] = dnf.provider()
    ended, story = await converge_once(package("extra", "latest"))
    assert ended.counts[Result.OK] == 1
    assert "leaves them out: more" in story.all(Output)[0].line


@pytest.mark.parametrize(
    ("lock", "before", "after", "result"),
    [
        ("app-0:1.0-1.*", "app-1.0", "0:1.0-1", Result.OK),
        ("app-0:1.0-1.*", None, "0:1.0-1", Result.CHANGED),
        ("app-0:2.0-9.el9.*", "app-1.0", "0:2.0-9.el9", Result.CHANGED),
        ("!app-0:2.1~rc1-1.*", "app-1.0", "0:2.0-10.el9", Result.CHANGED),
    ],
)
async def test_the_latest_is_what_a_lock_lets_through_and_what_it_keeps_back_is_reported(
    lock, before, after, result, dnf
):
    if before is not None:
        dnf.install(before)
    dnf.lock(lock)
    providers.made["dnf"] = dnf.provider()
    ended, story = await converge_once(package("app", "latest"), package("tiny0"))
    assert story.result("package#app") is result
    assert ended.counts[Result.FAILED] == 0
    assert dnf.packages["app"] == after
    assert [line.line for line in story.all(Output)] == [
        f"app stays at {after}: dnf keeps back 2.1~rc1-1 (see dnf versionlock list)"
    ]


async def test_a_version_that_a_lock_keeps_back_is_an_error_that_says_so(dnf):
    dnf.lock("app-0:1.0-1.*")
    providers.made["dnf"] = dnf.provider()
    _, story = await converge_once(package("app", "2.0"))
    check = story.checks("package#app")[0]
    assert "Unable to find a match: app-2.0-10.el9" in check.error
    assert check.hint == "dnf keeps it back: see dnf versionlock list"
    assert dnf.packages == {}


async def test_a_file_about_a_repository_that_is_edited_in_place_is_heeded_at_once(dnf):
    repository = dnf.root / "etc/yum.repos.d/tiny.repo"
    text = repository.read_text()
    repository.write_text(text + "exclude=tiny0\n")
    ended, _ = await converge_once(package("tiny0"))
    assert ended.counts[Result.FAILED] == 1
    repository.write_text(text)
    ended, _ = await converge_once(package("tiny0"))
    assert ended.counts[Result.CHANGED] == 1


async def test_the_packages_of_a_module_are_those_of_the_stream_that_is_enabled_a_moment_ago(dnf, tmp_path):
    directory = tmp_path / "more"
    write_repository(directory, [Rpm("web", "1.0"), Rpm("web", "2.0")])
    add_module(directory, "web", ["1.0", "2.0"])
    dnf.describe("more", f"file://{directory}")
    _, story = await converge_once(package("web", "latest"))
    assert story.checks("package#web")[0].error == 'no repository has a package "web"'
    dnf.dnf("module", "enable", "web:1.0")
    ended, _ = await converge_once(package("web", "latest"))
    assert ended.counts[Result.CHANGED] == 1
    assert dnf.packages == {"web": "0:1.0-1"}


async def test_a_lock_that_goes_is_heeded_at_once(dnf):
    dnf.install("app-1.0")
    dnf.lock("app-0:1.0-1.*")
    providers.made["dnf"] = dnf.provider()
    await converge_once(package("app", "latest"))
    assert dnf.packages == {"app": "0:1.0-1"}
    (dnf.root / "etc/dnf/plugins/versionlock.list").write_text("")
    await converge_once(package("app", "latest"))
    assert dnf.packages == {"app": "0:2.1~rc1-1"}


async def test_what_is_removed_behind_our_back_comes_back(dnf):
    async with running(package("tiny0"), package("tiny1")) as story:
        await story.converged()
        await trio.to_thread.run_sync(dnf.dnf, "remove", "tiny0", "tiny1")
        await story.until(lambda: len(dnf.packages) == 2)
        await story.rest()
    assert any(Cause.DRIFT in check.causes for check in story.checks("package#tiny0"))


async def test_reading_the_database_is_no_event(dnf):
    resource = package("tiny0")
    async with running(resource) as story:
        await story.converged()
        await story.rest()
        before = len(story.checks(resource.ref))
        await trio.to_thread.run_sync(lambda: dnf.packages)
        await trio.to_thread.run_sync(dnf.dnf, "install", "tiny1")
        await story.until(lambda: len(story.checks(resource.ref)) > before)
        counts = []
        for _ in range(20):  # the kernel may report late what dnf has written
            await story.rest()
            counts.append(len(story.checks(resource.ref)))
            await trio.to_thread.run_sync(lambda: dnf.packages)
            await trio.testing.wait_all_tasks_blocked(0.05)
            if len(story.checks(resource.ref)) == counts[-1]:
                return
    raise AssertionError(f"each reading was an event: {counts}")
