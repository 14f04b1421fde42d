"""Repositories of the real apt and dnf, in systems of their own."""

from __future__ import annotations

import os

import pytest
from deb_packages import Deb, write_repository
from pydantic import ValidationError

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resources.package import Package
from reactor.resources.repository import Repository
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once, running


def of_apt(root, **properties):
    return Repository(name="tiny", provider="apt", url=f"copy:{root.repository}", **properties)


def files(root):
    return {path: path.read_text() for path in (root.root / "etc").rglob("*") if path.is_file()}


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_repositories_keep_the_contract_of_kinds(promise, apt, signer):
    signer.sign(apt.repository)
    file = apt.root / "etc/apt/sources.list.d/tiny.sources"
    await promise(
        Case(
            make=lambda: of_apt(apt, key=signer.key),
            world=lambda: files(apt),
            spoil=lambda: file.write_text("Enabled: no\n"),
        )
    )


async def test_a_package_of_a_signed_repository_is_installed_after_it(apt, signer):
    signer.sign(apt.repository)
    package = Package(name="app", ensure="present", provider="apt")
    ended, _ = await converge_once(package, of_apt(apt, key=signer.key))
    assert ended.counts[Result.CHANGED] == 2
    assert apt.packages == {"app": "1.0"}
    assert len(apt.transactions) == 1


async def test_the_lists_of_all_others_count_as_old_as_they_are(apt):
    (apt.root / "etc/apt/sources.list").write_text(f"deb [trusted=yes] copy:{apt.repository} ./\n")
    apt.update()
    apt.install("app")
    apt.offer(Deb("app", "2.0"))
    os.utime(apt.root / "var/lib/apt/lists", (0, 0))
    write_repository(apt.root / "more", Deb("extra"))
    more = Repository(name="more", provider="apt", url=f"copy:{apt.root}/more", trusted=True)
    await converge_once(more, Package(name="app", ensure="latest", provider="apt"))
    assert apt.packages == {"app": "2.0"}


async def test_a_repository_whose_signature_is_not_that_of_the_key_is_not_added(apt, signer):
    ended, story = await converge_once(of_apt(apt, key=signer.key))
    assert ended.counts[Result.FAILED] == 1
    assert "apt-get update failed" in story.checks("repository#tiny")[0].error
    assert not list((apt.root / "etc/apt/sources.list.d").iterdir())
    apt.update()


async def test_a_key_that_is_not_that_of_the_signature_does_not_take_the_place_of_one_that_is(
    apt, signer, stranger
):
    signer.sign(apt.repository)
    await converge_once(of_apt(apt, key=signer.key))
    before = files(apt)
    for _ in range(2):
        ended, _ = await converge_once(of_apt(apt, key=stranger.key))
        assert ended.counts[Result.FAILED] == 1
    assert files(apt) == before
    apt.update()


async def test_one_that_is_trusted_needs_no_signature(apt):
    await converge_once(of_apt(apt, trusted=True))
    await converge_once(Package(name="app", ensure="present", provider="apt"))
    assert apt.packages == {"app": "1.0"}


async def test_one_that_can_not_be_reached_is_not_added_and_blocks_packages(apt):
    wrong = Repository(name="wrong", provider="apt", url="copy:/nowhere", trusted=True)
    ended, _ = await converge_once(wrong, Package(name="app", ensure="present", provider="apt"))
    assert ended.counts[Result.FAILED] == ended.counts[Result.BLOCKED] == 1
    assert not list((apt.root / "etc/apt/sources.list.d").iterdir())


async def test_one_that_contradicts_what_another_file_says_is_not_added_and_breaks_nothing(apt, signer):
    """Such as one that somebody has described by hand, with the same key elsewhere."""
    signer.sign(apt.repository)
    key = apt.root / "etc/apt/keyrings/hand.asc"
    key.write_text(signer.key)
    by_hand = apt.root / "etc/apt/sources.list.d/hand.list"
    by_hand.write_text(f"deb [signed-by={key}] copy:{apt.repository} ./\n")
    ended, story = await converge_once(of_apt(apt, key=signer.key))
    assert ended.counts[Result.FAILED] == 1
    assert "Conflicting values set for option Signed-By" in story.checks("repository#tiny")[0].error
    apt.update()
    by_hand.write_text("deb nonsense\n")
    ended, _ = await converge_once(of_apt(apt, key=signer.key))
    assert ended.counts[Result.CHANGED] == 1, "it is not to blame for what was broken before"


async def test_the_error_says_each_thing_once_however_often_it_was_tried(apt):
    _, story = await converge_once(of_apt(apt, suites=["elsewhere/"], trusted=True))
    lines = story.checks("repository#tiny")[0].error.splitlines()
    assert sorted(lines) == sorted(set(lines))
    assert any(line.lstrip().startswith("E: Failed to fetch") for line in lines)


