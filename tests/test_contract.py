"""The contract of kinds, kept by the kinds that come with reactor."""

from __future__ import annotations

import os
import subprocess
from functools import partial
from pathlib import Path

import pytest
import trio

from reactor.resource.base import Resource
from reactor.resource.plan import Action
from reactor.resources.exec import Exec
from reactor.resources.file import File
from reactor.resources.git import Git
from reactor.resources.scaffold import Scaffold
from reactor.resources.tidy import Tidy
from reactor.testing.contract import (
    CONTRACT,
    Case,
    a_cancelled_apply_leaves_the_old_state_or_the_new,
    what_is_secret_is_not_shown,
)

OWNERS = {"owner": str(os.getuid()), "group": str(os.getgid())}


def tree(root, but=None):
    """Everything below ``root`` that a resource could change; nothing of directories with the name ``but``."""
    found = {}
    for directory, below, names in os.walk(root):
        below[:] = [name for name in below if name != but]
        for path in [directory, *(os.path.join(directory, name) for name in names)]:
            status = os.lstat(path)
            text = Path(path).read_bytes() if os.path.isfile(path) else None
            found[path] = (status.st_mode, status.st_uid, status.st_gid, text)
    return found


def file_with_content(root):
    path = root / "motd"

    def make():
        return File(name=str(path), ensure="present", content="hello\n", mode="0640", **OWNERS)

    return Case(make, lambda: tree(root), lambda: path.write_text("vandal"), in_one_step=True)


def file_with_secret(root):
    path = root / "password"
    path.write_text("user=ada\npassword=former\n")
    secret = "correct-horse/battery+staple"

    def make():
        return File(
            name=str(path), ensure="present", content=f"user=ada\npassword={secret}\n", mode="0600", **OWNERS
        )

    return Case(make, lambda: tree(root), path.unlink, in_one_step=True, secret=secret)


def file_with_source(root):
    (root / "source").write_text("from here\n")
    path = root / "copy"

    def make():
        return File(name=str(path), ensure="present", source=str(root / "source"), mode="0640", **OWNERS)

    return Case(make, lambda: tree(root), path.unlink, in_one_step=True)


def file_with_template(root):
    (root / "template").write_text("{{ 1 + 1 }}\n")
    path = root / "made"

    def make():
        return File(name=str(path), ensure="present", template=str(root / "template"), mode="0640", **OWNERS)

    return Case(make, lambda: tree(root), lambda: path.write_text("vandal"))


def file_with_acl(root):
    path = root / "shared"

    def make():
        more = {"acl": ["u:1234:rw"], "xattrs": {"user.origin": "here"}}
        return File(name=str(path), ensure="present", content="x", mode="0640", **more, **OWNERS)

    def world():
        return tree(root), path.exists() and [
            (name, os.getxattr(path, name)) for name in sorted(os.listxattr(path))
        ]

    return Case(make, world, lambda: os.removexattr(path, "system.posix_acl_access"), in_one_step=True)


def file_with_validator(root):
    path = root / "script.sh"

    def make():
        return File(
            name=str(path), ensure="present", content="true\n", mode="0640", validate="sh -n {path}", **OWNERS
        )

    return Case(make, lambda: tree(root), lambda: path.write_text("vandal"))


def file_with_attributes_only(root):
    path = root / "theirs"
    path.write_text("somebody else's")
    path.chmod(0o600)

    def make():
        return File(name=str(path), ensure="present", mode="0640", **OWNERS)

    return Case(make, lambda: tree(root), lambda: path.chmod(0o777))


def directory(root):
    path = root / "deep" / "down"

    def make():
        return File(name=str(path), ensure="directory", mode="0750", **OWNERS)

    return Case(make, lambda: tree(root), path.rmdir)


def recursive_directory(root):
    path = root / "tree"
    (path / "deep").mkdir(parents=True)
    (path / "deep" / "file").write_text("x")
    (path / "deep" / "file").chmod(0o600)

    def make():
        return File(name=str(path), ensure="directory", mode="0750", recurse=True, file_mode="0640", **OWNERS)

    return Case(make, lambda: tree(root), lambda: (path / "deep" / "file").chmod(0o666))


def link(root):
    path = root / "current"

    def make():
        return File(name=str(path), ensure="link", target="releases/2", **OWNERS)

    def spoil():
        path.unlink()
        path.symlink_to("/elsewhere")

    return Case(
        make, lambda: {each.name: os.readlink(each) for each in root.iterdir()}, spoil, in_one_step=True
    )


