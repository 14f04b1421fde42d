"""The password of a user: locked and unlocked, and its ages."""

from __future__ import annotations

import pytest
from hostkinds_worlds import assert_undone, line, shell

from reactor import ManifestError, load
from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resources.accounts import User
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once, running

HASH = "$5$rounds=5000$salt$abcdefghijklmnop"


@pytest.fixture
def ada():
    shell('useradd --uid 1500 --no-create-home --password "$1" ada', HASH)


def shadow():
    return (line("shadow", "ada") or "").split(":")[1:6]


def world():
    return line("passwd", "ada"), line("shadow", "ada")


def locked():
    return Case(lambda: User(name="ada", locked=True), world, lambda: shell("usermod --unlock ada"))


def unlocked():
    shell("usermod --lock ada")
    return Case(lambda: User(name="ada", locked=False), world, lambda: shell("usermod --lock ada"))


def ages():
    properties = {"password_max_age": 90, "password_min_age": 2, "password_warn_days": -1}
    return Case(
        lambda: User(name="ada", **properties), world, lambda: shell("chage --maxdays 5 --warndays 7 ada")
    )


@pytest.mark.parametrize("case", [locked, unlocked, ages], ids=lambda case: case.__name__)
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_what_is_asked_of_a_password_keeps_the_contract(promise, case, ada):
    await promise(case())


async def test_the_hash_outlives_a_lock(ada):
    await converge_once(User(name="ada", locked=True))
    assert shadow()[0] == f"!{HASH}"
    await converge_once(User(name="ada", locked=False))
    assert shadow()[0] == HASH


@pytest.mark.parametrize(("found", "after"), [("!!" + HASH, HASH), ("!" + HASH, HASH), (HASH, HASH)])
async def test_every_lock_is_taken_away(found, after, ada):
    shell('usermod --password "$1" ada', found)
    await converge_once(User(name="ada", locked=False))
    assert shadow()[0] == after


@pytest.mark.parametrize("found", ["!", "!!", "!*"])
async def test_a_user_without_a_password_is_not_unlocked(found, ada):
    shell('usermod --password "$1" ada', found)
    for noop in (True, False):
        ended, story = await converge_once(User(name="ada", locked=False), options=RunOptions(noop=noop))
        assert ended.counts[Result.FAILED] == 1
        assert "the user could log in without one" in story.checks("user#ada")[-1].error
    assert shadow()[0] == found


@pytest.mark.parametrize(("locked", "password"), [(True, f"!{HASH}"), (False, HASH), (None, HASH)])
async def test_a_given_hash_is_locked_or_not(locked, password):
    user = User(name="ada", password=HASH, locked=locked)
    await converge_once(user)
    assert shadow()[0] == password
    ended, _ = await converge_once(user)
    assert ended.changes == 0


async def test_a_new_user_gets_its_ages_and_is_locked():
    user = User(name="ada", locked=True, password_max_age=90, password_min_age=1, password_warn_days=14)
    _, story = await converge_once(user)
    assert story.checks("user#ada")[0].actions == (
        "created the user", "set password_max_age to 90, set password_min_age to 1, set password_warn_days to 14",
    )  # fmt: skip
    assert shadow()[0] == "!"
    assert shadow()[2:] == ["1", "90", "14"]


async def test_ages_are_not_shadowed_by_others(ada):
    async with running(User(name="ada", password_max_age=30)) as story:
        await story.converged()
        shell("chage --maxdays 99999 --mindays 3 ada")
        await story.until(lambda: shadow()[2:4] == ["3", "30"])


async def test_a_number_may_be_shared_if_asked(ada):
    ended, _ = await converge_once(User(name="eve", uid=1500), options=RunOptions(noop=True))
    assert ended.counts[Result.FAILED] == 1
    ended, _ = await converge_once(User(name="eve", uid=1500, non_unique=True))
    assert ended.counts[Result.CHANGED] == 1
    assert line("passwd", "eve").split(":")[2] == "1500"
    shell("usermod --uid 1600 eve")
    await converge_once(User(name="eve", uid=1500, non_unique=True))
    assert line("passwd", "eve").split(":")[2] == "1500"


async def test_it_is_undone(ada):
    await assert_undone(User(name="ada", locked=True), world)
    await assert_undone(User(name="ada", password_max_age=7, password_warn_days=-1), world)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("a: {password_max_age: -2}", "greater than or equal to -1"),
        ("a: {non_unique: true}", "non_unique requires uid"),
        ("a: {locked: false, password: '*'}", "there is nothing to unlock"),
        (
            "{a: {uid: 7, non_unique: true}}, {b: {uid: 7}}, {c: {uid: 7}}",
            "do not agree on name of the user number 7",
        ),
    ],
)
def test_what_is_wrong_is_an_error_with_its_place(entry, message, tmp_path):
    entry = entry if entry.startswith("{") else f"{{{entry}}}"
    (tmp_path / "site.yaml").write_text(f"resources:\n  - user: [{entry}]\n")
    with pytest.raises(ManifestError) as raised:
        load(str(tmp_path / "site.yaml"))
    assert message in raised.value.diagnostics[0].message