async def test_one_that_fails_is_tried_again_and_not_taken_for_added(apt):
    resource = of_apt(apt, suites=["stable"], components=["main"], trusted=True)
    for _ in range(2):
        ended, _ = await converge_once(resource)
        assert ended.counts[Result.FAILED] == 1


async def test_an_absent_one_is_removed_with_its_key(apt, signer):
    signer.sign(apt.repository)
    before = files(apt)
    await converge_once(of_apt(apt, key=signer.key))
    assert len(files(apt)) == len(before) + 2
    _, story = await converge_once(Repository(name="tiny", provider="apt", ensure="absent"))
    key = apt.root / "etc/apt/keyrings/tiny.asc"
    assert story.checks("repository#tiny")[0].actions == (f"removed the repository and its key {key}",)
    assert files(apt) == before


async def test_a_key_that_is_removed_comes_back(apt, signer):
    signer.sign(apt.repository)
    key = apt.root / "etc/apt/keyrings/tiny.asc"
    async with running(of_apt(apt, key=signer.key)) as story:
        await story.converged()
        key.unlink()
        await story.until(key.exists)
    assert key.read_text() == signer.key


async def test_a_package_of_a_repository_for_dnf_is_installed_after_it(dnf, tmp_path):
    repository = Repository(name="tiny", provider="dnf", url=f"file://{tmp_path}/repository", trusted=True)
    wrong = Repository(name="wrong", provider="dnf", url="file:///nowhere", trusted=True)
    ended, _ = await converge_once(repository)
    assert ended.counts[Result.CHANGED] == 1
    ended, story = await converge_once(wrong)
    assert "dnf makecache failed" in story.checks("repository#wrong")[0].error
    await converge_once(Package(name="app", ensure="present", provider="dnf"))
    assert set(dnf.packages) == {"app"}


async def test_one_that_another_file_for_dnf_describes_is_not_added(dnf, tmp_path):
    by_hand = dnf.root / "etc/yum.repos.d/hand.repo"
    by_hand.write_text("[other]\nenabled=0\n[tiny]\nenabled=0\n")
    repository = Repository(name="tiny", provider="dnf", url=f"file://{tmp_path}/repository", trusted=True)
    ended, story = await converge_once(repository)
    assert ended.counts[Result.FAILED] == 1
    assert story.checks("repository#tiny")[0].error == f"{by_hand} has a repository [tiny], too"
    by_hand.write_text("[other]\nenabled=0\n")
    for result in (Result.CHANGED, Result.OK):
        ended, _ = await converge_once(repository)
        assert ended.counts[result] == 1


async def test_the_file_for_dnf_names_the_key(dnf, signer, tmp_path):
    url = f"file://{tmp_path}/repository"
    await converge_once(Repository(name="tiny", provider="dnf", url=url, key=signer.key))
    key = dnf.root / "etc/pki/rpm-gpg/tiny.asc"
    assert key.read_text() == signer.key
    text = (dnf.root / "etc/yum.repos.d/tiny.repo").read_text()
    assert f"gpgcheck=1\ngpgkey=file://{key}\n" in text


async def test_one_whose_key_is_not_where_it_is_said_to_be_is_not_added(dnf, tmp_path):
    url = f"file://{tmp_path}/repository"
    ended, story = await converge_once(
        Repository(name="tiny", provider="dnf", url=url, key="/nowhere/key.asc")
    )
    assert ended.counts[Result.FAILED] == 1
    assert story.checks("repository#tiny")[0].error == "the key /nowhere/key.asc does not exist"
    assert not list((dnf.root / "etc/yum.repos.d").iterdir())


OF_APT = {"name": "a", "url": "https://example.com", "provider": "apt"}


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"name": "a/b", "url": "https://example.com"}, "invalid characters"),
        ({"name": "main", "url": "https://example.com", "provider": "dnf"}, "for its own settings"),
        ({"name": "a", "ensure": "present"}, "url is missing"),
        ({"name": "a", "url": "https://example.com\nTrusted: yes"}, "url"),
        ({"name": "a", "url": "https://example.com", "suites": ["a b"]}, "suites"),
        ({**OF_APT, "components": ["main"]}, "a flat repository has no components"),
        ({**OF_APT, "suites": ["stable/"], "components": ["main"]}, "a flat repository has no components"),
        ({**OF_APT, "suites": ["stable"]}, "the suite stable has no components"),
        (
            {**OF_APT, "suites": ["stable", "./"], "components": ["main"]},
            "a flat repository has no components",
        ),
        (
            {"name": "a", "url": "https://example.com", "key": "0xDEADBEEF"},
            "neither a public key nor the path",
        ),
    ],
)
def test_what_would_end_up_in_the_file_as_something_else_is_refused(properties, message):
    with pytest.raises(ValidationError, match=message):
        Repository(**properties)


