"""Contexts of the ``nats`` CLI: JSON files that name servers and identity."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reactor.fleet.link.errors import ContextError
from reactor.fleet.link.options import Options, read_small_file

DEFAULT_URL = "nats://127.0.0.1:4222"

_NAME = re.compile(r"[^/\0]+")
_UNSUPPORTED = {"nsc": "`nsc`: give the path of a file as `creds`", "socks_proxy": "`socks_proxy`"}
_TEXTS = {
    "url",
    "user",
    "password",
    "token",
    "creds",
    "nkey",
    "cert",
    "key",
    "ca",
    "inbox_prefix",
    "user_jwt",
    "user_seed",
    "jetstream_domain",
    "jetstream_api_prefix",
    *_UNSUPPORTED,
}
_ELSEWHERE = re.compile(r"(?:op|nsc|env)://|data:")
"""Places other than files that the CLI reads keys from."""
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


def read_context(name: str | None = None, *, environment: Mapping[str, str] | None = None) -> Options:
    """Return the options of a context; without a name, of the selected one. Raises ContextError."""
    environment = os.environ if environment is None else environment
    directory = _directory(environment)
    name = name or selected_context(environment)
    if name is None:
        raise ContextError(
            "no NATS context is selected", "name one, or select one with `nats context select NAME`"
        )
    if not _NAME.fullmatch(name) or name in (".", ".."):
        raise ContextError(f"not the name of a NATS context: {name!r}", "it is a file name without .json")
    path = directory / f"{name}.json"
    if not path.exists():
        raise _missing(name, path)
    return context_options(name, str(path), _parsed(path), environment)


def selected_context(environment: Mapping[str, str]) -> str | None:
    """Return the name of the context that ``nats context select`` chose, None if there is none. Raises ContextError."""
    path = _directory(environment).parent / "context.txt"
    if not path.exists():
        return None
    return read_small_file(str(path), "selected NATS context", "").strip() or None


def context_options(
    name: str, origin: str, values: Mapping[str, Any], environment: Mapping[str, str]
) -> Options:
    """Convert the content of a context to options. Raises ContextError."""
    _check(values, origin)

    def path(key: str) -> str | None:
        if _ELSEWHERE.match(values.get(key, "")):
            reason = f"`{key}` in the NATS context {origin} is not a file, and reactor reads only files"
            raise ContextError(reason, f"write it to a file and put the path into {origin}")
        return _expanded(values[key], environment) if values.get(key) else None

    return Options(
        servers=tuple(filter(None, map(str.strip, (values.get("url") or DEFAULT_URL).split(",")))),
        name=f"reactor {name}",
        user=values.get("user") or None,
        password=values.get("password") or None,
        token=values.get("token") or None,
        credentials=path("creds"),
        nkey=path("nkey"),
        jwt=values.get("user_jwt") or None,
        seed=values.get("user_seed") or None,
        certificate=path("cert"),
        key=path("key"),
        ca=path("ca"),
        tls_first=values.get("tls_first", False),
        inbox_prefix=values.get("inbox_prefix") or "_INBOX",
        api_prefix=_api_prefix(values),
        origin=origin,
    )


def _check(values: Mapping[str, Any], origin: str) -> None:
    """Raise ContextError for a value of a wrong type, and for what reactor does not do."""
    for key, value in values.items():
        if (key in _TEXTS and not isinstance(value, str)) or (
            key == "tls_first" and not isinstance(value, bool)
        ):
            raise ContextError(
                f"`{key}` in the NATS context {origin} has a wrong type", f"correct it in {origin}"
            )
    for key, what in _UNSUPPORTED.items():
        if values.get(key):
            raise ContextError(
                f"the NATS context {origin} uses {what}, which reactor does not", f"remove it from {origin}"
            )


def _api_prefix(values: Mapping[str, Any]) -> str:
    if values.get("jetstream_domain"):
        return f"$JS.{values['jetstream_domain']}.API"
    prefix: str = values.get("jetstream_api_prefix") or "$JS.API"
    return prefix.removesuffix(".")


def _directory(environment: Mapping[str, str]) -> Path:
    """The directory of the contexts."""
    configuration = environment.get("XDG_CONFIG_HOME", "")
    if not configuration.startswith("/"):
        configuration = os.path.join(_home(environment), ".config")
    return Path(configuration, "nats", "context")


def _home(environment: Mapping[str, str]) -> str:
    return environment.get("HOME") or os.path.expanduser("~")


def _expanded(path: str, environment: Mapping[str, str]) -> str:
    """Replace ``~`` and variables as the ``nats`` CLI does; an unset variable is empty."""
    path = _VARIABLE.sub(
        lambda found: environment.get(found[1] or found[2], ""), path.removeprefix("file://")
    )
    return _home(environment) + path[1:] if path == "~" or path.startswith("~/") else path


def _parsed(path: Path) -> dict[str, Any]:
    text = read_small_file(str(path), "NATS context", "")
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        where = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise ContextError(
            f"the NATS context {path} is not valid JSON{where}", "see `nats context edit`"
        ) from None
    if not isinstance(values, dict):
        raise ContextError(f"the NATS context {path} is not a JSON object", "see `nats context edit`")
    return values


def _missing(name: str, path: Path) -> ContextError:
    try:
        known = sorted(each.stem for each in path.parent.glob("*.json"))
    except OSError:
        known = []
    there = f"there are: {', '.join(known[:10])}" if known else f"make it with `nats context add {name}`"
    return ContextError(f"there is no NATS context {name}: {path} does not exist", there)
