"""Read-only and other mounted file systems: a dry run fails with the error of the run."""

import os

from namespaces import run_in_namespaces

READ_ONLY = """
import os, subprocess, sys, trio
from reactor.engine.options import RunOptions
from reactor.resources.file import File
from reactor.testing.story import converge_once

root = sys.argv[1]
subprocess.run(["mount", "-t", "tmpfs", "none", root], check=True)
for name, mode in (("file", 0o644), ("open", 0o666)):
    with open(f"{root}/{name}", "w") as file:
        file.write("x")
    os.chmod(f"{root}/{name}", mode)
os.mkdir(f"{root}/dir", 0o755)
os.symlink("dir", f"{root}/link")
subprocess.run(["mount", "-o", "remount,ro", root], check=True)
own = {"owner": str(os.getuid()), "group": str(os.getgid()), "mode": "0640"}

async def error(noop, file):
    _, story = await converge_once(file, options=RunOptions(noop=noop))
    return story.checks(file.ref)[0].error

async def main():
    for words in sys.argv[2:]:
        name, *pairs = words.split()
        properties = dict(pair.split("=") for pair in pairs)
        if properties["ensure"] in ("present", "directory"):
            properties |= own
        file = File(name=f"{root}/{name}", **properties)
        would, did = [await error(noop, file) for noop in (True, False)]
        print(did.replace(f" {root}/{name}", "", 1) if would == did else (would, did))

trio.run(main)
"""

CASES = {
    "new ensure=present content=y": "write",
    "file ensure=present content=y": "write",
    "open ensure=present content=x": "write",
    "link ensure=present content=y": "write",
    "file ensure=present content=x": "set the attributes of",
    "file ensure=present": "set the attributes of",
    "dir ensure=directory": "set the attributes of",
    "new ensure=directory": "create the directory",
    "new/deep ensure=directory": "create the directory",
    "file ensure=directory": "create the directory",
    "file ensure=absent": "remove",
    "dir ensure=absent": "remove",
    "new ensure=link target=t": "link",
    "link ensure=link target=t": "link",
}


def test_a_dry_run_on_a_read_only_file_system_fails_as_the_run_does(tmp_path):
    lines = run_in_namespaces(READ_ONLY, str(tmp_path), *CASES)
    assert dict(zip(CASES, lines, strict=True)) == {
        case: f"cannot {verb}: Read-only file system" for case, verb in CASES.items()
    }


MOUNTED = """
import os, subprocess, sys, trio
from reactor.engine.options import RunOptions
from reactor.resources.file import File
from reactor.testing.story import converge_once
root = sys.argv[1]
os.makedirs(root + "/d/in")
subprocess.run(["mount", "-t", "tmpfs", "none", root + "/d/in"], check=True)
async def main():
    link = File(name=root + "/d", ensure="link", target="t", force=True)
    for noop in (True, False):
        _, story = await converge_once(link, options=RunOptions(noop=noop))
        print((story.checks(link.ref)[0].error or "").replace(root, ""))
trio.run(main)
"""


def test_a_dry_run_knows_that_something_is_mounted_in_what_a_link_replaces(tmp_path):
    would, did = run_in_namespaces(MOUNTED, str(tmp_path))
    assert would == did
    assert "/d/in" in would


UNPRIVILEGED = """
import os, subprocess, sys, trio
from reactor.engine.options import RunOptions
from reactor.resources.file import File
from reactor.testing.story import converge_once

root = sys.argv[1]
subprocess.run(["mount", "-t", "tmpfs", "none", root], check=True)
os.chmod(root, 0o755)
os.mkdir(f"{root}/ours")
os.mkdir(f"{root}/sticky")
os.chmod(f"{root}/sticky", 0o1777)
for name in ("theirs", "ours/theirs", "ours/file", "sticky/theirs"):
    with open(f"{root}/{name}", "w") as file:
        file.write("x")
    os.chmod(f"{root}/{name}", 0o644)
for name in ("ours", "ours/file"):
    os.chown(f"{root}/{name}", 65534, 65534)
os.setgroups([1234])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)

async def error(noop, file):
    _, story = await converge_once(file, options=RunOptions(noop=noop))
    return (story.checks(file.ref)[0].error or "done").replace(f" {root}/{file.name.removeprefix(root + '/')}", "")

async def main():
    for words in sys.argv[2:]:
        name, *pairs = words.split()
        properties = {"owner": "65534", "group": "65534", "mode": "0644"} | dict(pair.split("=") for pair in pairs)
        if properties["ensure"] in ("absent", "link"):
            properties = {key: value for key, value in properties.items() if key not in ("owner", "group", "mode")}
        file = File(name=f"{root}/{name}", **properties)
        would, did = [await error(noop, file) for noop in (True, False)]
        print(did if would == did else (would, did))

trio.run(main)
"""
FORBIDDEN = {
    "new ensure=present content=y": "cannot write: Permission denied",
    "theirs ensure=present content=y": "cannot write: Permission denied",
    "theirs ensure=absent": "cannot remove: Permission denied",
    "new ensure=link target=t": "cannot link: Permission denied",
    "new ensure=directory": "cannot create the directory: Permission denied",
    "theirs ensure=present content=x mode=0600": "cannot write: Permission denied",
    "theirs ensure=present mode=0600 owner=0 group=0": "cannot set the attributes of: Operation not permitted",
    "ours/theirs ensure=present": "cannot set the attributes of: Operation not permitted",
    "ours/new ensure=present content=y owner=0": "cannot write: Operation not permitted",
    "ours/new ensure=present content=y group=4321": "cannot write: Operation not permitted",
    "ours/file ensure=present group=4321": "cannot set the attributes of: Operation not permitted",
    "ours/file ensure=present group=1234 mode=0600": "done",
    "ours/theirs ensure=present content=y": "done",
    "sticky/theirs ensure=present content=y": "cannot write: Operation not permitted",
    "sticky/theirs ensure=absent": "cannot remove: Operation not permitted",
    "sticky/new ensure=present content=y": "done",
    "ours/new ensure=present content=y group=1234": "done",
}


