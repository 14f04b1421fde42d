"""Runs git so that nothing in the repository decides which commands are run."""

from __future__ import annotations

import codecs
import os
import pwd
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from reactor import ResourceError, git_credentials
from reactor.resources.process import ENVIRONMENT, Command, Completed, Identity, identity_of, output_tail, run
from reactor.resources.trusted_sources import refuse_foreign_file

_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.quotePath=true",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "gc.autoDetach=false",
    "advice.detachedHead=false",
)
_SHA256 = 64
"""The hexadecimal digits of an id of SHA-256."""
_LONG = 32 * 1024
"""Characters of output from which on its beginning may be lost."""
_MOST, _OF_LINE = 128 << 20, 64
"""The most bytes of memory for the lines that git writes, and how many a line takes in addition to its text."""
_NO_ANSWER = "fatal: Could not read from remote repository."
"""What git says last when ssh has failed, which says more."""
_AUTHOR = {
    f"GIT_{role}_{key}": value
    for role in ("AUTHOR", "COMMITTER")
    for key, value in (("NAME", "reactor"), ("EMAIL", "reactor@localhost"))
}
"""The author of the commits in which discarded changes are kept."""
_DAMAGED = "the repository is damaged: repair it, or move the checkout away, so that it is cloned again"
_HINTS = (
    ("Host key verification failed", "write known_hosts or accept_new_host: true, or add the host to /etc/ssh/ssh_known_hosts"),
    ("Permission denied (publickey", "the server does not accept the key: check `key`, and that the user may read it"),
    ("could not read Username", "the server requires credentials: write them in the url, from secret data"),
    ("Authentication failed", "check the user and the password in the url"),
    *((words, "check the url, and that the server can be reached from this host")
      for words in ("Could not resolve host", "Failed to connect to", "Connection refused", "Connection timed out")),
    ("dubious ownership", "the repository at the url belongs to another user: write that `user`"),
    (".lock': File exists", "another git is at work there, or was killed: if none runs, remove that file"),
    ("Your local changes to the following files", "they have changed just now, or are marked as skip-worktree or assume-unchanged: undo that with git update-index"),
    ("transport 'file' not allowed", "a submodule is at a path on this host, where git fetches none: write another URL into .gitmodules"),
    ("exists; cannot create", "git can't have both names: remove the one that the server no longer has, with git update-ref -d in the checkout"),
    ("would lose untracked files", "move those files away, or write force: true"),
    *((words, _DAMAGED) for words in ("bad object HEAD", "index file", "object file", "is corrupt", "bad config line", "fatal: not a git repository (or any")),
    ("untracked working tree files would be overwritten", "move those files away, or write force: true"),
)  # fmt: skip


class GitError(ResourceError):
    """git itself has ended with a failure. Unlike one that was killed, it leaves no locks."""


