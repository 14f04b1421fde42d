"""The kind `git`: its properties, and the rules for their combinations."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, ConfigDict, Field

from reactor import (
    AbsolutePath,
    Claim,
    Duration,
    Flag,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    ResourceError,
    TimerWatch,
    Watch,
)
from reactor.hostfs import ErrorContext, Parent, accounts_of
from reactor.resources.download.source import split_credentials
from reactor.resources.file.property_types import Account
from reactor.resources.git.checkout import Checkout
from reactor.resources.git.observer import Observer
from reactor.resources.git.planner import plan_checkout
from reactor.resources.git.program import Access, Program, base_of, object_format, unquoted
from reactor.resources.git.property_types import Depth, GitUrl, Ref, is_commit, is_local, is_short_commit
from reactor.resources.git.state import Desired, Found, GitState, Tip
from reactor.resources.trusted_directory import scratch_for

_WATCHED = ("HEAD", "index", "config", "packed-refs")


class Git(Resource[GitState], kind="git"):
    """Keep a checkout of a git repository at a branch, tag or commit."""

    model_config = ConfigDict(hide_input_in_errors=True)
    example = "/srv/app --url file:///srv/git/app.git --revision main"

    name: AbsolutePath
    ensure: Literal["present", "absent"] = "present"
    url: GitUrl | None = None
    """The repository: `https://`, `ssh://`, `git://` or `file://`, `git@host:path`, or an absolute path."""
    revision: Ref | None = Field(default=None, validation_alias=AliasChoices("revision", "ref"))
    """A branch, a tag, or all digits of a commit; by default the branch that the server prefers."""
    force: Flag = False
    """Whether local changes, local commits and files in the way are discarded. Without it, they are an error."""
    user: Account | None = None
    """The user that git runs as, and to whom the checkout belongs; by default the user that runs reactor."""
    submodules: Flag = False
    """Whether submodules are checked out, too, at any depth."""
    depth: Depth | None = None
    """Fetch only this number of latest commits."""
    key: AbsolutePath | None = None
    """The file of the private SSH key; `user` must be allowed to read it."""
    known_hosts: AbsolutePath | None = None
    """The file of the SSH keys of servers, instead of those of the user and the host."""
    accept_new_host: Flag = False
    """Whether the SSH key of a server that is not known is accepted, and added to those that are."""
    interval: Annotated[Duration, Field(gt=0)] = 300.0
    """The interval at which the server is asked for new commits; never for a commit in `revision`."""
    timeout: Annotated[Duration, Field(gt=0)] = 600.0
    """The longest time that one command of git may take."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        if self.url is None and self.ensure == "present":
            yield PropertyProblem((), "url is missing", "add the repository: url: https://...")
        if self.name == "/":
            yield PropertyProblem(("name",), "/ can't be a checkout", "name a directory")

    def warnings(self) -> Iterable[PropertyProblem]:
        """Transports that an attacker on the network can change, and refs that look like a part of a commit."""
        is_pinned = self.revision is not None and is_commit(self.revision)
        if self.url is not None and self.url.startswith(("http://", "git://")) and not is_pinned:
            words = "an attacker on the network decides what is checked out"
            yield PropertyProblem(("url",), words, "write https or ssh, or the commit as revision")
        if self.revision is not None and is_short_commit(self.revision):
            words = f"{self.revision} looks like a part of a commit, and is taken for a branch or a tag"
            yield PropertyProblem(("revision",), words, "write all 40 digits of the commit")

    def watches(self) -> Iterable[Watch]:
        """The work tree, the files that name the checked-out commit, and a timer to ask the server."""
        if self.ensure == "absent":
            yield PathWatch(self.name)
            return
        changed_paths = self._observer.changed_paths
        yield PathWatch(self.name, changed_paths, without=frozenset((".git",)))
        yield from (PathWatch(f"{self.name}/.git/{name}") for name in _WATCHED)
        yield PathWatch(f"{self.name}/.git/refs/heads", changed_paths)
        if self.revision is None or not is_commit(self.revision):
            yield TimerWatch(self.interval)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The directory.

        Depends on: The directory above, the user, the key and the known hosts, and a repository on this host.
        """
        needed = [os.path.dirname(self.name), *accounts_of(self.user, None)]
        needed += [path for path in (self.key, self.known_hosts) if path is not None]
        if self.ensure == "absent":
            return Relations(clears=(self.name,), depends_on=needed)
        if self.url is not None and is_local(self.url):
            needed.append(self.url.removeprefix("file://"))
        return Relations(provides=(self.name,), depends_on=needed)

    def claims(self) -> Iterable[Claim]:
        """The path, as a directory."""
        ensure = "absent" if self.ensure == "absent" else "directory"
        yield Claim("path", self.name, {"ensure": ensure})

    async def observe(self) -> GitState:
        """The state of the checkout. The server is asked if its last answer is old."""
        return await self._observer.observe()

    def plan(self, state: GitState, *, refresh: bool) -> Plan:  # noqa: ARG002  there is nothing to refresh
        """The plan by the decision table, `plan_checkout`. Raises ResourceError."""
        return plan_checkout(self._desired, state, self._checkout)

    async def preflight(self, state: GitState) -> None:
        """Check that the directory above exists, that the server answers, and that no file is in the way."""
        if self.ensure == "absent":
            return
        with ErrorContext(f"write {self.name}"), Parent(self.name):
            pass
        if state.found is not Found.CHECKOUT:
            await self._desired.git.must("/", "ls-remote", "--", self._desired.url, "HEAD")
        elif not (state.is_at_tip or self.force or state.interrupted):
            await self._refuse_files_in_the_way(state)

    async def _refuse_files_in_the_way(self, state: GitState) -> None:
        """Raise ResourceError when the new commit has files that are here without being tracked."""
        git, tip = self._desired.git, state.tip
        others = {
            unquoted(each)
            for each in await git.lines(self.name, "ls-files", "--others", "--exclude-standard")
        }
        if tip is None or not others:
            return
        has = await git.ask(self.name, "cat-file", "-e", f"{tip.commit}^{{commit}}")
        if has.exit_code == 0:
            names = await git.lines(self.name, "ls-tree", "-r", "--name-only", tip.commit)
        else:
            names = await self._names_on_the_server(tip)
        if clash := sorted(others.intersection(map(unquoted, names))):
            words = f"untracked files would be overwritten: {', '.join(clash[:3])}"
            raise ResourceError(words, "move them away, or write force: true")

    async def _names_on_the_server(self, tip: Tip) -> list[str]:
        """The names of the files in the commit ``tip``, fetched into a directory that is removed at once."""
        git = self._desired.git
        identity = await git.identity()
        async with scratch_for(identity) as scratch:
            await git.must(scratch, "init", "--quiet", "--bare", "--template=", *object_format(tip.commit))
            await git.must(
                scratch, "fetch", "--quiet", "--depth=1", "--", self._desired.url, tip.source or tip.commit
            )
            return await git.lines(scratch, "ls-tree", "-r", "--name-only", "FETCH_HEAD")

    async def describe(self) -> Mapping[str, Any]:
        """The commit, branch and URL of the checkout."""
        state = await self.observe()
        if state.found is not Found.CHECKOUT:
            return {"ensure": "absent", "commit": None}
        return {
            "ensure": "present",
            "url": state.origin,
            "revision": state.branch or state.head,
            "commit": state.head,
        }

    async def reversal(self, state: GitState) -> Self:
        """The checkout at the commit that was found, or none."""
        if state.found is not Found.CHECKOUT:
            return type(self)(name=self.name, ensure="absent", user=self.user)
        if state.origin is None or state.head is None:
            raise ResourceError(f"{self.name} has no remote origin, or no commit", "remove reverse")
        return type(self)(name=self.name, url=state.origin, revision=state.head, user=self.user, key=self.key)

    @cached_property
    def _desired(self) -> Desired:
        url, credentials = self.url or "", None
        if url.startswith(("http://", "https://")):
            url, credentials = split_credentials(url)
        base = base_of(url) if credentials is not None else ""
        access = Access(self.key, self.known_hosts, self.accept_new_host, base, credentials)
        return Desired(
            path=self.name,
            ensure=self.ensure,
            url=url,
            git=Program(self.user, access, self.timeout),
            ref=self.revision,
            depth=self.depth,
            submodules=self.submodules,
            force=self.force,
            interval=self.interval,
        )

    @cached_property
    def _observer(self) -> Observer:
        return Observer(self._desired)

    @cached_property
    def _checkout(self) -> Checkout:
        return Checkout(self._desired, self._observer.remote)
