"""The rules that look at this very host: files, accounts, processes, commands, packages, mounts."""

import grp
import hashlib
import os
import pwd
import socket
import subprocess

import pytest
import trio
from health_worlds import holds, look
from pydantic import ValidationError

from reactor.resource.health import HealthCheck


async def file_holds(path, **properties):
    return await holds(
        {"file": {str(path): {name.replace("_", "-"): each for name, each in properties.items()}}}
    )


async def test_a_file_is_there_or_not(tmp_path):
    there = tmp_path / "there"
    there.touch()
    assert await file_holds(there)
    assert await file_holds(there, exists=True)
    assert not await file_holds(there, exists=False)
    assert await file_holds(tmp_path / "gone", exists=False)
    assert await file_holds(there / "below a file", exists=False)
    assert await look({"file": {str(tmp_path / "gone"): {"mode": "0644"}}}) == (
        "critical",
        [f"file {tmp_path}/gone: exists is false, expected true"],
    )


async def test_attributes_of_a_file(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    path.chmod(0o4640)
    me, mine = pwd.getpwuid(os.getuid()), grp.getgrgid(os.getgid())
    assert await file_holds(path, mode="4640", size=5, filetype="file", linked_to="")
    assert await file_holds(path, owner=me.pw_name, uid=me.pw_uid, group=mine.gr_name, gid=mine.gr_gid)
    assert not await file_holds(path, mode="0640")
    assert not await file_holds(path, size={"gt": 5})


async def test_a_mode_need_not_be_quoted(tmp_path):
    tmp_path.chmod(0o755)
    assert await file_holds(tmp_path, mode=755, filetype="directory")  # YAML 1.2 reads 0755 as 755


async def test_the_type_of_a_file_is_its_own_not_that_of_what_it_leads_to(tmp_path):
    (tmp_path / "link").symlink_to("/nowhere")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        assert await file_holds(tmp_path / "socket", filetype="socket")
    assert await file_holds(tmp_path / "pipe", filetype="pipe")
    assert await file_holds(tmp_path / "link", filetype="symlink", linked_to="/nowhere")
    assert await file_holds("/dev/null", filetype="character-device")


async def test_the_content_of_a_file_is_searched_for_texts_and_patterns(tmp_path):
    path = tmp_path / "sshd_config"
    path.write_text("Port 22\nBanner /etc/issue\n")
    assert await file_holds(path, contents=["Banner", "!Match", "/^Port \\d+$/"])
    assert await file_holds(path, contains=["Banner"])
    assert await file_holds(path, contents={"match-regexp": "issue"})
    assert await look({"file": {str(path): {"contents": ["Port", "Match"]}}}) == (
        "critical",
        [f'file {path}: contents does not match ["Match"]'],
    )


@pytest.mark.parametrize("name", ["md5", "sha256", "sha512"])
async def test_a_checksum_holds_for_its_content_only(tmp_path, name):
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    assert await file_holds(path, **{name: hashlib.new(name, b"abc").hexdigest()})
    assert not await file_holds(path, **{name: hashlib.new(name, b"abd").hexdigest()})


@pytest.mark.parametrize("properties", [{"md5": "x"}, {"contents": ["x"]}])
@pytest.mark.parametrize("name", ["directory", "pipe", "endless"])
async def test_what_is_no_regular_file_is_not_read(name, properties, tmp_path):
    """Reading from it may never end."""
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "endless").symlink_to("/dev/zero")
    path = tmp_path / name
    with trio.fail_after(60):
        status, [complaint] = await look({"file": {str(path): properties}})
    assert (status, complaint) == (
        "critical",
        f"file {path}: it is not a regular file, so its content is not read",
    )


async def test_the_path_may_be_given_apart_from_the_key(tmp_path):
    assert await holds({"file": {"the directory": {"path": str(tmp_path), "filetype": "directory"}}})


async def test_a_rule_may_be_skipped():
    assert await look({"file": {"/nowhere": {"skip": True}, "/": {}}}) == ("ok", ["1 rule holds"])


async def test_rules_for_users_and_groups_hold_or_not():
    root = {"uid": 0, "gid": 0, "home": "/root", "groups": ["root"], "shell": {"have-prefix": "/"}}
    assert await holds({"user": {"root": root}, "group": {"root": {"gid": 0}}})
    assert await holds(
        {"user": {"nobody-at-all": {"exists": False}}, "group": {"no-group": {"exists": False}}}
    )
    assert not await holds({"user": {"root": {"uid": 1}}})
    assert not await holds({"group": {"no-group": {"exists": True}}})


