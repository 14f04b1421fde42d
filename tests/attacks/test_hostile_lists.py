"""ACLs: what the owner of a directory put on it gives them no access to what root makes there, or takes over."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from reactor.hostfs import others_may_replace, others_may_write
from reactor.resource.plan import ResourceError
from reactor.resources.trusted_directory import refuse_other_owner

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="acts as another user")

STRANGER = 12345
SECRET = "only root may read this"
_ACCESS, _DEFAULT = "system.posix_acl_access", "system.posix_acl_default"


def lists_of(path: Path) -> set[str]:
    return {_ACCESS, _DEFAULT} & {*os.listxattr(path)}


def give_themselves(path: Path, *more: str) -> None:
    """The stranger gives themselves all rights to what is theirs."""
    entry = f"u:{STRANGER}:rwx"
    command = ["setfacl", "-m", ",".join((entry, *(each + entry for each in more))), path]
    subprocess.run(command, check=True, user=STRANGER, group=STRANGER, extra_groups=[])


def is_open_to_stranger(path: Path, flag: str = "-r") -> bool:
    done = subprocess.run(
        ["test", flag, path], check=False, user=STRANGER, group=STRANGER, extra_groups=[], cwd="/"
    )
    return done.returncode == 0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory of the stranger, who has set a default ACL on it."""
    for above in (tmp_path, *tmp_path.parents[:3]):
        above.chmod(above.stat().st_mode | 0o011)
    (tmp_path / "home").mkdir(0o755)
    os.chown(tmp_path / "home", STRANGER, STRANGER)
    give_themselves(tmp_path / "home", "d:")
    return tmp_path / "home"


def test_a_file_of_root_inherits_no_acl_of_the_owner_of_its_directory(reactor, manifest, home):
    wanted = f'{{ensure: present, content: {SECRET}, owner: root, group: root, mode: "0660"}}'
    done = reactor("run", "--converge-once", manifest(f"resources: [file: [{{{home}/file: {wanted}}}]]"))
    assert done.code == 0, done.out
    assert not is_open_to_stranger(home / "file")
    assert not is_open_to_stranger(home / "file", "-w")


def test_directories_of_root_inherit_none_either_at_any_depth(reactor, manifest, home):
    wanted = '{ensure: directory, owner: root, group: root, mode: "0770"}'
    done = reactor("run", "--converge-once", manifest(f"resources: [file: [{{{home}/a/b: {wanted}}}]]"))
    assert done.code == 0, done.out
    assert not is_open_to_stranger(home / "a/b", "-w")
    assert not lists_of(home / "a") | lists_of(home / "a/b")


def test_a_line_of_a_file_of_root_opens_it_to_nobody(reactor, manifest, home):
    (home / "conf").write_text(f"{SECRET}\n")
    subprocess.run(["setfacl", "-b", home / "conf"], check=True)
    (home / "conf").chmod(0o640)
    done = reactor(
        "run", "--converge-once", manifest(f"resources: [line: [{{it: {{path: {home}/conf, line: x}}}}]]")
    )
    assert done.code == 0, done.out
    assert "x" in (home / "conf").read_text()
    assert not is_open_to_stranger(home / "conf")


def test_what_root_takes_over_keeps_no_acl_of_its_former_owner(reactor, manifest, tmp_path, home):
    (shared := tmp_path / "shared").mkdir()
    shared.chmod(0o1777)
    for each in ("directory", "file"):
        (shared / each).mkdir() if each == "directory" else (shared / each).touch()
        os.chown(shared / each, STRANGER, STRANGER)
        give_themselves(shared / each, *(["d:"] if each == "directory" else []))
    root = 'owner: root, group: root, mode: "0770"'
    text = f"[{{{shared}/directory: {{ensure: directory, {root}}}}}, {{{shared}/file: {{ensure: present, {root}}}}}]"
    done = reactor("run", "--converge-once", manifest(f"resources: [file: {text}]"))
    assert done.code == 0, done.out
    assert not lists_of(shared / "directory") | lists_of(shared / "file")
    assert stat.S_IMODE((shared / "file").stat().st_mode) == 0o770
    assert not is_open_to_stranger(shared / "directory", "-w")
    assert not is_open_to_stranger(shared / "file")


def test_a_file_of_the_owner_of_the_directory_has_the_acl_that_they_want(reactor, manifest, home):
    own = f'owner: "{STRANGER}", group: "{STRANGER}", mode: "0660"'
    wanted = f"{{ensure: present, content: x, {own}}}"
    done = reactor("run", "--converge-once", manifest(f"resources: [file: [{{{home}/file: {wanted}}}]]"))
    assert done.code == 0, done.out
    assert lists_of(home / "file") == {_ACCESS}


def test_a_managed_acl_stays_when_root_takes_a_directory_over(reactor, manifest, tmp_path, home):
    (tmp_path / "data").mkdir()
    os.chown(tmp_path / "data", STRANGER, STRANGER)
    give_themselves(tmp_path / "data")
    wanted = '{ensure: directory, owner: root, group: root, mode: "0750", acl: ["u:1:rx"]}'
    done = reactor("run", "--converge-once", manifest(f"resources: [file: [{{{tmp_path}/data: {wanted}}}]]"))
    assert done.code == 0, done.out
    listed = subprocess.run(
        ["getfacl", "-np", tmp_path / "data"], check=True, capture_output=True, text=True
    ).stdout
    assert "user:1:r-x" in listed
    assert str(STRANGER) not in listed


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A directory of root, in which an ACL lets the stranger write. Its group is root's."""
    (where := tmp_path / "listed").mkdir()
    subprocess.run(["setfacl", "-m", f"u:{STRANGER}:rwx", where], check=True)
    return where


def test_who_may_write_by_an_acl_is_one_of_the_others(shared):
    handle = os.open(shared, os.O_PATH)
    try:
        assert others_may_write(os.fstat(handle), handle)
        assert others_may_replace(handle, "file")
        with pytest.raises(ResourceError, match="other users may write"):
            refuse_other_owner(str(shared), os.fstat(handle), 0)
        subprocess.run(["setfacl", "-b", shared], check=True)
        shared.chmod(0o775)
        assert not others_may_write(os.fstat(handle), handle), "the group is root's"
    finally:
        os.close(handle)


def test_who_may_write_by_an_acl_moves_no_symlink_of_root_to_a_managed_name(reactor, manifest, shared):
    (root := shared.parent / "root").mkdir(0o700)
    (root / "app.conf").touch(0o600)
    (shared / "current").symlink_to(root)
    subprocess.run(
        ["mv", "current", "conf"], cwd=shared, check=True, user=STRANGER, group=STRANGER, extra_groups=[]
    )
    wanted = f'{{ensure: present, owner: "{STRANGER}", group: "{STRANGER}", mode: "0644"}}'
    done = reactor(
        "run", "--converge-once", manifest(f"resources: [file: [{{{shared}/conf/app.conf: {wanted}}}]]")
    )
    assert "refusing to follow it" in done.out
    assert (root / "app.conf").stat().st_uid == 0


def test_no_capabilities_are_given_where_an_acl_lets_others_write(reactor, manifest, shared):
    (shared / "tool").write_bytes(b"")
    wanted = '{ensure: present, owner: root, group: root, mode: "0755", capabilities: cap_net_admin=ep}'
    done = reactor("run", "--converge-once", manifest(f"resources: [file: [{{{shared}/tool: {wanted}}}]]"))
    assert "refusing to give capabilities" in done.out
    assert "security.capability" not in os.listxattr(shared / "tool")
