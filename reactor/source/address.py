"""From the URL of a manifest or of data to its `Address`; refuses what can't be one."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit, urlunsplit

from reactor.resource.diagnostic import Diagnostic, ManifestError
from reactor.resource.redaction import register_url_secrets
from reactor.source.links import Address, Link, link_of

SUFFIXES = (".tar.gz", ".tgz")


def parse_address(text: str, context: str = "") -> Address:
    """Parse the URL of a manifest. Raises ManifestError if it can't be downloaded or is no archive."""
    hint = "name a file, an http or https URL, or obj://BUCKET/KEY.tar.gz"
    if (link := link_of(text)) is not None:
        return _linked(text, link, "manifest source", context, archive=True)
    address = _parse(text, "manifest source", hint)
    if not is_archive(address.url):
        raise _refused(
            f"{address.shown} is not a .tar.gz archive",
            "pack manifest.yaml and what belongs to it with tar -czf",
        )
    return address


def parse_role_address(text: str, context: str) -> Address:
    """Parse the URL of the archive of a role. Raises ManifestError if it can't be downloaded."""
    if (link := link_of(text)) is not None:
        return _linked(text, link, "role source", context, archive=True)
    return _parse(text, "role source", "name a directory, an http or https URL, or obj://BUCKET/KEY.tar.gz")


def parse_data_address(text: str, context: str = "") -> Address:
    """Parse the URL of a data file. Raises ManifestError if it can't be downloaded."""
    hint = "name a file, an http or https URL, kv://BUCKET/KEY, or obj://BUCKET/KEY"
    if (link := link_of(text)) is not None:
        return _linked(text, link, "hiera data source", context, archive=False)
    return _parse(text, "hiera data source", hint)


def is_archive(url: str) -> bool:
    """Whether the URL names an archive; else it names a single file."""
    return url.partition("#")[0].partition("?")[0].endswith(SUFFIXES)


def _linked(text: str, link: Link, what: str, context: str, *, archive: bool) -> Address:
    register_url_secrets(text)
    if (fault := link.fault(text, archive=archive)) is not None:
        reason, hint = fault
        raise _refused(f"unsupported {what}: {reason}", hint)
    return Address(text, text, context=context, link=link)


def _parse(text: str, what: str, hint: str) -> Address:
    """Parse a URL, and register its credentials as secrets."""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:  # its message may contain the password
        raise _refused(f"the URL of the {what} has an invalid host or port", hint) from None
    register_url_secrets(text)
    host = parts.netloc.rpartition("@")[2]
    bare = urlunsplit((parts.scheme, host, parts.path, parts.query, ""))
    shown = urlunsplit((parts.scheme, f"REDACTED@{host}" if parts.username else host, parts.path, "", ""))
    if parts.scheme not in ("http", "https") or not host:
        raise _refused(f"unsupported {what}: {shown}", hint)
    user = unquote(parts.username) if parts.username else None
    return Address(bare, shown, user, unquote(parts.password or "") if user else None)


def _refused(message: str, hint: str) -> ManifestError:
    return ManifestError([Diagnostic("R0403", message, None, hint)])
