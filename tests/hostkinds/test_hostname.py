"""The kind hostname, in a UTS namespace."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest
from hostkinds_worlds import assert_undone
from hypothesis import given
from hypothesis import strategies as st

from reactor.engine.events import Result
from reactor.resource.diagnostic import InvalidPropertiesError
from reactor.resource.plan import ResourceError
from reactor.resources.hostname import Hostname
from reactor.resources.hostname.kind import HostnameState, pretty_name, static_name, with_pretty_name
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once, running

NAME = "web1.example.org"
PRETTY = 'The "first" web server, $5'


@pytest.fixture(autouse=True)
def former_name():
    before = os.uname().nodename
    socket.sethostname("before")
    yield
    socket.sethostname(before)


def names():
    files = [Path("/etc/hostname"), Path("/etc/machine-info")]
    return os.uname().nodename, *(path.read_text() if path.exists() else None for path in files)


def host_name():
    return Case(lambda: Hostname(name=NAME), names, lambda: socket.sethostname("vandal"))


def with_pretty():
    return Case(
        lambda: Hostname(name=NAME, pretty=PRETTY),
        names,
        lambda: Path("/etc/machine-info").write_text("PRETTY_HOSTNAME=vandal\n"),
    )


@pytest.mark.parametrize("case", [host_name, with_pretty], ids=lambda case: case.__name__)
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_the_hostname_kind_keeps_the_contract(promise, case):
    await promise(case())


def with_address():
    Path("/etc/hosts").write_text("127.0.0.1 localhost\n127.0.1.1 before # here\n")
    return Case(
        lambda: Hostname(name=NAME, hosts=True),
        lambda: (*names(), Path("/etc/hosts").read_text()),
        lambda: Path("/etc/hosts").write_text(f"127.0.0.1 localhost\n127.0.1.1\t{NAME} # here\n"),
    )


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_an_address_of_the_host_itself_keeps_the_contract(promise):
    await promise(with_address())


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("web1", "", "127.0.1.1\tweb1\n"),
        (NAME, "127.0.0.1 localhost", f"127.0.0.1 localhost\n127.0.1.1\t{NAME} web1\n"),
        (NAME, "127.0.1.1 old.example.org old\n10.0.0.1 db\n", f"127.0.1.1\t{NAME} web1\n10.0.0.1 db\n"),
        (NAME, f"10.0.0.1 WEB1 {NAME}\n127.0.1.1 old\n", f"10.0.0.1 WEB1 {NAME}\n127.0.1.1 old\n"),
        (NAME, f"10.0.0.1 {NAME}\n", f"10.0.0.1 {NAME}\n127.0.1.1\t{NAME} web1\n"),
    ],
)
async def test_the_host_name_has_an_address_in_etc_hosts(name, before, after):
    Path("/etc/hosts").write_text(before)
    await converge_once(Hostname(name=name, hosts=True))
    assert Path("/etc/hosts").read_text() == after
    ended, _ = await converge_once(Hostname(name=name, hosts=True))
    assert ended.changes == 0


STATIC = "Would have set the host name to web1"
RUNNING = "Would have set the running host name to web1"
PRETTILY = "Would have set the pretty host name to Web"


@pytest.mark.parametrize(
    ("state", "pretty", "sentences"),
    [
        (HostnameState("web1", "web1"), None, []),
        (HostnameState("web1", "web1", "other"), None, []),
        (HostnameState("old", "web1"), None, [f"{RUNNING}, from old"]),
        (HostnameState("web1", "old"), None, [f"{STATIC}, from old"]),
        (HostnameState("web1", None), None, [STATIC]),
        (HostnameState("old", "older"), None, [f"{STATIC}, from older", f"{RUNNING}, from old"]),
        (HostnameState("web1", "web1", "Web"), "Web", []),
        (HostnameState("web1", "web1", None), "Web", [PRETTILY]),
        (HostnameState("web1", "web1", "Old"), "Web", [f"{PRETTILY}, from Old"]),
    ],
)
def test_each_state_leads_to_its_plan(state, pretty, sentences):
    plan = Hostname(name="web1", pretty=pretty).plan(state, refresh=False)
    assert [action.would for action in plan] == sentences


@pytest.mark.parametrize(
    "spoil",
    [
        lambda: subprocess.run(["hostname", "vandal"], check=True),
        lambda: Path("/proc/sys/kernel/hostname").write_text("vandal\n"),
        lambda: Path("/etc/hostname").write_text("vandal\n"),
        lambda: Path("/etc/hostname").unlink(),
    ],
    ids=["sethostname", "procfs", "file", "no file"],
)
async def test_a_name_changed_behind_its_back_is_set_back_without_polling(spoil):
    async with running(Hostname(name=NAME)) as story:
        await story.converged()
        await story.rest()
        spoil()
        assert names() != (NAME, f"{NAME}\n", None)
        await story.until(lambda: names() == (NAME, f"{NAME}\n", None))
        await story.rest()
        assert [check.result for check in story.checks(f"hostname#{NAME}")].count(Result.CHANGED) == 2


async def test_the_other_lines_of_machine_info_stay():
    path = Path("/etc/machine-info")
    path.write_text("ICON_NAME=computer\nPRETTY_HOSTNAME=x\nCHASSIS=vm")
    path.chmod(0o600)
    await converge_once(Hostname(name=NAME, pretty=PRETTY))
    text = path.read_text()
    assert text == 'ICON_NAME=computer\nCHASSIS=vm\nPRETTY_HOSTNAME="The \\"first\\" web server, \\$5"\n'
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_hostname_file_that_is_a_mount_point_is_written_in_place(tmp_path):
    """As in containers."""
    (tmp_path / "hostname").write_text("container\n")
    subprocess.run(["mount", "--bind", tmp_path / "hostname", "/etc/hostname"], check=True)
    await converge_once(Hostname(name=NAME))
    subprocess.run(["umount", "/etc/hostname"], check=True)
    assert (tmp_path / "hostname").read_text() == f"{NAME}\n"


async def test_a_hostname_file_that_is_a_symlink_stays_one(tmp_path):
    (tmp_path / "hostname").write_text("elsewhere\n")
    Path("/etc/hostname").unlink()
    Path("/etc/hostname").symlink_to(tmp_path / "hostname")
    await converge_once(Hostname(name=NAME))
    assert Path("/etc/hostname").is_symlink()
    assert (tmp_path / "hostname").read_text() == f"{NAME}\n"


async def test_a_file_that_is_no_text_is_left_alone_and_named():
    Path("/etc/machine-info").write_bytes(b"PRETTY_HOSTNAME=\xff\n")
    with pytest.raises(ResourceError, match=r"/etc/machine-info is not UTF-8 text at byte 16"):
        await Hostname(name=NAME, pretty=PRETTY).observe()


async def test_the_name_may_be_a_property():
    await converge_once(Hostname(name="this host", hostname=NAME))
    assert names() == (NAME, f"{NAME}\n", None)


async def test_it_is_undone_by_the_names_that_were_there():
    Path("/etc/machine-info").write_text('PRETTY_HOSTNAME="Before"\n')
    await assert_undone(Hostname(name=NAME, pretty=PRETTY), names)


@pytest.mark.parametrize("name", ["a", "web-1", "web_1", "Web1.example.org", "1", "a" * 63])
def test_host_names_are_accepted(name):
    assert Hostname(name=name).name == name


@pytest.mark.parametrize(
    "name",
    ["a b", "a/b", "a;reboot", "$(id)", "-a", "a-", "a..b", ".a", "a.", "a" * 64, "a.b" * 30, "ä", "a\n"],
)
def test_what_is_no_host_name_is_refused(name):
    with pytest.raises(ValueError, match="host name"):
        Hostname(name=name)
    with pytest.raises(ValueError, match="host name"):
        Hostname(name="this", hostname=name)


@pytest.mark.parametrize("pretty", ["", "  ", "two\nlines", "\x1b[31m"])
def test_what_is_no_line_of_text_is_no_pretty_name(pretty):
    with pytest.raises(ValueError, match="one line of text") as raised:
        Hostname(name="a", pretty=pretty)
    assert not isinstance(raised.value, InvalidPropertiesError)


@pytest.mark.parametrize(
    ("text", "name"),
    [("", None), ("web1", "web1"), ("# my host\n\n  web1 \nweb2\n", "web1"), ("#\n", None)],
)
def test_the_static_name_is_the_first_line_that_is_no_comment(text, name):
    assert static_name(text) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("", None),
        ("PRETTY_HOSTNAME=web\n", "web"),
        ("PRETTY_HOSTNAME='a b'\nPRETTY_HOSTNAME=\"c d\"\n", "c d"),
        ("PRETTY_HOSTNAME=\n", None),
        ("PRETTY_HOSTNAME='a\n", None),
        ("ICON_NAME=x\n", None),
    ],
)
def test_the_pretty_name_is_what_a_shell_would_read(text, name):
    assert pretty_name(text) == name


@given(
    st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1), st.sampled_from(["", "A=1", "A=1\n"])
)
def test_a_pretty_name_that_was_put_in_is_found_again(name, before):
    after = with_pretty_name(before, name)
    assert pretty_name(after) == name
    assert after.startswith(before)
    assert with_pretty_name(after, name) == after