@pytest.mark.parametrize("ensure", ["present", "absent"])
async def test_a_key_of_the_same_name_that_was_brought_by_others_is_kept(apt, signer, ensure):
    """It lies where a key that is given as text would be written."""
    signer.sign(apt.repository)
    key = apt.root / "etc/apt/keyrings/tiny.asc"
    key.write_text(signer.key)
    await converge_once(of_apt(apt, key=str(key)))
    assert key.read_text() == signer.key
    resource = of_apt(apt, key=str(key), ensure=ensure)
    await converge_once(resource)
    assert key.read_text() == signer.key
    ended, _ = await converge_once(resource)
    assert ended.counts[Result.OK] == 1


async def test_a_key_that_no_repository_of_that_name_has_is_not_removed_with_it(apt):
    key = apt.root / "etc/apt/keyrings/tiny.asc"
    key.write_text("of something else")
    ended, _ = await converge_once(Repository(name="tiny", provider="apt", ensure="absent"))
    assert ended.counts[Result.OK] == 1
    assert key.read_text() == "of something else"
    await converge_once(of_apt(apt, trusted=True))
    await converge_once(Repository(name="tiny", provider="apt", ensure="absent"))
    assert key.read_text() == "of something else"


async def test_a_removed_repository_takes_the_key_along_that_came_with_it(apt, signer):
    signer.sign(apt.repository)
    await converge_once(of_apt(apt, key=signer.key))
    key = apt.root / "etc/apt/keyrings/tiny.asc"
    assert key.exists()
    _, story = await converge_once(Repository(name="tiny", provider="apt", ensure="absent"))
    assert story.checks("repository#tiny")[0].actions == (f"removed the repository and its key {key}",)
    assert not key.exists()


async def test_files_that_others_can_t_read_or_can_write_to_get_their_mode_back(apt, signer):
    signer.sign(apt.repository)
    repository = of_apt(apt, key=signer.key)
    await converge_once(repository)
    file = apt.root / "etc/apt/sources.list.d/tiny.sources"
    (key,) = (apt.root / "etc/apt/keyrings").iterdir()
    file.chmod(0o666)
    key.chmod(0o600)
    said = (f"changed mode of {file} from 0666 to 0644", f"changed mode of {key} from 0600 to 0644")
    _, story = await converge_once(repository, options=RunOptions(noop=True))
    assert story.checks("repository#tiny")[0].actions == tuple(f"Would have {words}" for words in said)
    _, story = await converge_once(repository)
    assert story.checks("repository#tiny")[0].actions == said
    assert [path.stat().st_mode & 0o7777 for path in (file, key)] == [0o644, 0o644]
    ended, _ = await converge_once(repository)
    assert ended.counts[Result.OK] == 1


async def test_a_mode_that_another_process_changes_is_changed_back(apt):
    file = apt.root / "etc/apt/sources.list.d/tiny.sources"
    async with running(of_apt(apt, trusted=True)) as story:
        await story.converged()
        file.chmod(0o600)
        await story.until(lambda: file.stat().st_mode & 0o7777 == 0o644)


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")
@pytest.mark.parametrize(
    "of", ["the key", "the directory of the key", "the repository", "a file in it", "a file below it"]
)
async def test_no_other_user_decides_which_packages_root_takes(apt, signer, tmp_path, of):
    signer.sign(apt.repository)
    key = tmp_path / "keys/app.asc"
    key.parent.mkdir()
    key.write_text(signer.key)
    given = {"the key": key, "the directory of the key": key.parent, "the repository": apt.repository}
    below = apt.repository / "pool/main/t/tiny_1.deb"
    below.parent.mkdir(parents=True)
    below.touch()
    path = given.get(of, below if of == "a file below it" else apt.repository / "Packages")
    os.chown(path, 65534, 65534)
    how = {"key": str(key)} if path in (key, key.parent) else {"trusted": True}
    for noop in (True, False):
        _, story = await converge_once(of_apt(apt, **how), options=RunOptions(noop=noop))
        assert story.result("repository#tiny") is Result.FAILED
        assert "another user can change" in story.checks("repository#tiny")[-1].error
    assert not list((apt.root / "etc/apt/sources.list.d").iterdir())
    os.chown(path, 0, 0)
    _, story = await converge_once(of_apt(apt, **how))
    assert story.result("repository#tiny") is Result.CHANGED
