"""Reads a commit from a git repository, so that nothing in the repository decides which commands are run."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit, urlunsplit

from reactor.resource.git_credentials import git_credentials
from reactor.resource.redaction import redact, register_url_secrets
from reactor.roles.errors import RoleError

_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "protocol.ext.allow=never",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "gpg.program=false",
    "gpg.x509.program=false",
    "gpg.ssh.program=ssh-keygen",
)
"""No hooks, no filters, and no signature but one of OpenSSH: root's keyring must not vouch for a role."""
TIMEOUT = 120.0
_COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_SHA256 = 64
_LAST = 300


class Repository(NamedTuple):
    """A repository: its URL without credentials, and the environment of git, which has them."""

    url: str
    environment: Mapping[str, str]

    def commit_of(self, revision: str) -> str:
        """Return the commit that a revision names on the server. Raises RoleError."""
        if _COMMIT.fullmatch(revision):
            return revision
        names = [f"refs/tags/{revision}^{{}}", f"refs/tags/{revision}", f"refs/heads/{revision}"]
        output = self.run("/", "ls-remote", "--", self.url, *names)
        found = {name: commit for commit, _, name in (line.partition("\t") for line in output.splitlines())}
        for name in names:
            if name in found and _COMMIT.fullmatch(found[name]):
                return found[name]
        hint = "write a tag, a branch, or all 40 digits of a commit"
        raise RoleError("R0123", f"{self.url} has no tag and no branch {revision!r}", hint)

    def fetch(self, into: Path, commit: str) -> None:
        """Fetch one commit into a new bare repository. Raises RoleError."""
        sha256 = ("--object-format=sha256",) if len(commit) == _SHA256 else ()
        self.run("/", "init", "--quiet", "--bare", "--template=", *sha256, "--", str(into))
        quiet = ("fetch", "--quiet", "--no-write-fetch-head", "--no-tags")
        try:
            self.run(str(into), *quiet, "--depth=1", "--", self.url, commit)
        except RoleError:  # some servers give no commit by its id
            everything = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
            self.run(str(into), *quiet, "--", self.url, *everything)
        try:
            self.run(str(into), "cat-file", "-e", f"{commit}^{{commit}}")
        except RoleError:
            raise RoleError("R0123", f"{self.url} has no commit {commit}", "check the revision") from None

    def verify(self, at: Path, commit: str, allowed: Path) -> None:
        """Check that a key in the file ``allowed`` has signed the commit. Raises RoleError."""
        setting = f"gpg.ssh.allowedSignersFile={allowed}"
        try:
            self.run(str(at), "-c", setting, "verify-commit", "--", commit)
        except RoleError as error:
            message = f"no key in signed_by has signed the commit {commit[:12]} of {self.url}"
            hint = "ask its author, and do not remove signed_by before you know why"
            raise RoleError("R0126", message, hint) from error

    def archive(self, at: Path, commit: str, path: str, to: Path) -> None:
        """Write the files of a commit, or of the directory ``path`` in it, to a tar archive. Raises RoleError."""
        try:
            self.run(
                str(at), "archive", "--format=tar", f"--output={to}", f"{commit}:{path}" if path else commit
            )
        except RoleError as error:
            raise RoleError(
                "R0123", f"the commit {commit[:12]} of {self.url} has no directory {path or '/'}"
            ) from error

    def run(self, cwd: str, *arguments: str) -> str:
        """Run git and return its output. Raises RoleError."""
        settings = (word for setting in _SETTINGS for word in ("-c", setting))
        try:
            done = subprocess.run(
                ["git", *settings, *arguments],  # noqa: S607 - of the PATH
                cwd=cwd, env=dict(self.environment), stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT,
                check=False,
            )  # fmt: skip
        except FileNotFoundError:
            raise RoleError(
                "R0123", "git is not installed", "install it: roles are fetched with it"
            ) from None
        except subprocess.TimeoutExpired:
            raise RoleError("R0123", f"{self.url} does not answer within {TIMEOUT:.0f} s") from None
        if done.returncode != 0:
            output = redact(done.stderr.decode(errors="replace").strip())[-_LAST:] or "git failed"
            raise RoleError(
                "R0123", f"{self.url}: {output}", "check the URL, the revision and the credentials"
            )
        return done.stdout.decode(errors="replace")


def repository(url: str) -> Repository:
    """Return the repository at ``url``; its credentials get into the environment of git, which only root can read.

    Raises RoleError.
    """
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name == "GIT_SSH"
    }
    environment |= {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
        "LC_ALL": "C",
        "GIT_NO_REPLACE_OBJECTS": "1",
    }
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or parts.username is None:
        return Repository(url, environment)
    register_url_secrets(url)
    host = parts.netloc.rpartition("@")[2]
    user, password = unquote(parts.username), unquote(parts.password or "")
    try:
        environment |= git_credentials(f"{parts.scheme}://{host}/", user, password)
    except ValueError as error:
        raise RoleError("R0123", f"{without_credentials(url)}: {error}", "check the credentials") from None
    return Repository(urlunsplit(parts._replace(netloc=host)), environment)


def without_credentials(url: str) -> str:
    """Return ``url`` as a lock file and messages may show it."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        return url
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
