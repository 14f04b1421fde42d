"""ACL, extended attributes and capabilities: what the kernel makes of them, and whom they are not given to."""

import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from file_worlds import converge, look, make, mode_of, repairs
from namespaces import run_in_namespaces

from reactor.engine.options import RunOptions
from reactor.hostfs import FileType, read_extended
from reactor.resource.diagnostic import InvalidPropertiesError
from reactor.resource.plan import ResourceError
from reactor.resources.file import File, acl, capabilities
from reactor.testing.story import converge_once, running

ACCESS, DEFAULT, CAPABILITY = "system.posix_acl_access", "system.posix_acl_default", "security.capability"
STRANGER, OTHER = 1234, 4321


def xattrs(path: Path) -> dict[str, bytes]:
    return {name: os.getxattr(path, name) for name in os.listxattr(path)}


def may(user: int, letters: str, path: Path, group: int = 9999) -> bool:
    """Whether the kernel lets this user read (r) and write (w) the file."""
    return all(
        subprocess.run(
            ["/usr/bin/test", f"-{letter}", path], user=user, group=group, extra_groups=[], check=False
        ).returncode
        == 0
        for letter in letters
    )


@pytest.fixture
def place(tmp_path):
    """A directory that every user can enter."""
    for each in (tmp_path, *tmp_path.parents[:-2]):
        each.chmod(each.stat().st_mode | 0o055)
    return tmp_path


async def test_the_kernel_lets_in_whom_the_entries_name(place):
    path = place / "f"
    await converge(make(path, content="x", mode="0600", acl=[f"u:{STRANGER}:rw", f"g:{OTHER}:r"]))
    assert may(STRANGER, "rw", path)
    assert may(5, "r", path, OTHER)
    assert not may(5, "w", path, OTHER)
    assert not may(5, "r", path)


async def test_the_mode_is_that_of_the_owning_group_and_the_mask_is_what_the_file_shows(place):
    path = place / "f"
    resource = make(path, content="x", mode="0640", group=str(OTHER), acl=[f"u:{STRANGER}:rw"])
    await converge(resource)
    assert mode_of(path) == 0o660
    assert may(STRANGER, "rw", path)
    assert may(5, "r", path, OTHER)
    assert not may(5, "w", path, OTHER), "the mask is not what the owning group gets"
    assert await look(make(path, content="x", mode="0640", group=str(OTHER), acl=[f"u:{STRANGER}:rw"])) == ()


async def test_the_list_is_exact_and_an_empty_one_takes_all_away(place):
    path = place / "f"
    await converge(make(path, content="x", mode="0640", acl=["u:1:r", "u:2:rw"]))
    await converge(make(path, content="x", mode="0640", acl=["u:2:rw"]))
    assert acl.texts_of(xattrs(path)[ACCESS], is_default=False) == ["u:2:rw-", "m::rw-"]
    await converge(make(path, content="x", mode="0640", acl=[]))
    assert xattrs(path) == {}
    assert mode_of(path) == 0o640


async def test_new_content_keeps_all_of_them_and_has_them_before_it_is_there(place):
    path = place / "f"
    more = {"acl": ["u:1:r"], "xattrs": {"user.a": "b"}, "capabilities": "cap_net_raw=ep"}
    await converge(make(path, content="one", mode="0755", **more))
    before = xattrs(path)
    assert before.keys() == {ACCESS, "user.a", CAPABILITY}
    resource = make(path, content="two", mode="0755", **more)
    plan = await look(resource)
    assert len(plan) == 1
    await plan[0].run()
    assert (path.read_text(), xattrs(path)) == ("two", before)


async def test_a_default_list_is_of_a_directory_and_of_what_is_made_in_it(place):
    path = place / "d"
    resource = make(path, ensure="directory", mode="0755", acl=[f"d:u:{STRANGER}:rwx"])
    await converge(resource)
    assert xattrs(path).keys() == {DEFAULT}
    (path / "new").write_text("x")
    assert may(STRANGER, "rw", path / "new")
    await converge(make(path, ensure="directory", mode="0755", acl=[]))
    assert xattrs(path) == {}


