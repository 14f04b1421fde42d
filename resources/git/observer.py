"""Reads the state of a checkout. It never changes it: git gets no lock."""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import partial

from reactor import ChangedPaths, fragile_mounts
from reactor.hostfs import ErrorContext, Stamp
from reactor.resources.git.program import unquoted
from reactor.resources.git.refs import BRANCHES, refs_in_the_way, refs_of
from reactor.resources.git.remote import Remote
from reactor.resources.git.state import Desired, Found, GitState, Tip
from reactor.resources.git.submodules import refuse_foreign_modules
from reactor.resources.git.trust import CONFIG, MOVING, Looked, look
from reactor.resources.process import has_our_rights, uid_of
from reactor.resources.trusted_directory import read_by_owner

DEPLOYED = "refs/reactor/deployed"
"""Below it is the commit that we checked out last: it came from the server, whatever the server has now."""
_DECIDES = (".gitattributes", ".gitmodules")
"""Files that change how git compares others, tracked or not."""


class Observer:
    """Reads the state of one checkout. Events of untracked files don't start git."""

    def __init__(self, desired: Desired) -> None:
        self.desired = desired
        self.remote = Remote(desired)
        self.changed_paths = ChangedPaths()
        self._last: tuple[Looked, GitState] | None = None
        self._tracked: frozenset[str] | None = None
        self._origin: tuple[Stamp | None, str | None] | None = None

    async def observe(self) -> GitState:
        """The state. Raises ResourceError, also when git must not run there, and when the server can't be asked."""
        paths = self.changed_paths.take()
        try:
            return await self._observe(paths)
        except BaseException:
            self.changed_paths.lose()
            self._last = None
            raise

    async def _observe(self, paths: Collection[str] | None) -> GitState:
        desired = self.desired
        await fragile_mounts().ask(desired.path)
        identity = await desired.git.identity()
        uid = uid_of(identity)
        if has_our_rights(uid):
            desired.git.access.refuse_foreign_files()
        branch = None if self._last is None else self._last[1].branch
        with ErrorContext(f"inspect {desired.path}"):
            looked = await read_by_owner(uid, partial(look, desired.path, uid, branch))
        is_here = looked.found is Found.CHECKOUT
        tip = await self.remote.tip(is_here=is_here) if desired.ensure == "present" else None
        if not is_here:
            return GitState(looked.found, tip)
        if self._last is not None and paths is not None and await self._is_untouched(looked, tip, paths):
            return self._last[1]
        self._tracked = None
        state = await _status(desired, tip)
        state = state._replace(
            origin=await self._origin_of(looked), interrupted=looked.stamps.get(MOVING) is not None
        )
        self._last = (looked, state) if state.branch == branch else None
        return state

    async def _origin_of(self, looked: Looked) -> str | None:
        """The URL of the remote ``origin``, which is read again only when the settings have changed."""
        stamp = looked.stamps.get(CONFIG)
        if self._origin is None or self._origin[0] != stamp:
            words = ("config", "--local", "--get", "remote.origin.url")
            done = await self.desired.git.ask(self.desired.path, *words)
            self._origin = (stamp, done.stdout.removesuffix("\n") if done.exit_code == 0 else None)
        return self._origin[1]

    async def _is_untouched(self, looked: Looked, tip: Tip | None, paths: Collection[str]) -> bool:
        """Whether nothing but untracked files has changed since the last look."""
        if self._last is None or (looked, tip) != (self._last[0], self._last[1].tip):
            return False
        top = f"{self.desired.path}/"
        names = {path.removeprefix(top) for path in paths}
        if any(name.startswith((".git/", "/")) or name.endswith(_DECIDES) for name in names):
            return False
        if self._tracked is None:
            files = map(unquoted, await self.desired.git.lines(self.desired.path, "ls-files"))
            self._tracked = frozenset(_with_directories(files))
        return names.isdisjoint(self._tracked)


def _with_directories(files: Collection[str] | map[str]) -> set[str]:
    found: set[str] = set()
    for file in files:
        name = file
        while name and name not in found:
            found.add(name)
            name = os.path.dirname(name)
    return found


async def _status(desired: Desired, tip: Tip | None) -> GitState:
    """The status of the work tree, the commit and the submodules, by git. Raises ResourceError."""
    git, path = desired.git, desired.path
    if desired.submodules:
        await refuse_foreign_modules(git, path)
    untracked = "normal" if desired.ensure == "absent" else "no"
    modules = "none" if desired.submodules else "all"
    shown = (f"--untracked-files={untracked}", f"--ignore-submodules={modules}")
    state = parse_status(
        await git.lines(path, "status", "--porcelain=v2", "--branch", "--no-renames", *shown)
    )
    state = state._replace(tip=tip)
    if not state.is_at_tip and state.head is not None:
        state = state._replace(has_local_commits=await _has_local_commits(desired, state))
    if desired.submodules and desired.ensure == "present" and not state.modules_differ:
        lines = await git.lines(path, "submodule", "status", "--recursive")
        state = state._replace(modules_differ=any(line.startswith(("-", "+")) for line in lines))
    return state


async def _has_local_commits(desired: Desired, state: GitState) -> bool:
    """Whether a commit that moving HEAD and the branch could lose came from no server."""
    git, path = desired.git, desired.path
    branch = None if state.tip is None else state.tip.branch
    ours = refs_of(BRANCHES, branch)[-1:] if desired.ensure == "present" else (BRANCHES, "refs/stash")
    found = await git.lines(path, "for-each-ref", "--format=%(refname)", DEPLOYED, *ours)
    found += await refs_in_the_way(git, path, BRANCHES, branch)
    theirs = [ref for ref in found if ref.startswith(DEPLOYED)]
    moved = ["HEAD", *(ref for ref in found if ref not in theirs)]
    words = ("rev-list", "--max-count=1", *moved, "--not", "--remotes", "--tags", *theirs)
    return bool(await git.must(path, *words))


def parse_status(lines: Collection[str]) -> GitState:
    """The state in the output of ``git status --porcelain=v2 --branch``, see git-status(1)."""
    head = branch = None
    changed, deleted, untracked = [], [], []
    modules_differ = False
    for line in lines:
        match line.split(" "):
            case ["#", "branch.oid", oid]:
                head = None if oid == "(initial)" else oid
            case ["#", "branch.head", *name]:
                branch = None if name == ["(detached)"] else " ".join(name)
            case ["1", ".D", *_]:
                deleted.append(_path(line, 8))
            case ["1", _, sub, *_] if sub.startswith("SC.."):
                modules_differ = True
            case ["1", *_]:
                changed.append(_path(line, 8))
            case ["2", *_]:
                changed.append(_path(line, 9).partition("\t")[0])
            case ["u", *_]:
                changed.append(_path(line, 10))
            case ["?", *_]:
                untracked.append(_path(line, 1))
    return GitState(
        Found.CHECKOUT,
        head=head,
        branch=branch,
        changed=tuple(changed),
        deleted=tuple(deleted),
        untracked=tuple(untracked),
        modules_differ=modules_differ,
    )


def _path(line: str, fields: int) -> str:
    return unquoted(line.split(" ", fields)[fields])