def forced_link(root):
    path = root / "current"
    (path / "deep").mkdir(parents=True)
    (path / "deep" / "file").write_text("x")

    def make():
        return File(name=str(path), ensure="link", target="/elsewhere", force=True)

    def world():
        return tree(root) | {each.name: os.readlink(each) for each in root.iterdir() if each.is_symlink()}

    return Case(make, world, lambda: (path.unlink(), path.mkdir()), in_one_step=True)


def absent_file(root):
    path = root / "unwanted"
    path.write_text("x")
    return Case(
        lambda: File(name=str(path), ensure="absent"), lambda: tree(root), lambda: path.write_text("x")
    )


def tidied_directory(root):
    path = root / "logs"
    path.mkdir()

    def spoil():
        (path / "old.log").write_text("x")
        os.utime(path / "old.log", (1, 1))

    spoil()
    (path / "new.log").write_text("x")
    return Case(lambda: Tidy(name=str(path), age="30d"), lambda: tree(root), spoil)


def exec_with_creates(root):
    path = root / "made"

    def make():
        return Exec(name=f"touch {path}", creates=str(path))

    return Case(make, lambda: tree(root), path.unlink)


def exec_without_guards(root):
    return Case(lambda: Exec(name=f"touch {root}/made"), lambda: tree(root), None)


def scaffold(root):
    for name, text in {"a": "1", "deep/down/b": "{{ 1 + 1 }}"}.items():
        path = root / "templates" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def make():
        return Scaffold(name=str(root / "out"), ensure="present", source=str(root / "templates"), purge=True)

    return Case(make, lambda: tree(root), lambda: (root / "out/deep/down/b").write_text("vandal"))


def absent_scaffold(root):
    for directory in ("templates", "out"):
        (root / directory / "deep").mkdir(parents=True)
        (root / directory / "deep" / "file").write_text("x")

    def make():
        return Scaffold(name=str(root / "out"), ensure="absent", source=str(root / "templates"))

    def spoil():
        (root / "out" / "deep").mkdir(parents=True)
        (root / "out" / "deep" / "file").write_text("x")

    return Case(make, lambda: tree(root), spoil)


def checkout(root):
    run = partial(subprocess.run, check=True, cwd=root, capture_output=True)
    run(["git", "init", "-q", "-b", "main", "origin"])
    (root / "origin/file").write_text("text\n")
    who = ["-c", "user.name=ada", "-c", "user.email=ada@example.com"]
    run(["git", *who, "-C", "origin", "add", "--all"])
    run(["git", *who, "-C", "origin", "commit", "-q", "-m", "first"])
    path = root / "app"
    return Case(
        lambda: Git(name=str(path), url=str(root / "origin")),
        lambda: tree(root, but=".git"),  # in which git may be at work
        (path / "file").unlink,
        in_one_step=True,
    )


CASES = [
    file_with_content, file_with_secret, file_with_source, file_with_template, file_with_acl, file_with_validator, file_with_attributes_only, directory, recursive_directory, link,
    forced_link, absent_file,
    exec_with_creates, exec_without_guards, tidied_directory, scaffold, absent_scaffold, checkout,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_kinds_keep_the_contract(promise, case, tmp_path):
    await promise(case(tmp_path))


class Careless(Resource[str], kind="careless"):
    """Writes its text to a file in two steps, and says how the text begins."""

    ensure: str = "present"
    text: str

    def _path(self):
        return Path(self.name)

    async def observe(self):
        return self._path().read_text() if self._path().exists() else ""

    def plan(self, state, *, refresh):
        return () if state == self.text else (Action.saying(f"wrote {self.text[:12]}", self._write),)

    async def _write(self):
        self._path().write_text(self.text[:3])
        await trio.lowlevel.checkpoint()
        self._path().write_text(self.text)


@pytest.mark.parametrize(
    "promise", [a_cancelled_apply_leaves_the_old_state_or_the_new, what_is_secret_is_not_shown]
)
async def test_a_kind_that_breaks_a_promise_fails_it(promise, tmp_path):
    secret = "correct-horse/battery+staple"

    def make():
        return Careless(name=str(tmp_path / "a"), text=secret)

    with pytest.raises(AssertionError):
        await promise(Case(make, lambda: tree(tmp_path), None, in_one_step=True, secret=secret))
