"""Functions on URLs: their parts, and a URL of parts."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, unquote, urlsplit

from reactor.language.errors import Fault
from reactor.language.templates.calls import Functions
from reactor.language.templates.values import Own, text_of


def url_parse(text: str) -> Own:
    """The parts of a URL, by the names of sprig; empty where there is none."""
    try:
        found = urlsplit(text)
        hostname = found.hostname or ""
    except ValueError as error:
        raise Fault(f"unable to parse url {text!r}: {error}", "write it as https://host/path") from error
    userinfo, at, host = found.netloc.rpartition("@")
    is_opaque = bool(found.scheme) and not found.netloc and not found.path.startswith("/")
    return Own(
        scheme=found.scheme,
        userinfo=userinfo if at else "",
        host=host,
        hostname=hostname,
        path="" if is_opaque else unquote(found.path),
        opaque=found.path if is_opaque else "",
        query=found.query,
        fragment=unquote(found.fragment),
    )


def url_join(parts: dict[str, Any]) -> str:
    """The URL with these parts."""
    scheme, userinfo, host, path, opaque, query, fragment = (
        text_of(parts.get(name) or "")
        for name in ("scheme", "userinfo", "host", "path", "opaque", "query", "fragment")
    )
    where = quote(opaque, safe="/:@!$&'()*+,;=%") if opaque else quote(path, safe="/:@!$&'()*+,;=~")
    if not opaque and (host or userinfo):
        slash = "/" if where and not where.startswith("/") else ""
        where = f"//{userinfo}{'@' if userinfo else ''}{host}{slash}{where}"
    return "".join(
        (
            f"{scheme}:" if scheme else "",
            where,
            f"?{query}" if query else "",
            f"#{quote(fragment, safe=_IN_FRAGMENT)}" if fragment else "",
        )
    )


_IN_FRAGMENT = "/:@!$&'()*+,;=?~"

FUNCTIONS: Functions = {"urlJoin": url_join, "urlParse": url_parse}
