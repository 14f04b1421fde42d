"""Functions for JSON, base64, base32, checksums, paths and URLs."""

from __future__ import annotations

import base64
import binascii
import hashlib
import posixpath
import zlib
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from reactor.language.errors import Fault, FunctionError
from reactor.language.json_codec import decode
from reactor.language.templates.calls import Functions, takes_strings
from reactor.language.templates.go.functions.maps import deep_copy
from reactor.language.templates.values import OwnMap, json_text, string_of
from reactor.language.templates.yaml_text import yaml_text


def from_json(text: str) -> Any:
    """Return the value of a JSON string. Raises FunctionError for invalid JSON."""
    return deep_copy(decode(text))


def _decoded(decode: Callable[[str], bytes], text: str) -> str:
    try:
        return decode(text.replace("\n", "").replace("\r", "")).decode("utf-8", "replace")
    except (binascii.Error, ValueError) as error:
        raise Fault(f"illegal base64 or base32 data: {error}") from error


def clean(path: str) -> str:
    """Return the shortest equivalent path."""
    cleaned = posixpath.normpath(path) if path else "."
    return cleaned[1:] if cleaned.startswith("//") else cleaned


def base(path: str) -> str:
    """Return the last component of a path."""
    return posixpath.basename(path.rstrip("/")) or ("/" if path else ".")


def _from_json_or_nothing(text: str) -> Any:
    try:
        return from_json(text)
    except FunctionError:
        return None


def _json(value: Any) -> str:
    return json_text(value)


def _yaml(value: Any) -> str:
    """Return ``value`` as YAML without the last newline, as Helm does."""
    return yaml_text(decode(json_text(value, raw=True)), 2).removesuffix("\n").removesuffix("\n...")


_dir = takes_strings(lambda path: clean(path[: path.rfind("/") + 1]))
_ext = takes_strings(
    lambda path: (
        "".join(path.rpartition("/")[2].rpartition(".")[1:]) if "." in path.rpartition("/")[2] else ""
    )
)
_is_abs = takes_strings(lambda path: path.startswith("/"))


def url_parse(text: str) -> OwnMap:
    """Return the parts of a URL, named as in sprig. Missing parts are empty."""
    try:
        found = urlsplit(text)
        hostname = found.hostname or ""
    except ValueError as error:
        raise Fault(f"unable to parse url {text!r}: {error}", "write it as https://host/path") from error
    userinfo, at, host = found.netloc.rpartition("@")
    is_opaque = bool(found.scheme) and not found.netloc and not found.path.startswith("/")
    return OwnMap(
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
    """Return the URL that has these parts."""
    scheme, userinfo, host, path, opaque, query, fragment = (
        string_of(parts.get(name) or "")
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

FUNCTIONS: Functions = {
    "adler32sum": takes_strings(lambda text: str(zlib.adler32(text.encode()))),
    "b32dec": takes_strings(lambda text: _decoded(base64.b32decode, text)),
    "b32enc": takes_strings(lambda text: base64.b32encode(text.encode()).decode()),
    "b64dec": takes_strings(lambda text: _decoded(lambda data: base64.b64decode(data, validate=True), text)),
    "b64enc": takes_strings(lambda text: base64.b64encode(text.encode()).decode()),
    "base": base,
    "clean": clean,
    "dir": _dir,
    "ext": _ext,
    "fromJson": _from_json_or_nothing,
    "isAbs": _is_abs,
    "mustFromJson": from_json,
    "mustToJson": _json,
    "mustToPrettyJson": lambda value: json_text(value, 2),
    "mustToRawJson": lambda value: json_text(value, raw=True),
    "mustToYaml": _yaml,
    "osBase": base,
    "osClean": clean,
    "osDir": _dir,
    "osExt": _ext,
    "osIsAbs": _is_abs,
    "sha1sum": takes_strings(lambda text: hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()),
    "sha256sum": takes_strings(lambda text: hashlib.sha256(text.encode()).hexdigest()),
    "sha512sum": takes_strings(lambda text: hashlib.sha512(text.encode()).hexdigest()),
    "toJson": _json,
    "toPrettyJson": lambda value: json_text(value, 2),
    "toRawJson": lambda value: json_text(value, raw=True),
    "toYaml": _yaml,
    "urlJoin": url_join,
    "urlParse": url_parse,
}