async def test_a_user_is_in_the_groups_that_list_it(tmp_path, monkeypatch):
    table = tmp_path / "group"
    table.write_text("+:::\nroot:x:0:\nweb:x:7000:ann,root\nmail:x:7001:ann\n")
    # On a bare machine, no group lists anybody.
    monkeypatch.setattr("reactor.resources.accounts.database.GROUP", str(table))
    assert await holds({"user": {"root": {"groups": ["root", "web"]}}})
    assert not await holds({"user": {"root": {"groups": ["mail"]}}})


def started(*words):
    return subprocess.Popen(words)


async def test_processes_by_the_name_of_their_program(tmp_path):
    program = tmp_path / "a-program-with-a-long-name"
    program.symlink_to("/bin/sleep")
    rules = {"process": {program.name: {"running": True}}}
    with started(program, "60") as process:
        try:
            with trio.fail_after(60):
                while not await holds(rules):  # the name is set a moment after the program has started
                    await trio.lowlevel.checkpoint()
        finally:
            process.kill()
    assert not await holds(rules)
    assert await holds({"process": {program.name: {"running": False}}})


async def test_rules_for_commands_hold_or_not():
    assert await holds({"command": {"echo out; echo err >&2; exit 3": {
        "exit-status": 3, "stdout": ["out", "!err"], "stderr": "err"}}})  # fmt: skip
    assert await holds({"command": {"two": {"exec": "expr 1 + 1", "stdout": {"gt": 1}}}})
    assert not await holds({"command": {"false": {}}})


async def test_a_command_that_takes_too_long_is_killed():
    _, [line] = await look({"command": {"sleep 60": {"timeout": 50}}})
    assert line.startswith("command sleep 60: timed out after 0.05s")


async def test_rules_for_packages_hold_or_not():
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "dpkg"], capture_output=True, check=True)
    assert await holds({"package": {"dpkg": {"versions": [shown.stdout.decode()]}}})
    assert await holds({"package": {"no-such-package": {"installed": False}}})
    assert not await holds({"package": {"dpkg": {"versions": ["0"]}}})


async def test_rules_for_mounts_hold_or_not():
    assert await holds({"mount": {"/proc": {"filesystem": "proc", "opts": ["rw"], "usage": {"le": 100}}}})
    assert await holds({"mount": {"/nowhere": {"exists": False}}})
    assert not await holds({"mount": {"/proc": {"filesystem": "ext4"}}})


async def test_rules_for_interfaces_hold_or_not():
    assert await holds({"interface": {"lo": {"addrs": ["127.0.0.1/8"], "mtu": {"gt": 1000}}}})
    assert await holds(
        {"interface": {"loopback": {"name": "lo", "exists": True}, "nope0": {"exists": False}}}
    )
    assert not await holds({"interface": {"lo": {"addrs": ["192.0.2.1/24"]}}})
    assert not await holds({"interface": {"nope0": {"mtu": 1500}}})


async def test_parameters_of_the_kernel():
    assert await holds({"kernel-param": {"kernel.ostype": {"value": "Linux"}}})
    assert await holds({"kernel-param": {"kernel.pid_max": {"value": {"gt": 100}}}})
    assert not await holds({"kernel-param": {"kernel.nothing": {"value": "x"}}})


async def test_matching_looks_at_what_the_manifest_gives():
    assert await holds({"matching": {"count": {"content": 14, "matches": {"gt": 0}}}})
    assert not await holds({"matching": {"count": {"content": 0, "matches": {"gt": 0}}}})


@pytest.mark.parametrize(
    ("rules", "place"),
    [
        ({"fiel": {}}, ("goss_rules", "fiel")),
        ({"file": {"/x": {"exist": True}}}, ("goss_rules", "file", "/x", "exist")),
        ({"file": {"/x": {"linked_to": "y"}}}, ("goss_rules", "file", "/x", "linked_to")),
        ({"user": {"root": {"uid": {"gtt": 0}}}}, ("goss_rules", "user", "root", "uid")),
        ({"command": {"true": {"timeout": "1s"}}}, ("goss_rules", "command", "true", "timeout")),
        ({"dns": {"x": {"server": "a:b:c:d:x"}}}, ("goss_rules", "dns", "x", "server")),
        ({"port": {"tcp:x": {}}}, ("goss_rules", "port", "tcp:x")),
        ({"addr": {"udp://x": {}}}, ("goss_rules", "addr", "udp://x")),
        ({"http": {"x": {"url": "ftp://x"}}}, ("goss_rules", "http", "x", "url")),
        ("/etc/goss.yaml", ("goss_rules",)),
    ],
)
def test_what_is_no_rule_is_refused_where_it_stands(rules, place):
    with pytest.raises(ValidationError) as refused:
        HealthCheck(goss_rules=rules)
    assert [error["loc"] for error in refused.value.errors()] == [place]
