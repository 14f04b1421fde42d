"""Repositories of git, made and changed by git itself, and what tests ask of a checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import one_shot

from reactor.resources.git import Git

FILES = {"README": "hello\n", "src/app.py": "print(1)\n", "src/data": "1\n", ".gitignore": "*.log\n"}
_WHO = {
    f"GIT_{role}_{key}": value
    for role in ("AUTHOR", "COMMITTER")
    for key, value in (("NAME", "ada"), ("EMAIL", "ada@example.com"))
}


def git(directory, *arguments, **options):
    """Run git in ``directory``, and return its output. It must succeed, and leaves no process behind."""
    settings = ("-c", "protocol.file.allow=always", "-c", "safe.directory=*", "-c", "maintenance.auto=false")
    done = subprocess.run(
        ["git", *settings, *map(str, arguments)],
        cwd=directory,
        env={**os.environ, **_WHO},
        capture_output=True,
        text=True,
        check=False,
        **options,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


_SCRATCH = TemporaryDirectory(prefix="origin-")
"""Removed when this process ends."""


@cache
def _beginning() -> Path:
    """What each `Origin` begins with: git makes it once, and it is copied."""
    root = Path(_SCRATCH.name, "server")
    root.mkdir()
    git(root, "init", "--quiet", "--bare", "--initial-branch=main", "origin.git")
    git(root / "origin.git", "config", "receive.autogc", "false")
    git(root, "init", "--quiet", "--initial-branch=main", "work")
    git(root / "work", "remote", "add", "origin", "../origin.git")
    _commit(root / "work", FILES, "main")
    return root


def _commit(work, files, branch):
    for name, text in files.items():
        path = work / name
        if text is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(work, "add", "--all", "--force")
    git(work, "commit", "--quiet", "--allow-empty", "-m", "change")
    git(work, "push", "--quiet", "--force", "origin", f"HEAD:refs/heads/{branch}")


class Origin:
    """A bare repository, and a work tree from which it gets its commits."""

    def __init__(self, root: Path) -> None:
        self.path = root / "origin.git"
        self.work = root / "work"
        shutil.copytree(_beginning(), root, symlinks=True, dirs_exist_ok=True)
        self.first = self.head()

    def commit(self, files, branch="main"):
        """Commit ``files`` (None removes one) and push. Returns the commit."""
        _commit(self.work, files, branch)
        return self.head()

    def head(self):
        return git(self.work, "rev-parse", "HEAD")

    def tag(self, name, *options):
        git(self.work, "tag", *options, name)
        git(self.work, "push", "--quiet", "origin", name)


class Place:
    """A checkout of ``origin`` that a resource manages."""

    def __init__(self, path: Path, origin: Origin) -> None:
        self.path = path
        self.origin = origin

    def resource(self, **properties):
        return Git(**{"name": str(self.path), "url": str(self.origin.path), **properties})

    async def converge(self, *, noop=False, **properties):
        """Run once. Returns the result and the output."""
        resource = self.resource(**properties)
        return await one_shot.converged(resource, noop=noop)

    async def must_change(self, **properties):
        """A dry run reports a change, the run makes it, and another run has nothing to do."""
        return await one_shot.must_change(self.converge, **properties)

    async def must_fail(self, **properties):
        """A dry run reports that the run would fail, and the run fails."""
        return await one_shot.must_fail(self.converge, **properties)

    def files(self):
        """The content of the files in the work tree, by name."""
        return {
            str(path.relative_to(self.path)): path.read_text()
            for path in self.path.rglob("*")
            if path.is_file() and ".git" not in path.relative_to(self.path).parts
        }

    def head(self):
        return git(self.path, "rev-parse", "HEAD")

    def branch(self):
        return git(self.path, "branch", "--show-current")
