"""Changes a checkout: clones it, moves it to another commit, repairs its files, and removes it.

A clone is made beside its path, and renamed. An update notes where it goes to before it changes a file, so that a later
process ends it.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from reactor import emit_output, in_thread
from reactor.hostfs import (
    ErrorContext,
    Parent,
    flush_directory,
    forget_record,
    open_path,
    remove_path,
    sync_file_system,
)
from reactor.resources.git.locks import remove_mark_locks, remove_module_locks, remove_old_locks
from reactor.resources.git.observer import DEPLOYED
from reactor.resources.git.program import GitError, object_format, unquoted
from reactor.resources.git.refs import BRANCHES, TRACKING, refs_in_the_way, refs_of
from reactor.resources.git.remote import Remote
from reactor.resources.git.state import Desired, Tip
from reactor.resources.git.submodules import refuse_foreign_modules
from reactor.resources.git.trust import MOVING
from reactor.resources.process import output_tail
from reactor.resources.trusted_directory import make_directory_for

_KEPT = "refs/reactor/discarded"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE = 0o755
_FETCHING = "refs/reactor/fetching"
"""There while git fetches into the checkout, and after it was killed."""
_QUIET = ("--quiet",)
_LFS_FILTER = r"^filter\.lfs\.(smudge|process)$"
"""The settings of which one is there where git LFS is set up."""
_IN_LFS = ":(attr:filter=lfs)"
"""The files whose content is in git LFS, as a path of git."""


class Checkout:
    """Changes one checkout."""

    __slots__ = ("desired", "remote")

    def __init__(self, desired: Desired, remote: Remote) -> None:
        self.desired = desired
        self.remote = remote

    @property
    def temporary(self) -> str:
        """The directory in which a clone is made."""
        directory, base = os.path.split(self.desired.path)
        name = f".reactor-git-{hashlib.sha256(os.fsencode(base)).hexdigest()[:16]}"
        return os.path.join(directory, name)

    async def clone(self, tip: Tip) -> None:
        """Clone beside the path, and rename. Raises ResourceError."""
        desired, path = self.desired, self.temporary
        await remove_path(path, recursive=True)
        make_directory_for(path, await desired.git.identity(), 0o700)
        try:
            first = f"--initial-branch={tip.branch or 'main'}"
            await self._git(path, "init", *_QUIET, "--template=", first, *object_format(tip.commit))
            await self._git(path, "remote", "add", "origin", desired.url)
            await self._fetch(path, tip)
            await self._check_out(path, tip, is_forced=True)
            if desired.submodules:
                await self._update_modules(path)
            await self._git(path, "update-ref", f"{DEPLOYED}/last", "HEAD")
            await self._put_in_place(path)
        except BaseException:
            with trio.CancelScope(shield=True):
                await remove_path(path, recursive=True)
            raise
        self.remote.keep(tip)

    async def move(self, tip: Tip, *, is_dirty: bool, is_interrupted: bool) -> None:
        """Fetch the commit if it is not here, and check it out. Raises ResourceError.

        With ``is_dirty``, local changes are discarded; git keeps them in a commit.
        """
        path = self.desired.path
        if is_interrupted:
            await remove_old_locks(path, self._locked_by(tip))
            await remove_module_locks(path)
        async with self._fetching(tip):
            for ref in await refs_in_the_way(self.desired.git, path, TRACKING, tip.branch):
                await self._git(path, "update-ref", "-d", ref)
            await self._fetch(path, tip)
        is_forced = self.desired.force or is_interrupted
        async with self._marked(tip, is_interrupted=is_interrupted):
            await self._remove_branches_in_the_way(tip)
            if is_dirty or is_interrupted:
                await self._keep_changes()
            await self.restore()
            await self._check_out(path, tip, is_forced=is_forced)
            if self.desired.submodules:
                await self._update_modules(path)
            await self._git(path, "update-ref", f"{DEPLOYED}/last", "HEAD")
        self.remote.keep(tip)

    async def reset(self, tip: Tip) -> None:
        """Discard local changes; git keeps them in a commit. Raises ResourceError."""
        async with self._marked(tip, is_interrupted=False):
            await self._keep_changes()
            await self._git(self.desired.path, "reset", *_QUIET, "--hard", tip.commit)

    @asynccontextmanager
    async def _marked(self, tip: Tip, *, is_interrupted: bool) -> AsyncIterator[None]:
        """Mark the checkout as one that is on its way to ``tip`` until it is there, and is on the disk.

        The next check completes what was interrupted, and knows by the mark whose differences and locks these are. So
        the mark stays if git was killed, or has failed halfway, but not if it refused before it changed a file.
        """
        path = self.desired.path
        await remove_mark_locks(path, MOVING)
        await self._git(path, "update-ref", MOVING, tip.commit)
        try:
            yield
        except GitError:
            if not is_interrupted and (self.desired.force or not await self._has_changes()):
                await self._git(path, "update-ref", "-d", MOVING)
            raise
        await self._flush(path)
        await self._git(path, "update-ref", "-d", MOVING)

    @asynccontextmanager
    async def _fetching(self, tip: Tip) -> AsyncIterator[None]:
        """Mark the checkout while git fetches into it: the locks of a killed fetch are removed by the next one."""
        path = self.desired.path
        await remove_mark_locks(path, _FETCHING)
        known = await self.desired.git.ask(path, "rev-parse", "--quiet", "--verify", _FETCHING)
        if is_marked := known.exit_code == 0:
            names = refs_of(TRACKING, tip.branch)
            await remove_old_locks(path, (*names, *filter(None, (tip.source,)), "shallow", "packed-refs"))
        # It fails in a repository without a commit, which then has no mark.
        await self.desired.git.ask(path, "update-ref", _FETCHING, "HEAD")
        try:
            yield
        except GitError:
            if not is_marked:
                await self._git(path, "update-ref", "-d", _FETCHING)
            raise
        await self._git(path, "update-ref", "-d", _FETCHING)

    async def _has_changes(self) -> bool:
        words = ("status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all")
        return any(line[:2] != " D" for line in await self.desired.git.lines(self.desired.path, *words))

    @staticmethod
    def _locked_by(tip: Tip) -> tuple[str, ...]:
        """What in ``.git`` a git of ours locks for a while, besides the marks."""
        files = ("index", "HEAD", "ORIG_HEAD", "config", "packed-refs")
        return (*files, *refs_of(BRANCHES, tip.branch), _KEPT, f"{DEPLOYED}/last")

    async def restore(self) -> None:
        """Bring back deleted files. Raises ResourceError."""
        done = await self.desired.git.ask(self.desired.path, "checkout-index", *_QUIET, "--all")
        if done.exit_code != 0 and done.stderr.strip():  # without words, it only means that other files exist
            raise GitError(f"git checkout-index failed{output_tail('', done.stderr)}")

    async def set_origin(self) -> None:
        """Set the URL of the remote ``origin``. Raises ResourceError."""
        await self._git(self.desired.path, "config", "--local", "remote.origin.url", self.desired.url)

    async def update_modules(self, tip: Tip) -> None:
        """Check out the submodules at the commits that the checkout names. Raises ResourceError."""
        async with self._marked(tip, is_interrupted=False):
            await self._update_modules(self.desired.path)

    async def remove(self) -> None:
        """Remove the checkout. Raises ResourceError."""
        await remove_path(self.desired.path, recursive=True)
        forget_record("git", self.desired.path)

    async def _git(self, path: str, *arguments: str) -> str:
        return await self.desired.git.must(path, *arguments)

    async def _put_in_place(self, path: str) -> None:
        """Rename the clone to its path, when it is on the disk. It takes the mode of an empty directory at that path."""
        target = self.desired.path
        hint = "something is mounted there, or files have come meanwhile: clone into a directory in it"
        with ErrorContext(f"put the clone at {target}", hint), Parent(path) as (parent, base):
            name = os.path.basename(target)
            fd = os.open(base, _DIRECTORY, dir_fd=parent)
            try:
                os.fchmod(fd, _mode_of(name, parent))
                await in_thread(sync_file_system, fd)
            finally:
                os.close(fd)
            os.rename(base, name, src_dir_fd=parent, dst_dir_fd=parent)
            await flush_directory(parent)

    async def _fetch(self, path: str, tip: Tip) -> None:
        """Fetch the commit, unless it is here."""
        has = await self.desired.git.ask(path, "cat-file", "-e", f"{tip.commit}^{{commit}}")
        name = tip.source or ""
        is_branch = tip.branch is not None
        is_tag = name.startswith("refs/tags/")
        is_here = not is_branch and (not is_tag or await self._is_same_tag(path, name, tip))
        if has.exit_code == 0 and is_here:
            return
        depth = [] if self.desired.depth is None else [f"--depth={self.desired.depth}"]
        fetch = ("fetch", *_QUIET, "--no-write-fetch-head", *depth, "origin")
        if is_branch:
            local = f"refs/remotes/origin/{tip.branch}"
            if has.exit_code != 0:
                await self._git(path, *fetch, f"+{name}:{local}")
            else:
                await self._git(path, "update-ref", local, tip.commit)
        elif is_tag:
            await self._git(path, *fetch, f"+{name}:{name}")
        elif name:
            await self._git(path, *fetch, name)
        else:
            await self._fetch_commit(path, fetch, tip.commit)

    async def _is_same_tag(self, path: str, tag: str, tip: Tip) -> bool:
        """Whether the tag leads to the commit here, too. One that was moved on the server does not."""
        here = await self.desired.git.ask(path, "rev-parse", "--quiet", "--verify", f"{tag}^{{commit}}")
        return here.stdout.strip() == tip.commit

    async def _fetch_commit(self, path: str, fetch: tuple[str, ...], commit: str) -> None:
        """Fetch one commit by its id, or all branches and tags from a server that does not give commits by id."""
        if self.desired.depth is not None:
            done = await self.desired.git.ask(path, *fetch, commit)
            if done.exit_code == 0:
                return
        everything = [word for word in fetch if not word.startswith("--depth")]
        await self._git(path, *everything, "--tags", "+refs/heads/*:refs/remotes/origin/*")
        has = await self.desired.git.ask(path, "cat-file", "-e", f"{commit}^{{commit}}")
        if has.exit_code != 0:
            await self._git(path, *everything, commit)

    async def _check_out(self, path: str, tip: Tip, *, is_forced: bool) -> None:
        await self._check_out_files(path, tip, is_forced=is_forced)
        await self._tell_of_pointers(path)

    async def _tell_of_pointers(self, path: str) -> None:
        """Say which files are in git LFS, if nothing here fetches their content."""
        has_filter = await self.desired.git.ask(path, "config", "--get-regexp", _LFS_FILTER)
        if has_filter.exit_code == 0 or not (
            names := await self.desired.git.lines(path, "ls-files", _IN_LFS)
        ):
            return
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        emit_output(
            f"only pointers are checked out, as their content is in git LFS: {unquoted(names[0])}{more};"
            f" install git-lfs, then run git lfs install --system, and git lfs pull in {self.desired.path}"
        )

    async def _check_out_files(self, path: str, tip: Tip, *, is_forced: bool) -> None:
        force = ("--force",) if is_forced else ()
        if tip.branch is None:
            await self._git(path, "checkout", *_QUIET, *force, "--detach", tip.commit)
            return
        await self._git(path, "checkout", *_QUIET, *force, "--no-track", "-B", tip.branch, tip.commit)
        settings = {"remote": "origin", "merge": f"refs/heads/{tip.branch}"}
        for key, value in settings.items():
            await self._git(path, "config", "--local", f"branch.{tip.branch}.{key}", value)

    async def _update_modules(self, path: str) -> None:
        depth = () if self.desired.depth is None else (f"--depth={self.desired.depth}",)
        force = ("--force",) if self.desired.force else ()
        await refuse_foreign_modules(self.desired.git, path)
        await self._git(path, "submodule", *_QUIET, "sync", "--recursive")
        await self._git(path, "submodule", *_QUIET, "update", "--init", "--recursive", *force, *depth)

    async def _remove_branches_in_the_way(self, tip: Tip) -> None:
        """Remove the branches beside which that of ``tip`` can't be. Their commits are kept, as by `_keep_changes`."""
        path = self.desired.path
        refs = await refs_in_the_way(self.desired.git, path, BRANCHES, tip.branch)
        if refs:
            await self._git(path, "checkout", *_QUIET, "--detach")  # one of them may be checked out
        for ref in refs:
            await self._git(path, "update-ref", "--create-reflog", _KEPT, ref)
            await self._git(path, "update-ref", "-d", ref)

    async def _keep_changes(self) -> None:
        """Keep local changes of tracked files, and local commits, in a ref; its log keeps the earlier ones.

        Raises ResourceError when git can't: then nothing is discarded. It never can during an unfinished merge.
        """
        path, kept = self.desired.path, ""
        if not await self.desired.git.lines(path, "ls-files", "--unmerged"):
            # Unlike stash, this fails with words if the index is locked.
            await self._git(path, "add", "--refresh", "--all")
            kept = (await self._git(path, "stash", "create", "discarded by reactor")).strip()
        await self._git(path, "update-ref", "--create-reflog", _KEPT, kept or "HEAD")

    async def _flush(self, path: str) -> None:
        """Return when the files are on the disk: git writes the work tree without a flush."""
        with ErrorContext(f"flush {path}"):
            fd = open_path(path, _DIRECTORY)
            try:
                await in_thread(sync_file_system, fd)
            finally:
                os.close(fd)


def _mode_of(name: str, parent: int) -> int:
    try:
        return stat.S_IMODE(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return _MODE