async def test_a_new_owner_leaves_the_capabilities_that_the_kernel_takes_away(place):
    path = place / "f"
    more = {"mode": "0755", "capabilities": "cap_net_raw=ep"}
    await converge(make(path, content="x", **more))
    os.chown(path, 7, 7)
    assert CAPABILITY not in xattrs(path)
    await converge(make(path, content="x", **more))
    assert CAPABILITY in xattrs(path)
    await converge(make(path, content="x", mode="0755", capabilities=""))
    assert CAPABILITY not in xattrs(path)


async def test_extended_attributes_are_those_named_and_no_others(place):
    path = place / "f"
    path.write_text("x")
    os.setxattr(path, "user.theirs", b"1")
    os.setxattr(path, "user.old", b"1")
    wanted = {"user.a": "text", "user.b": "0x00ff", "user.c": "0saGk=", "user.old": None}
    await converge(make(path, xattrs=wanted))
    assert xattrs(path) == {"user.theirs": b"1", "user.a": b"text", "user.b": b"\x00\xff", "user.c": b"hi"}


async def test_drift_of_each_is_announced_and_repaired(place):
    path = place / "f"
    more = {"acl": ["u:1:r"], "xattrs": {"user.a": "b"}, "capabilities": "cap_net_raw=ep"}
    async with running(make(path, content="x", mode="0755", **more)) as story:
        await story.converged()
        wanted = xattrs(path)
        for count, name in enumerate(wanted, 1):
            os.removexattr(path, name)
            await story.until(lambda count=count: repairs(story, path) >= count)
            assert xattrs(path) == wanted
            await story.rest()


async def test_capabilities_are_not_given_to_what_a_user_could_have_put_there(place):
    home = place / "home"
    home.mkdir()
    os.chown(home, STRANGER, STRANGER)
    shutil.copy("/bin/sh", home / "program")
    resource = make(home / "program", mode="0755", capabilities="cap_setuid=ep")
    for is_noop in (True, False):
        _, story = await converge_once(resource, options=RunOptions(noop=is_noop))
        assert "refusing to give capabilities" in (story.checks(f"file#{home}/program")[0].error or "")
    assert CAPABILITY not in xattrs(home / "program")
    await converge(make(home / "program", content="x", mode="0755", capabilities="cap_setuid=ep"))
    assert (home / "program").read_text() == "x"
    assert CAPABILITY in xattrs(home / "program")


async def test_capabilities_of_managed_content_come_with_the_content(place):
    """Between the look and the change, the owner of the directory may exchange the file."""
    home = place / "home"
    home.mkdir()
    os.chown(home, STRANGER, STRANGER)
    path = home / "program"
    await converge(make(path, content="x", mode="0755"))
    [action] = await look(make(path, content="x", mode="0755", capabilities="cap_setuid=ep"))
    path.unlink()
    path.write_text("theirs")
    await action.run()
    assert path.read_text() == "x"
    assert CAPABILITY in xattrs(path)


@pytest.mark.parametrize("kind", ["symlink", "hard link"])
async def test_a_link_to_another_file_that_is_put_there_gets_nothing(place, kind):
    home, secret = place / "home", place / "secret"
    home.mkdir()
    secret.write_text("root's")
    path = home / "f"
    path.write_text("x")
    os.chown(home, STRANGER, STRANGER)
    [action] = await look(make(path, xattrs={"user.a": "b"}))
    path.unlink()
    os.link(secret, path) if kind == "hard link" else path.symlink_to(secret)
    with pytest.raises(ResourceError, match="refusing to"):
        await action.run()
    assert xattrs(secret) == {}


WITHOUT_SUPPORT = """
import subprocess, sys, trio
from reactor.engine.options import RunOptions
from reactor.resources.file import File
from reactor.testing.story import converge_once
subprocess.run(["mount", "-t", "ramfs", "none", "/mnt"], check=True)
async def main():
    for noop in (True, False):
        file = File(name="/mnt/f", ensure="present", content="x", owner="0", group="0", mode="0644", acl=["u:7:r"])
        _, story = await converge_once(file, options=RunOptions(noop=noop))
        print(story.checks("file#/mnt/f")[0].error)
trio.run(main)
"""


