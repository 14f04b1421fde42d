"""A command as another user: who it is, what it sees, and what it can't do."""

import os
import pwd

import pytest
from one_shot import checked

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.loading import load
from reactor.resource.diagnostic import InvalidPropertiesError
from reactor.resource.plan import ResourceError
from reactor.resources.accounts.user import User
from reactor.resources.exec import Exec
from reactor.resources.process import ENVIRONMENT, Command, identity_of, run
from reactor.testing.story import converge_once


@pytest.fixture
def place(open_tmp_path):
    """A directory in which everybody may write, and that everybody may reach."""
    open_to_all = open_tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    return open_to_all


def command(script, **properties):
    return Exec(name="it", command=script, provider="shell", **properties)


async def output_of(script, **properties):
    resource = command(script, **properties)
    _, story = await converge_once(resource)
    assert story.result(resource.ref) is Result.CHANGED, story.checks(resource.ref)
    return (await resource.outputs())["stdout"]


async def test_all_ids_are_those_of_the_user_and_none_comes_back():
    status = await output_of("cat /proc/self/status", user="daemon")
    lines = dict(line.split(":", 1) for line in status.splitlines())
    assert lines["Uid"].split() == ["1"] * 4
    assert lines["Gid"].split() == ["1"] * 4
    assert lines["CapEff"].strip() == lines["CapPrm"].strip() == "0" * 16


async def test_supplementary_groups_are_those_of_the_account():
    name = next(each.pw_name for each in pwd.getpwall() if each.pw_uid not in (0, 65534))
    account = pwd.getpwnam(name)
    expected = {str(gid) for gid in os.getgrouplist(name, account.pw_gid)}
    assert set((await output_of("id -G", user=name)).split()) == expected


async def test_none_of_our_groups_is_left(monkeypatch):
    before = os.getgroups()
    os.setgroups([0, 4, 27])
    try:
        assert set((await output_of("id -G", user="nobody")).split()) == {str(pwd.getpwnam("nobody").pw_gid)}
    finally:
        os.setgroups(before)


async def test_group_takes_the_place_of_the_primary_one():
    assert await output_of("id -g", user="daemon", group="2") == "2"


async def test_group_alone_leaves_the_user():
    assert await output_of("id -u; id -g", group="2") == f"{os.geteuid()}\n2"


async def test_an_id_without_an_account_needs_a_group():
    assert await output_of("id -u; id -G; echo $HOME $USER", user="54321", group="54322") == (
        "54321\n54322\n/ 54321"
    )
    with pytest.raises(ResourceError, match="there is no account of the user 54321") as caught:
        await identity_of("54321")
    assert caught.value.hint == "give `group`"


async def test_home_user_and_logname_are_those_of_the_user():
    home = pwd.getpwnam("daemon").pw_dir
    assert await output_of("echo $HOME $USER $LOGNAME", user="daemon") == f"{home} daemon daemon"


async def test_environment_wins_over_what_the_user_brings():
    assert await output_of("echo $HOME", user="daemon", environment=["HOME=/x"]) == "/x"


async def test_without_a_user_none_of_them_is_set():
    assert await output_of('echo "[$HOME$USER$LOGNAME]"') == "[]"


async def test_files_belong_to_the_user(place):
    await output_of(f"touch {place}/f", user="daemon")
    found = (place / "f").stat()
    assert (found.st_uid, found.st_gid) == (1, 1)


async def test_what_root_alone_may_do_fails(place):
    (place / "secret").write_text("x")
    (place / "secret").chmod(0o600)
    resource = command(f"cat {place}/secret", user="daemon")
    check = await checked(resource)
    assert "Permission denied" in check.error


async def test_guards_run_as_the_user(place):
    guard = f"sh -c 'id -u > {place}/guard'"
    await output_of("true", user="daemon", onlyif=guard)
    assert (place / "guard").read_text() == "1\n"
    assert (place / "guard").stat().st_uid == 1


async def test_dev_stderr_can_be_opened_by_the_user():
    assert await output_of("echo x > /dev/stdout", user="daemon") == "x"


