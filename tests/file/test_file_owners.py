"""Names to ids."""

import threading
from pathlib import Path

import pytest
import trio

from reactor.hostfs import owners
from reactor.hostfs.owners import Accounts
from reactor.resource.plan import ResourceError


class Host:
    """Account files of a test's own, and a count of the look-ups."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.users: dict[str, int] = {}
        self.groups: dict[str, int] = {}
        self.look_ups: list[str] = []
        self.save()
        files = (str(root / "passwd"), str(root / "group"))
        self.accounts = Accounts(files, self.find_user, self.find_group)

    def save(self) -> None:
        for name, table in (("passwd", self.users), ("group", self.groups)):
            (self.root / "new").write_text(repr(table))
            (self.root / "new").rename(self.root / name)

    def find_user(self, name: str) -> int:
        self.look_ups.append(name)
        return self.users[name]

    def find_group(self, name: str) -> int:
        self.look_ups.append(name)
        return self.groups[name]

    async def ids(self, owner: str, group: str) -> tuple[int, int]:
        return self.accounts.known(owner, group) or await self.accounts.look_up(owner, group)


@pytest.fixture
def host(tmp_path: Path, monkeypatch) -> Host:
    monkeypatch.setattr(owners, "_RECHECK_AFTER", -1.0)
    return Host(tmp_path)


async def test_a_numeric_name_is_an_id_and_never_looked_up(host: Host):
    host.users["1234"] = 1
    assert await host.ids("1234", "0004321") == (1234, 4321)
    assert host.look_ups == []


async def test_a_name_is_looked_up_once_while_the_files_stand_still(host: Host):
    host.users["app"], host.groups["web"] = 1000, 2000
    for _ in range(3):
        assert await host.ids("app", "web") == (1000, 2000)
    assert host.look_ups == ["app", "web"]


async def test_a_user_that_gets_another_id_is_noticed(host: Host):
    host.users["app"] = 1000
    assert await host.ids("app", "0") == (1000, 0)
    host.users["app"] = 2000
    host.save()
    assert await host.ids("app", "0") == (2000, 0)


async def test_an_unknown_user_is_an_error_until_there_is_one(host: Host):
    with pytest.raises(ResourceError, match='could not lookup user "app"'):
        await host.ids("app", "0")
    host.users["app"] = 1000
    assert await host.ids("app", "0") == (1000, 0)


async def test_an_answer_from_before_a_change_of_the_files_is_not_remembered(host: Host):
    host.users["app"] = 1000
    find = host.accounts._find_user

    def slow(name: str) -> int:
        uid = find(name)
        host.users[name] = 2000
        host.save()
        host.accounts.known("other", "other")
        return uid

    host.accounts._find_user = slow
    await host.ids("app", "0")
    host.accounts._find_user = find
    assert await host.ids("app", "0") == (2000, 0)


async def test_accounts_that_no_file_announces_are_asked_again_after_a_while(host: Host, monkeypatch):
    host.users["app"] = 1000
    await host.ids("app", "0")
    host.users["app"] = 2000
    monkeypatch.setattr(owners, "_FORGET_AFTER", 0.0)
    assert await host.ids("app", "0") == (2000, 0)


async def test_a_host_without_account_files_works(tmp_path: Path):
    accounts = Accounts((str(tmp_path / "none"), str(tmp_path / "neither")))
    assert accounts.known("0", "0") is None
    assert await accounts.look_up("0", "0") == (0, 0)
    assert accounts.known("0", "0") == (0, 0)


async def test_a_directory_service_that_does_not_answer_is_an_error_and_hangs_once(monkeypatch):
    monkeypatch.setattr(owners, "TIMEOUT", 0.05)
    answer, look_ups = threading.Event(), []

    def find(name):
        look_ups.append(name)
        answer.wait()
        return 7

    asked = Accounts((), find, find)
    for _ in range(3):
        with pytest.raises(ResourceError, match='the lookup of user "hung" is not answered'):
            await asked.look_up("hung", "0")
    assert look_ups == ["hung"]
    monkeypatch.setattr(owners, "TIMEOUT", 60.0)
    answer.set()
    with trio.fail_after(60):
        assert owners._hanging["user", "hung"].wait(60)
        assert await asked.look_up("hung", "0") == (7, 0)