def test_a_file_system_without_them_is_an_error_before_and_when_it_is_written():
    words = f"cannot set {ACCESS} of /mnt/f: Operation not supported"
    assert run_in_namespaces(WITHOUT_SUPPORT) == [words, words]


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("cap_net_raw=ep", "cap_net_raw=ep"),
        ("cap_net_raw,cap_net_admin+ep", "cap_net_admin,cap_net_raw=ep"),
        ("CAP_NET_RAW=p cap_chown=ip", "cap_chown=ip cap_net_raw=p"),
        ("cap_net_raw=eip", "cap_net_raw=eip"),
        ("cap_checkpoint_restore=ep", "cap_checkpoint_restore=ep"),
        ("", ""),
    ],
)
def test_capabilities_survive_the_format_of_the_kernel(text, normal, tmp_path):
    data = capabilities.encode(text)
    assert capabilities.decode(data) == normal
    if data is not None:
        (tmp_path / "f").write_text("x")
        os.setxattr(tmp_path / "f", CAPABILITY, data)
        assert capabilities.normal(os.getxattr(tmp_path / "f", CAPABILITY)) == data


def test_capabilities_are_what_getcap_reads(tmp_path):
    if (getcap := shutil.which("getcap", path="/sbin:/usr/sbin:/bin:/usr/bin")) is None:
        return  # the other tests compare with the kernel
    (tmp_path / "f").write_text("x")
    os.setxattr(tmp_path / "f", CAPABILITY, capabilities.encode("cap_net_raw,cap_chown=ep") or b"")
    said = subprocess.run([getcap, tmp_path / "f"], capture_output=True, text=True, check=True).stdout
    assert said.strip().endswith("cap_chown,cap_net_raw=ep")


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"acl": ["alice:rw"]}, "is not an entry of an ACL"),
        ({"acl": ["u:alice:rwq"]}, "the permissions must be letters"),
        ({"acl": ["u:alice:rr"]}, "the permissions must be letters"),
        ({"acl": ["u::rw"]}, "mode sets the permissions"),
        ({"acl": ["o::rw"]}, "mode sets the permissions"),
        ({"acl": ["m:x:rw"]}, "only users and groups have a name"),
        ({"acl": ["u:a:r", "user:a:w"]}, "is there twice"),
        ({"acl": ["d:u:a:r"]}, "only a directory has default entries"),
        ({"acl": ["u:4294967295:r"]}, "is not an id"),
        ({"capabilities": "cap_nothing=ep"}, "there is no capability"),
        ({"capabilities": "cap_net_raw"}, "is not a capability"),
        ({"capabilities": "cap_net_raw=ep cap_chown=p"}, "one flag e"),
        ({"ensure": "directory", "capabilities": "cap_chown=ep"}, "a directory has no capabilities"),
        ({"ensure": "link", "target": "x", "acl": []}, "a link has no acl"),
        ({"ensure": "absent", "xattrs": {"user.a": "b"}}, "an absent file has no xattrs"),
        ({"xattrs": {"a": "b"}}, "is not an extended attribute"),
        ({"xattrs": {"system.posix_acl_access": "b"}}, "properties of their own"),
        ({"xattrs": {"security.capability": "b"}}, "properties of their own"),
        ({"xattrs": {"user.a": "0xq"}}, "hexadecimal digits must follow 0x"),
        ({"xattrs": {"user." + "a" * 300: "b"}}, "at most 255 bytes"),
        ({"acl": [], "meta": {"reverse": True}}, "can't be undone"),
    ],
)
def test_what_is_refused_when_the_manifest_is_loaded(properties, words):
    own = (
        {} if properties.get("ensure") in ("absent", "link") else {"owner": "0", "group": "0", "mode": "0644"}
    )
    with pytest.raises((InvalidPropertiesError, ValueError), match=words):
        File(**({"name": "/f", "ensure": "present"} | own | properties))


async def test_a_file_that_is_removed_while_its_attributes_are_read_is_absent(place, monkeypatch):
    path = place / "f"
    path.write_text("x")

    def read(path, values):
        os.unlink(path)
        return read_extended(path, values)

    monkeypatch.setattr("reactor.resources.file.extended.read_extended", read)
    state = await make(path, xattrs={"user.a": "b"}).observe()
    assert state.type is FileType.ABSENT


async def test_attributes_that_can_not_be_read_are_an_error(place, monkeypatch):
    path = place / "f"
    path.write_text("x")

    def read(path, values):
        del path, values
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("reactor.resources.file.extended.read_extended", read)
    with pytest.raises(ResourceError, match=f"cannot inspect {path}: Input/output error"):
        await make(path, xattrs={"user.a": "b"}).observe()
