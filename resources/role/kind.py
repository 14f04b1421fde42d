"""The kind `role`: its properties."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable
from typing import Literal, Self

from pydantic import PrivateAttr, ValidationInfo, model_validator

from reactor import OneOrMany, PropertyProblem, RemoteRole, RoleResource

_ARCHIVES = (".tar.gz", ".tgz")
_CHECKSUM = re.compile(r"(sha256:)?(?P<digest>[0-9a-fA-F]{64})")
_SSH = re.compile(r"[\w.-]+@[\w.-]+:.+")
_KEY = re.compile(r"(sk-)?(ssh|ecdsa)-[\w@.-]+ [A-Za-z0-9+/=]+( [^\n]*)?")


class Role(RoleResource, kind="role"):
    """Apply a role: a directory with a manifest that takes parameters, from this host, a URL or git."""

    example = "base --source roles/base"

    ensure: Literal["present"] = "present"
    """A role can only be present."""
    source: str | None = None
    """The directory, relative to the manifest; the URL of a .tar.gz archive; or that of a git repository. By default
    the directory roles/NAME.
    """
    revision: str | None = None
    """The commit, tag or branch of a git repository. A tag or branch needs a lock file."""
    checksum: str | None = None
    """The SHA-256 of the archive. Without it, a URL needs a lock file."""
    signed_by: OneOrMany[str] = ()
    """Public keys of OpenSSH: one of them must have signed the commit, or the archive, in the file URL.sig."""
    path: str | None = None
    """The directory of the role within the repository or archive."""

    _local: str = PrivateAttr(default="")

    @model_validator(mode="after")
    def _resolve_path(self, info: ValidationInfo) -> Self:
        """Resolve a relative path from the directory of the manifest."""
        base = (info.context or {}).get("base") or "/"
        self._local = os.path.normpath(os.path.join(base, self.source or f"roles/{self.name}"))
        return self

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Properties that do not fit the source."""
        yield from super().property_problems()
        if "/" in self.name or "#" in self.name:
            hint = "write the directory or URL as source"
            yield PropertyProblem(("name",), "the name of a role has no / and no #", hint)
        if self.noop and self.health_check_only:
            message = "cannot set healthcheck only and noop mode at the same time"
            yield PropertyProblem(("health_check_only",), message, "keep one of the two")
        yield from self._problems_of_source()

    def _problems_of_source(self) -> Iterable[PropertyProblem]:
        source = self.source or ""
        is_archive = _is_url(source) and _is_archive(source)
        is_git = _is_url(source) and not is_archive
        if is_git and self.revision is None:
            hint = "write the commit, or a tag and `reactor roles lock`"
            yield PropertyProblem(("source",), "a git repository needs a revision", hint)
        if self.revision is not None and self.revision.startswith("-"):
            yield PropertyProblem(
                ("revision",), "a revision does not begin with -", "write a commit or a tag"
            )
        if self.checksum is not None and not _CHECKSUM.fullmatch(self.checksum):
            hint = "write the first word that sha256sum prints"
            yield PropertyProblem(("checksum",), "a checksum is 64 hexadecimal digits", hint)
        for name, value, fits, message in (
            ("revision", self.revision, is_git, "only a git repository has a revision"),
            ("checksum", self.checksum, is_archive, "only an archive has a checksum"),
            ("signed_by", self.signed_by, _is_url(source), "a local directory has no signature"),
            ("path", self.path, _is_url(source), "a local role has its directory as source"),
        ):
            if value and not fits:
                yield PropertyProblem((name,), message, "remove it")
        if self.path is not None and (self.path.startswith("/") or ".." in self.path.split("/")):
            yield PropertyProblem(("path",), "path stays inside of the repository", "write a relative path")
        yield from self._problems_of_keys()

    def _problems_of_keys(self) -> Iterable[PropertyProblem]:
        for index, key in enumerate(self.signed_by):
            if not _KEY.fullmatch(key):
                hint = "write the line of a file such as id_ed25519.pub: 'ssh-ed25519 AAAA...'"
                yield PropertyProblem(("signed_by", index), "this is not a public key of OpenSSH", hint)

    def sandbox_access(self) -> Iterable[str]:
        """Nothing: the resources of the role declare their own access."""
        return ()

    @property
    def remote(self) -> RemoteRole | None:
        """Where the role is fetched from; None if it is a local directory."""
        if self.source is None or not _is_url(self.source):
            return None
        found = _CHECKSUM.fullmatch(self.checksum or "")
        checksum = found["digest"].lower() if found else None
        keys = tuple(" ".join(key.split()[:2]) for key in self.signed_by)
        return RemoteRole(self.source, self.revision, checksum, keys, (self.path or "").strip("/"))

    @property
    def local_directory(self) -> str:
        """The absolute path of the local directory of the role."""
        return self._local


def _is_url(source: str) -> bool:
    return "://" in source or bool(_SSH.fullmatch(source))


def _is_archive(source: str) -> bool:
    return source.partition("#")[0].partition("?")[0].endswith(_ARCHIVES)
