"""The URLs of downloads, and the property types of sources and checksums."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Annotated
from urllib.parse import unquote, urlsplit, urlunsplit

from pydantic import AfterValidator, ValidationInfo

from reactor import PropertyProblem, register_url_secrets

_LOOPBACK = r"127(\.[0-9]{1,3}){3}"
_CHECKSUM = r"[0-9a-f]{64}"


def shown_url(url: str) -> str:
    """The URL for messages: without credentials and query, which may contain a token."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def split_credentials(url: str) -> tuple[str, tuple[str, str] | None]:
    """The URL without user and password, and the user and password."""
    parts = urlsplit(url)
    bare = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment=""))
    if parts.username is None:
        return bare, None
    return bare, (unquote(parts.username), unquote(parts.password or ""))


_OF_SERVERS = ("puppet", "salt", "file")
"""The schemes by which Puppet and Salt name files of their servers, or of the host."""


def check_url(text: str) -> str:
    """Return ``text`` if it is an http or https URL, and register its credentials as secrets. Raises ValueError."""
    if not text:
        raise ValueError("it must not be empty: write where it comes from")
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError as error:
        raise ValueError(f"it is not a valid URL: {error}") from None
    register_url_secrets(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        words = "the url must be absolute, and start with http:// or https://"
        if parts.scheme in _OF_SERVERS:
            words += f"; for {parts.scheme}://, name a file by its path, from the directory of the manifest: files/app.conf"
        raise ValueError(words)
    if not text.isprintable() or " " in text:
        raise ValueError("the url must not hold spaces or control characters: write them as %20")
    return text


def unprotected(url: str, checksum: str | None) -> Iterable[PropertyProblem]:
    """The warning about a download that an attacker on the network could replace; none for this host itself."""
    parts = urlsplit(url)
    if checksum is None and parts.scheme == "http" and not _is_this_host(parts.hostname or ""):
        words = "without https or a checksum, an attacker on the network decides what is downloaded"
        yield PropertyProblem(("checksum",), words, "write the checksum, or https")


def _is_this_host(name: str) -> bool:
    return name in ("localhost", "::1") or re.fullmatch(_LOOPBACK, name) is not None


def is_url(source: str) -> bool:
    """Whether ``source`` is a URL, and not a path on this host."""
    return "://" in source


def http_filename(text: str) -> str:
    """The file name at the end of an http or https URL. Raises ValueError if there is none."""
    if not (filename := urlsplit(check_url(text)).path.rpartition("/")[2]):
        raise ValueError("the url must have a filename in the path")
    return filename


def resolve_source(path: str, info: ValidationInfo) -> str:
    """The absolute path of a source; a relative path starts at the directory of the manifest. Raises ValueError."""
    if is_url(path):
        raise ValueError(
            "it must be a path on this host, not a URL: let an archive fetch it, and require that"
        )
    base = (info.context or {}).get("base")
    if not path or "\0" in path:
        raise ValueError("source cannot be empty, nor hold a NUL character: write the path to copy from")
    if not path.startswith("/") and base is None:
        raise ValueError("the path must be absolute: there is no manifest for it to be relative to")
    return "/" + os.path.normpath(os.path.join(base or "/", path)).lstrip("/")


def _check_checksum(text: str) -> str:
    if not re.fullmatch(_CHECKSUM, lowered := text.lower()):
        raise ValueError("a checksum is the 64 hexadecimal digits of a SHA-256: see sha256sum")
    return lowered


LocalSource = Annotated[str, AfterValidator(resolve_source)]
"""A source on this host: a normalized absolute path. A relative path starts at the manifest's directory."""

Checksum = Annotated[str, AfterValidator(_check_checksum)]
"""A SHA-256 in hex."""