async def test_the_umask_does_not_depend_on_ours(place):
    before = os.umask(0o077)
    try:
        assert await output_of("umask") == "0022"
        assert await output_of("umask", umask="0027", user="daemon") == "0027"
        assert (await run(Command(("/bin/sh", "-c", "umask"), "/", ENVIRONMENT))).stdout == "0022\n"
    finally:
        os.umask(before)


@pytest.mark.parametrize("umask", ["0888", "1777", "x", ""])
def test_what_is_no_umask_is_refused(umask):
    with pytest.raises(ValueError, match="is not a umask"):
        Exec(name="x", umask=umask)


async def test_a_program_that_the_user_may_not_execute_is_named(place):
    (place / "tool").write_text("#!/bin/sh\n")
    (place / "tool").chmod(0o700)
    resource = Exec(name=f"{place}/tool", user="daemon")
    check = await checked(resource)
    assert check.error == f"daemon may not execute {place}/tool"


async def test_an_unknown_user_fails_also_in_a_dry_run(place):
    for noop in (False, True):
        resource = command(f"touch {place}/f", user="no-such-user")
        check = await checked(resource, noop=noop)
        assert check.result is Result.FAILED
        assert check.error == 'could not lookup user "no-such-user"'
    assert list(place.iterdir()) == []


async def test_a_user_that_the_manifest_makes_is_no_failure_of_a_dry_run():
    resource = command("true", user="no-such-user", unless="false")
    maker = User(name="no-such-user")
    _, story = await converge_once(resource, maker, options=RunOptions(noop=True))
    assert story.result(resource.ref) is Result.WOULD_CHANGE
    assert [check.ref for check in story.all(type(story.checks(maker.ref)[0]))] == [maker.ref, resource.ref]


SHELLED = {
    "ls | wc": "|", "ls|wc": "|", "echo x > /tmp/f": ">", "echo x >>/tmp/f": ">>", "cat < f": "<", "make 2>&1": "2>&1",
    "echo $HOME": "$HOME", 'echo "$HOME/x"': "$HOME", "echo $(date)": "$(", "echo `date`": "`", "a && b": "&&",
    "a || b": "||", "cd /x; ls": ";", "rm /tmp/*.log": "*", "sleep 9 &": "&",
}  # fmt: skip

PLAIN = [
    "grep 'a|b' f", 'echo "a > b"', "find . -exec rm {} \\;", "find . -name '*.log'", "echo '$HOME'", "echo \\$HOME",
    "curl http://h/?a=1&b=2", "sh -c 'ls | wc'", '/bin/bash -c "echo $HOME > x"', "awk '{print $1}' f", "echo => a->b",
]  # fmt: skip


def warnings_of(tmp_path, exec_properties):
    manifest = tmp_path / "site.yaml"
    manifest.write_text(f"resources:\n  - exec:\n      - it: {exec_properties}\n")
    return load(str(manifest)).warnings


@pytest.mark.parametrize("text", SHELLED)
def test_what_only_a_shell_understands_is_warned_of(text, tmp_path):
    quoted = text.replace("'", "''")
    [warning] = warnings_of(tmp_path, f"{{command: '{quoted}'}}")
    assert warning == (
        f"{tmp_path}/site.yaml:3:23: exec#it: {SHELLED[text]} is only understood by a shell, and no shell reads this"
        " command (write provider: shell, or quote it if that is intended)"
    )
    assert warnings_of(tmp_path, f"{{command: '{quoted}', provider: shell}}") == ()


@pytest.mark.parametrize("guard", ["onlyif", "unless"])
def test_guards_are_looked_at_too(guard, tmp_path):
    [warning] = warnings_of(tmp_path, f"{{command: 'true', {guard}: 'a && b'}}")
    assert "&& is only understood by a shell" in warning


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_meant_as_it_stands_is_no_warning(text, tmp_path):
    quoted = text.replace("'", "''")
    assert warnings_of(tmp_path, f"{{command: '{quoted}'}}") == ()


def test_an_empty_user_is_refused():
    with pytest.raises((ValueError, InvalidPropertiesError), match="must not be empty"):
        Exec(name="x", user="")