def test_a_dry_run_of_a_user_fails_where_the_user_may_not_do_what_is_wanted(open_tmp_path):
    lines = run_in_namespaces(UNPRIVILEGED, str(open_tmp_path), *FORBIDDEN)
    assert dict(zip(FORBIDDEN, lines, strict=True)) == FORBIDDEN


OTHER_HOSTS = """
import os, subprocess, sys, trio
from reactor.engine.options import RunOptions
from reactor.resources.file import File
from reactor.testing.story import converge_once

root, prepare, *cases = sys.argv[1:]
subprocess.run(["sh", "-euc", prepare], cwd=root, check=True)
async def error(noop, file):
    _, story = await converge_once(file, options=RunOptions(noop=noop))
    return (story.checks(file.ref)[0].error or "done").replace(f" {root}/{file.name.removeprefix(root + '/')}", "")

async def main():
    for words in cases:
        name, *pairs = words.split()
        properties = dict(pair.split("=") for pair in pairs)
        if properties["ensure"] in ("present", "directory"):
            properties = {"owner": "0", "group": "0", "mode": "0644"} | properties
        file = File(name=f"{root}/{name}", force=properties["ensure"] == "link", **properties)
        would, did = [await error(noop, file) for noop in (True, False)]
        print(would if (would == "done") == (did == "done") else (would, did))

trio.run(main)
"""
MOUNTED_FILES = (
    "for each in a b c d e f; do echo x >$each; echo x >to-$each; mount --bind to-$each $each; done;"
)
MOUNTED_FILES += (
    "for each in a b; do mount -o remount,bind,ro $each; done; mkdir dir; mount -t tmpfs none dir"
)
BUSY = "cannot remove: something is mounted at"
ON_MOUNTED_FILES = {
    "a ensure=present content=y": "cannot write: Read-only file system",
    "b ensure=present mode=0600": "cannot set the attributes of: Read-only file system",
    "c ensure=present content=y": "done",
    "d ensure=present mode=0600": "done",
    "e ensure=absent": BUSY,
    "f ensure=link target=x": BUSY,
    "dir ensure=absent": BUSY,
}
UNMAPPED = {
    "new ensure=present content=y owner=1": "cannot write: Invalid argument",
    "new ensure=present content=y group=1": "cannot write: Invalid argument",
    "new ensure=directory owner=1": "cannot create the directory: Invalid argument",
    "ours ensure=present owner=1": "cannot set the attributes of: Invalid argument",
    "theirs ensure=present": "cannot set the attributes of: Operation not permitted",
    "theirs ensure=present content=y": "done",
}


def test_a_dry_run_knows_that_a_file_is_mounted_by_itself(tmp_path):
    lines = run_in_namespaces(OTHER_HOSTS, str(tmp_path), MOUNTED_FILES, *ON_MOUNTED_FILES)
    assert dict(zip(ON_MOUNTED_FILES, lines, strict=True)) == ON_MOUNTED_FILES


def test_a_dry_run_knows_which_owners_a_user_namespace_has(tmp_path):
    for name, owner in (("ours", 0), ("theirs", 5)):
        (tmp_path / name).write_text("x")
        os.chown(tmp_path / name, owner, owner)
    options = ("--mount", "--user", "--map-root-user")
    lines = run_in_namespaces(OTHER_HOSTS, str(tmp_path), "", *UNMAPPED, options=options)
    assert dict(zip(UNMAPPED, lines, strict=True)) == UNMAPPED