@dataclass(frozen=True, slots=True)
class Access:
    """How git reaches a server: an SSH key, its known hosts, and the credentials for a URL (scheme and host)."""

    key: str | None = None
    known_hosts: str | None = None
    accept_new_host: bool = False
    base: str = ""
    credentials: tuple[str, str] | None = field(default=None, repr=False)

    def refuse_foreign_files(self) -> None:
        """Raise ResourceError if another user can change whom git trusts, or as whom it logs in."""
        files = ((self.known_hosts, "which servers git trusts"), (self.key, "as whom git logs in"))
        for path, what in files:
            if path is not None:
                refuse_foreign_file(path, what, "add user")

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment of git. Credentials are in it, and never among the arguments, which all users can see."""
        variables = {
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_SSH_COMMAND": self._ssh,
            "GIT_SSH_VARIANT": "ssh",
            **_AUTHOR,
        }
        if self.credentials is not None:
            variables |= git_credentials(self.base, *self.credentials)
        return variables

    @property
    def _ssh(self) -> str:
        checking = "accept-new" if self.accept_new_host else "yes"
        words = ["ssh", "-o", "BatchMode=yes", "-o", f"StrictHostKeyChecking={checking}"]
        if self.known_hosts is not None:
            words += ["-o", f"UserKnownHostsFile={self.known_hosts}", "-o", "GlobalKnownHostsFile=/dev/null"]
        if self.key is not None:
            words += ["-i", self.key, "-o", "IdentitiesOnly=yes"]
        return shlex.join(words)


@dataclass(frozen=True, slots=True)
class Program:
    """git as one user: ``user`` is its name or id, None for the user of this process. ``timeout`` is in seconds."""

    user: str | None
    access: Access
    timeout: float

    async def identity(self) -> Identity | None:
        """The user that git runs as; None for our own. Raises ResourceError when that user does not exist."""
        return await identity_of(self.user)

    async def ask(self, cwd: str, *arguments: str, on_line: Callable[[str], None] | None = None) -> Completed:
        """Run git in the directory ``cwd``. ``on_line`` gets each line of its output.

        Raises ResourceError when it can't be started, or takes too long.
        """
        identity = await self.identity()
        environment = {
            **ENVIRONMENT,
            **({"HOME": _our_home()} if identity is None else identity.environment),
            **self.access.environment,
            "GIT_CEILING_DIRECTORIES": os.path.dirname(cwd),
        }
        settings = (word for setting in _SETTINGS for word in ("-c", setting))
        words = ("git", "--no-optional-locks", *settings, *arguments)
        try:
            return await run(Command(words, cwd, environment, self.timeout, identity=identity), on_line)
        except ResourceError as error:
            if error.missing is not None and error.missing.endswith("/git"):
                hint = "declare package#git, and add it to require"
                raise ResourceError("git is not installed", hint, missing=error.missing) from error
            raise

    async def must(self, cwd: str, *arguments: str, on_line: Callable[[str], None] | None = None) -> str:
        """Run git, which must succeed, in the directory ``cwd``. Returns its output without the last newline.

        Raises GitError with its reason, and a hint where the reason is known; ResourceError as `ask`.
        """
        done = await self.ask(cwd, *arguments, on_line=on_line)
        if done.exit_code != 0:
            hint = next((hint for text, hint in _HINTS if text in done.stderr), None)
            raise GitError(f"git {arguments[0]} failed{_reason(done)}", hint)
        return done.stdout.removesuffix("\n")

    async def lines(self, cwd: str, *arguments: str) -> list[str]:
        """The lines that git writes; it must succeed. Of very many, those of its errors are among them.

        Raises ResourceError for more than fit in memory: in a checkout of a user, the filters of that user write, too.
        """
        lines: list[str] = []
        left = _MOST

        def keep(line: str) -> None:
            nonlocal left
            left -= len(line) + _OF_LINE
            if left >= 0:
                lines.append(line)

        output = await self.must(cwd, *arguments, on_line=keep)
        if left < 0:
            raise ResourceError(f"git {arguments[0]} wrote more than {_MOST >> 20} MiB", "see what it writes")
        return lines if len(output) >= _LONG else output.splitlines()


def _reason(done: Completed) -> str:
    """The line in which git, or ssh, says why it failed; the end of the output if there is no such line."""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    for text, _ in _HINTS:
        for number, line in enumerate(lines):
            if text in line:
                more = lines[number + 1 : number + 2] if line.endswith(":") else []
                return f": {' '.join((line, *more))}"
    if (first := next((line for line in lines if line.startswith(("fatal: ", "error: "))), None)) is not None:
        return f": {first if first != _NO_ANSWER else lines[0]}"
    return f" with exit code {done.exit_code}{output_tail(done.stdout, done.stderr)}"


def base_of(url: str) -> str:
    """The scheme and host of an http(s) URL, to which its credentials are sent."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/"


def object_format(commit: str) -> tuple[str, ...]:
    """The option of `git init` for a repository that can have ``commit``, whose length tells how it was computed."""
    return ("--object-format=sha256",) if len(commit) == _SHA256 else ()


def unquoted(path: str) -> str:
    """A path as git writes it, without its quotes."""
    if not path.startswith('"'):
        return path
    return os.fsdecode(codecs.escape_decode(path[1:-1].encode())[0])


def _our_home() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        return "/"
