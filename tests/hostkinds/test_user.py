"""The kind user, in an /etc and /home of the test's own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hostkinds_worlds import assert_undone, line, shell

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.graph.export.picture import properties
from reactor.resource.declared import declare
from reactor.resource.plan import ResourceError
from reactor.resources.accounts import Group, User
from reactor.resources.accounts.database import PasswdLine, ShadowLine
from reactor.resources.accounts.user_state import UserState
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once, running

HASH = "$6$saltsalt$qFmFH.bQmmtXzyBY0s9v7Oicd2z4XSIecDzlB5KiA2/jctKu9YterLp8wwnSq.qc.eoxqOmSuNp2xS0ktL3nh/"
OTHER_HASH = "$5$rounds=5000$salt$abcdefghijklmnop"
FILES = [Path("/etc", name) for name in ("passwd", "group", "shadow", "gshadow")]


def lasting(shadow):
    """Lines of /etc/shadow without the day of the last change, which may end while a test runs."""
    return re.sub(r"^([^:\n]*:[^:\n]*:)\d+:", r"\1:", shadow, flags=re.MULTILINE)


def world():
    return [lasting(path.read_text()) for path in FILES], sorted(map(str, Path("/home").rglob("*")))


def a_user():
    def make():
        return User(
            name="alice", uid=1234, groups=["staff"], shell="/bin/sh", comment="Alice A.", manage_home=True
        )

    return Case(make, world, lambda: shell("usermod -s /bin/false alice"))


def a_user_with_a_password():
    return Case(
        lambda: User(name="alice", password=HASH, expires="2030-12-31"),
        world,
        lambda: shell("usermod -p '*' alice"),
    )


def a_user_with_groups():
    shell("groupadd web; groupadd db; useradd -G web,db alice")
    return Case(
        lambda: User(name="alice", groups=["web", "staff"], membership="inclusive"),
        lambda: sorted(Path("/etc/group").read_text().splitlines()),
        lambda: shell("gpasswd -d alice staff >/dev/null"),
    )


def no_user():
    shell("useradd -m alice")
    return Case(
        lambda: User(name="alice", ensure="absent", manage_home=True),
        world,
        lambda: shell("useradd -M alice"),
    )


CASES = [a_user, a_user_with_a_password, a_user_with_groups, no_user]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_the_user_kind_keeps_the_contract(promise, case):
    await promise(case())


ACCOUNT = PasswdLine("alice", 1000, 1000, "Alice", "/home/alice", "/bin/sh")
NUMBERS = {"alice": 1000, "staff": 50, "web": 60, "www": 60}


@pytest.mark.parametrize(
    ("properties", "found", "steps"),
    [
        ({}, {}, []),
        ({}, {"account": None}, ["created the user"]),
        ({"password": HASH}, {"account": None}, ["created the user", "set the password"]),
        ({"groups": ["staff"]}, {"account": None, "groups": ("web",)}, ["created the user"]),
        ({"uid": 1000, "shell": "/bin/sh", "home": "/home/alice", "comment": "Alice"}, {}, []),
        ({"uid": 1001}, {}, ["changed uid from 1000 to 1001"]),
        (
            {"shell": "/bin/false", "comment": ""},
            {},
            ["changed shell from /bin/sh to /bin/false, changed comment from Alice to "],
        ),
        ({"comment": "never"}, {}, ["changed comment from Alice to never"]),
        ({"home": "/srv/alice"}, {}, ["changed home from /home/alice to /srv/alice"]),
        ({"group": "alice"}, {}, []),
        ({"group": 1000}, {}, []),
        ({"group": "staff"}, {}, ["changed group from alice to staff"]),
        ({"group": 50}, {}, ["changed group from 1000 to 50"]),
        ({"group": "missing"}, {}, ["changed group from alice to missing"]),
        ({"group": "www"}, {"account": ACCOUNT._replace(gid=60)}, []),
        ({"group": "alice"}, {"account": ACCOUNT._replace(gid=99)}, ["changed group from 99 to alice"]),
        ({}, {"numbers": {}, "lacks_group": True}, ["created the missing group alice"]),
        ({}, {"numbers": {"alice": 99}, "lacks_group": True}, ["changed group from 1000 to alice"]),
        ({}, {"numbers": {}}, []),
        ({"groups": ["web"]}, {"groups": ("web", "staff")}, []),
        ({"groups": ["web", "www"]}, {"groups": ("staff",)}, ["added the user to web, www"]),
        ({"groups": [], "membership": "inclusive"}, {"groups": ("web",)}, ["removed the user from web"]),
        (
            {"groups": ["www"], "membership": "inclusive"},
            {"groups": ("web", "staff")},
            ["added the user to www and removed the user from web, staff"],
        ),
        ({"password": HASH}, {"shadow": ShadowLine(HASH, "never")}, []),
        ({"password": HASH}, {"shadow": ShadowLine("!", "never")}, ["set the password"]),
        ({"password": HASH}, {}, ["set the password"]),
        ({"expires": "never"}, {"shadow": ShadowLine("!", "never")}, []),
        ({"expires": "never"}, {"shadow": ShadowLine("!", "2030-01-01")}, ["changed expires from 2030-01-01 to never"]),
        ({"ensure": "absent"}, {"account": None}, []),
        ({"ensure": "absent"}, {}, ["removed the user"]),
        ({"ensure": "absent"}, {"losses": ("/home/alice", "the group alice")}, ["removed the user and /home/alice and the group alice"]),
    ],
)  # fmt: skip
def test_each_state_leads_to_its_plan(properties, found, steps):
    state = UserState(**{"account": ACCOUNT, "numbers": NUMBERS, **found})
    plan = User(name="alice", **properties).plan(state, refresh=False)
    assert [action.did for action in plan] == steps
    assert [action.would for action in plan] == [f"Would have {step}" for step in steps]


@pytest.mark.parametrize("uid", [0, os.geteuid()])
def test_root_and_who_we_are_are_never_removed_whatever_they_are_called(uid):
    state = UserState(ACCOUNT._replace(uid=uid))
    with pytest.raises(ResourceError, match="refusing to remove the user"):
        User(name="toor", ensure="absent").plan(state, refresh=False)


@pytest.mark.parametrize(
    "spoil",
    [
        "userdel alice",
        "usermod -s /bin/false alice",
        "usermod -l bob alice",
        "usermod -c Vandal alice",
        "gpasswd -d alice staff",
        "chage -E 2020-01-01 alice",
        "passwd -l alice",
        "sed -i /^alice:/d /etc/passwd",
    ],
)
async def test_what_is_done_behind_its_back_is_undone_without_polling(spoil):
    wanted = {"shell": "/bin/sh", "comment": "Alice", "password": HASH, "expires": "2030-12-31"}
    async with running(User(name="alice", groups=["staff"], **wanted)) as story:
        await story.converged()
        shell(f"{spoil} >/dev/null")
        assert not alice_is_as_desired()
        await story.until(alice_is_as_desired)


def alice_is_as_desired():
    return (
        (line("passwd", "alice") or "").endswith(":Alice:/home/alice:/bin/sh")
        and (line("shadow", "alice") or "").split(":")[1::6] == [HASH, "22279"]
        and "alice" in line("group", "staff")
    )


async def test_a_home_directory_comes_moves_and_goes_with_its_user():
    await converge_once(User(name="alice", home="/home/a", manage_home=True))
    assert Path("/home/a/.profile").read_text() == "# of skel\n"
    assert Path("/home/a").owner() == "alice"
    Path("/home/a/letter").write_text("dear")
    await converge_once(User(name="alice", home="/home/b", manage_home=True))
    assert Path("/home/b/letter").read_text() == "dear"
    await converge_once(User(name="alice", ensure="absent", manage_home=True))
    assert list(Path("/home").iterdir()) == []


async def test_a_home_directory_that_is_not_managed_is_left_alone():
    await converge_once(User(name="alice"))
    assert list(Path("/home").iterdir()) == []
    shell("mkdir /home/alice; touch /home/alice/letter")
    await converge_once(User(name="alice", ensure="absent"))
    assert Path("/home/alice/letter").exists()


HOMES = [
    ("useradd --no-create-home --home-dir /home/a bob", "also the home of bob"),
    ("chown root /home/a", "owned by root"),
    ("chown 4711 /home/a", "owned by 4711"),
]


@pytest.mark.parametrize(("before", "why"), HOMES)
async def test_a_home_that_is_not_only_the_user_s_own_stays_when_the_user_goes(before, why):
    await converge_once(User(name="alice", home="/home/a", manage_home=True))
    shell(f"touch /home/a/letter; {before}")
    owner = Path("/home/a").stat().st_uid
    absent = User(name="alice", ensure="absent", manage_home=True)
    words = f"removed the user and the group alice; left /home/a, which is {why}"
    for options, said in ((RunOptions(noop=True), f"Would have {words}"), (RunOptions(), words)):
        _, story = await converge_once(absent, options=options)
        assert story.checks("user#alice")[0].actions == (said,)
    assert line("passwd", "alice") is None
    assert Path("/home/a/letter").exists()
    assert Path("/home/a").stat().st_uid == owner


@pytest.mark.parametrize(("before", "why"), HOMES)
async def test_a_home_that_is_not_only_the_user_s_own_is_not_moved(before, why):
    await converge_once(User(name="alice", home="/home/a", manage_home=True))
    shell(f"touch /home/a/letter; {before}")
    moved = User(name="alice", home="/home/b", manage_home=True)
    _, story = await converge_once(moved)
    said = f"changed home from /home/a to /home/b; left /home/a, which is {why}"
    assert story.checks("user#alice")[0].actions == (said,)
    assert Path("/home/a/letter").exists()
    assert not Path("/home/b").exists()


@pytest.fixture
def site():
    """A directory of another user, and a symlink in it to one of root."""
    Path("/home/site").mkdir()
    Path("/home/of-root").mkdir()
    Path("/home/site/link").symlink_to("/home/of-root")
    shell("chown -h 12345:12345 /home/site /home/site/link")
    return Path("/home/site")


@pytest.mark.parametrize(
    ("home", "why"),
    [
        ("/home/site/link/bob", "leads through a symlink of 12345 into a directory of root"),
        ("/home/site/bob", "users other than root can redirect /home/site/bob"),
        ("/home/site/new/bob", "users other than root can redirect /home/site/new/bob"),
    ],
)
@pytest.mark.parametrize("noop", [True, False])
async def test_no_home_is_made_where_another_user_may_lead(site, home, why, noop):
    wanted = User(name="bob", home=home, manage_home=True)
    _, story = await converge_once(wanted, options=RunOptions(noop=noop))
    assert why in story.checks(wanted.ref)[-1].error
    assert "bob" not in Path("/etc/passwd").read_text()
    assert [*Path("/home/of-root").iterdir()] == []
    assert [each.name for each in site.iterdir()] == ["link"]


async def test_no_home_is_moved_to_where_another_user_may_lead(site):
    shell("useradd -m bob; touch /home/bob/kept")
    wanted = User(name="bob", home=f"{site}/link/bob", manage_home=True)
    _, story = await converge_once(wanted)
    assert "refusing to follow it" in story.checks(wanted.ref)[-1].error
    assert Path("/home/bob/kept").exists()
    assert [*Path("/home/of-root").iterdir()] == []


async def test_a_home_to_which_another_user_leads_stays_when_its_user_goes(site):
    shell("useradd -m -d /home/site/link/bob bob; touch /home/of-root/bob/kept")
    wanted = User(name="bob", ensure="absent", manage_home=True)
    _, story = await converge_once(wanted)
    assert "left /home/site/link/bob, which is below a directory" in story.checks(wanted.ref)[0].actions[0]
    assert Path("/home/of-root/bob/kept").exists()
    assert "bob" not in Path("/etc/passwd").read_text()


async def test_a_home_of_another_user_is_not_given_to_a_new_user():
    shell("mkdir /home/a; chown 4711 /home/a")
    await converge_once(User(name="alice", home="/home/a", manage_home=True))
    assert Path("/home/a").stat().st_uid == 4711


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("true", "removed the user and the group alice"),
        ("sed -i s/yes/no/ /etc/login.defs", "removed the user"),
        ("useradd --gid alice bob", "removed the user"),
        ("useradd bob; gpasswd -a bob alice >/dev/null", "removed the user"),
        ("usermod --gid staff alice", "removed the user"),
    ],
)
async def test_what_goes_with_a_removed_user_is_named(before, words):
    await converge_once(User(name="alice"))
    shell(before)
    absent = User(name="alice", ensure="absent")
    for options, said in ((RunOptions(noop=True), f"Would have {words}"), (RunOptions(), words)):
        _, story = await converge_once(absent, options=options)
        assert story.checks("user#alice")[0].actions == (said,)
    assert (line("group", "alice") is None) is ("group" in words)


async def test_the_home_and_the_mail_that_go_with_a_removed_user_are_named():
    await converge_once(User(name="alice", home="/home/a", manage_home=True))
    shell("touch /var/mail/alice; chown alice /var/mail/alice")
    _, story = await converge_once(User(name="alice", ensure="absent", manage_home=True))
    assert story.checks("user#alice")[0].actions == (
        "removed the user and /home/a and /var/mail/alice and the group alice",
    )
    assert not Path("/var/mail/alice").exists()


async def test_a_group_of_the_same_name_that_is_there_becomes_the_primary_one():
    shell("groupadd -g 77 alice")
    await converge_once(User(name="alice"))
    assert line("passwd", "alice").split(":")[3] == "77"


@pytest.mark.parametrize("cut_off_after", [1, 2, 3])
async def test_what_a_useradd_that_was_cut_off_has_not_written_is_written(cut_off_after):
    """It writes one file after the other: of accounts, of their passwords, of groups."""
    written = {
        "passwd": "alice:x:1001:1001::/home/alice:/bin/sh",
        "shadow": "alice:!:20000:0:99999:7:::",
        "group": "alice:x:1001:",
    }
    for file, text in [*written.items()][:cut_off_after]:
        shell(f"echo '{text}' >> /etc/{file}")
    ended, _ = await converge_once(User(name="alice", password=HASH, groups=["staff"]))
    assert ended.counts[Result.CHANGED] == 1
    assert line("shadow", "alice").split(":")[1] == HASH
    assert line("group", "alice") == "alice:x:1001:"
    assert line("group", "staff") == "staff:x:50:alice"


async def test_users_and_groups_of_one_manifest_converge_together():
    people = [f"user{number}" for number in range(10)]
    users = [
        User(name=name, group="web", groups=["db"], require="group#web", subscribe="group#db")
        for name in people
    ]
    ended, _ = await converge_once(*users, Group(name="web", gid=700), Group(name="db"))
    assert ended.counts[Result.CHANGED] == 12
    assert all(line("passwd", name).split(":")[3] == "700" for name in people)
    assert sorted(line("group", "db").rpartition(":")[2].split(",")) == people


async def test_a_group_that_is_missing_is_an_error_that_says_what_to_do():
    ended, story = await converge_once(User(name="alice", groups=["missing"]))
    assert ended.counts[Result.FAILED] == 1
    check = story.checks("user#alice")[-1]
    assert "group 'missing' does not exist" in check.error
    assert check.hint == "declare the group, and add it to require"


async def test_a_number_that_is_taken_is_an_error_of_useradd():
    ended, story = await converge_once(User(name="alice", uid=65534))
    assert ended.counts[Result.FAILED] == 1
    assert "UID 65534 is not unique" in story.checks("user#alice")[-1].error
    assert line("passwd", "alice") is None


async def test_the_hash_of_a_password_is_nowhere_to_be_seen(capfd):
    """Not in what is said, and not among the arguments of a process, which everyone on the host can read."""
    user = User(name="alice", password=HASH, expires="2030-12-31")
    _, noop = await converge_once(user, options=RunOptions(noop=True, diff=True))
    _, story = await converge_once(user, options=RunOptions(diff=True))
    assert line("shadow", "alice").split(":")[1] == HASH
    said = repr(
        (noop.events, story.events, user, await user.observe(), user.plan(UserState(), refresh=False))
    )
    assert HASH not in said
    assert "set the password" in said
    assert HASH not in "".join(capfd.readouterr())


async def test_a_user_without_a_password_has_a_diff():
    _, story = await converge_once(
        User(name="nobody", shell="/bin/sh"), options=RunOptions(noop=True, diff=True)
    )
    (check,) = story.checks("user#nobody")
    assert check.diffs == ("--- user#nobody\n+++ user#nobody\n-shell: /usr/sbin/nologin\n+shell: /bin/sh\n",)


def test_the_password_is_a_secret_and_stays_one_beside_others():
    assert User(name="alice").secrets == frozenset()
    user = User(name="alice", password=HASH)
    assert user.secrets == {"password"}
    declare(user, user.declared._replace(secrets=frozenset(("comment",))))
    assert user.secrets == {"password", "comment"}
    assert HASH not in repr(properties(user))


async def test_no_process_has_the_hash_among_its_arguments(tmp_path, monkeypatch):
    log = tmp_path / "arguments"
    real = tmp_path / "real"
    shell(f"cp /usr/sbin/chpasswd {real}; chmod u-s {real}")
    spy = tmp_path / "chpasswd"
    spy.write_text(f'#!/bin/sh\necho "$0 $*" >> {log}\nexec {real} "$@"\n')
    spy.chmod(0o755)
    shell(f"mount --bind {spy} /usr/sbin/chpasswd")
    try:
        await converge_once(User(name="alice", password=HASH))
    finally:
        shell("umount /usr/sbin/chpasswd")
    assert line("shadow", "alice").split(":")[1] == HASH
    assert log.read_text() == "/usr/sbin/chpasswd --encrypted\n"


@pytest.mark.parametrize(
    "password", ["hunter2", "", "a:b", "$6$salt$ha:sh", "$6$salt$hash\n", "secret with spaces"]
)
def test_what_is_no_hash_is_refused_without_showing_it(password):
    with pytest.raises(ValueError, match="this is not the hash of a password") as raised:
        User(name="alice", password=password)
    assert not password or password not in str(raised.value)


@pytest.mark.parametrize("password", ["hunter2hunter", HASH])
def test_an_error_that_quotes_the_manifest_shows_no_password(password, tmp_path):
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(f"resources:\n  - user:\n      - alice: {{ensure: purged, password: '{password}'}}\n")
    command = [sys.executable, "-m", "reactor", "validate", manifest]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    assert "- alice: {ensure: purged, password: '[secret]'}" in said
    assert password[:10] not in said


@pytest.mark.parametrize(
    "password", [HASH, OTHER_HASH, f"!{HASH}", "!", "*", "!!", "$y$j9T$abc./$defG", "$2b$12$abc"]
)
def test_hashes_of_all_methods_are_accepted(password):
    assert User(name="alice", password=password).password == password


@pytest.mark.parametrize(
    "former", [None, f"useradd -u 77 -s /bin/sh -c A -p '{OTHER_HASH}' -G staff -e 2029-01-01 alice"]
)
@pytest.mark.parametrize(
    "properties",
    [{"ensure": "absent"}, {"uid": 88, "password": HASH, "expires": "never", "groups": ["nogroup"]}],
    ids=["absent", "present"],
)
async def test_it_is_undone_by_what_was_there(former, properties):
    if former:
        shell(former)
    resource = User(name="alice", meta={"reverse": True}, **properties)
    if await resource.verify():
        files = ("passwd", "shadow", "group")
        await assert_undone(resource, lambda: [lasting(line(file, "alice") or "") for file in files])


async def test_what_an_earlier_version_left_alone_has_to_be_recorded_too():
    account = PasswdLine("alice", 1500, 1500, "A", "/home/alice", "/bin/sh")
    state = UserState(account, None, ("staff",), {"alice": 1500})
    recorded = await User(name="alice", shell="/bin/false").reversal(state)
    assert User(name="alice", shell="/bin/true").is_undone_by(recorded)
    for edited in ({"groups": []}, {"comment": "B"}, {"ensure": "absent"}):
        assert not User(name="alice", **edited).is_undone_by(recorded)
    assert User(name="alice", comment="B").is_undone_by(User(name="alice", ensure="absent"))


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"name": "root", "ensure": "absent"}, "the user root can't be absent"),
        ({"uid": 0, "ensure": "absent"}, "the user root can't be absent"),
        ({"name": "a b"}, "is not a valid account name"),
        ({"groups": ["sudo,adm"]}, "'sudo,adm' is several names in one: write each by itself"),
        ({"name": "a;reboot"}, "is not a valid account name"),
        ({"group": "a b"}, "is not a valid account name"),
        ({"groups": ["a", "a"]}, "a is listed twice"),
        ({"group": "a", "groups": ["a"]}, "a is the primary group already"),
        ({"home": "home"}, "must be absolute"),
        ({"home": "/a:b"}, "colons"),
        ({"shell": "/bin/\x1b"}, "control characters"),
        ({"comment": "a:b"}, "without colons"),
        ({"expires": "2030-02-30"}, "is not a date"),
        ({"expires": "tomorrow"}, "is not a date"),
    ],
)
def test_what_can_not_be_meant_is_refused(properties, message):
    with pytest.raises(ValueError, match=message):
        User(**{"name": "alice", **properties})


@pytest.fixture
def at_work():
    """A process of the uid 4243."""
    with subprocess.Popen(["setpriv", "--reuid", "4243", "sleep", "60"]) as process:
        while os.stat(f"/proc/{process.pid}").st_uid != 4243:
            assert process.poll() is None
        yield process
        process.kill()


@pytest.mark.parametrize(
    "wanted", [{"ensure": "absent"}, {"uid": 4244}, {"home": "/home/elsewhere"}], ids=str
)
async def test_a_user_who_is_at_work_is_not_changed_and_a_dry_run_says_so(at_work, wanted):
    await converge_once(User(name="busy", uid=4243))
    for noop in (True, False):
        _, story = await converge_once(User(name="busy", **wanted), options=RunOptions(noop=noop))
        [check] = story.checks("user#busy")
        assert str(at_work.pid) in check.error
        assert check.hint == "end its processes first: loginctl terminate-user busy, or pkill -u busy"
    at_work.kill()
    at_work.wait()
    _, story = await converge_once(User(name="busy", **wanted))
    assert story.checks("user#busy")[0].error is None
