"""Property types of checkouts: URLs of repositories, and names of branches, tags and commits."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from reactor import git_credentials, register_url_secrets
from reactor.resources.download.source import split_credentials

_SCHEMES = ("https", "http", "ssh", "git", "file")
_SCP = re.compile(r"(?:[A-Za-z0-9_.-]+@)?(?:[A-Za-z0-9.-]+|\[[0-9a-fA-F:]+\]):(?!:)[^\s]+")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHORT = re.compile(r"[0-9a-f]{7,39}")
_NO_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)|^[-/.]|[/.]$|^@$")
"""What git does not allow in the name of a branch or tag, see git-check-ref-format(1)."""
_FORMS = "write https://host/repo.git, ssh://git@host/repo.git, git@host:repo.git or an absolute path"


def _check_url(text: str) -> str:
    register_url_secrets(text)
    if not text or text.startswith("-") or not text.isprintable() or " " in text:
        raise ValueError(f"it is not the URL of a repository: {_FORMS}")
    scheme, found, _ = text.partition("://")
    if text.startswith("/") or (not found and _SCP.fullmatch(text)):
        return text
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError as error:
        raise ValueError(f"it is not a valid URL: {error}") from None
    if scheme not in _SCHEMES or not (parts.hostname or scheme == "file"):
        raise ValueError(f"it is not the URL of a repository: {_FORMS}")
    if scheme in ("http", "https") and (credentials := split_credentials(text)[1]) is not None:
        git_credentials("", *credentials)
    if (parts.hostname or "").startswith("-"):
        raise ValueError("the name of a host can't begin with -")
    return text


def _check_ref(text: str) -> str:
    if _NO_REF.search(text):
        raise ValueError(
            f"{text!r} is not a branch, a tag or a commit: write main, v1.4 or the 40 digits of a commit"
        )
    return text


def is_commit(ref: str) -> bool:
    """Whether ``ref`` is a whole commit id."""
    return _COMMIT.fullmatch(ref) is not None


def is_short_commit(ref: str) -> bool:
    """Whether ``ref`` looks like the first digits of a commit id."""
    return _SHORT.fullmatch(ref) is not None and not ref.isdigit()


def is_local(url: str) -> bool:
    """Whether ``url`` is a path on this host."""
    return url.startswith(("/", "file://"))


GitUrl = Annotated[str, AfterValidator(_check_url)]
"""The URL of a repository. Its credentials become secrets."""

Ref = Annotated[str, Field(min_length=1), AfterValidator(_check_ref)]
"""The name of a branch or tag, or a commit id."""

Depth = Annotated[int, Field(gt=0)]
"""A number of commits."""
