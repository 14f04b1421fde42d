"""The secrets this process has met, so that no text that leaves it shows one.

The code that evaluates a value with a secret registers it here; every sink redacts what it writes. That is a second
line of defence: properties known to be secret are not shown in the first place.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

if TYPE_CHECKING:
    from reactor.resource.secret_search import KnownSecrets

MASK = "[secret]"
LONG = 64 * 1024
"""Characters. A text of more is searched beside the event loop."""
_MOST_MASKED = 64


_names: set[str] = set()
"""Refs, which are shown as they are."""
_masked: dict[tuple[int, int], int] = {}
"""Hash and length of the long texts that were masked last, with how many secrets there were then."""
_known: KnownSecrets | None = None
"""None until there is one: most runs know none, and don't need the search."""


def register_secret(value: Any) -> None:
    """Never again show ``value``, or what is in it: a text, number, list or map; texts also line by line.

    The keys of a map are no secrets: without words such as "user" and "password" nothing could be said about it.
    """
    if isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            register_secret(item)
        return
    if value is None or isinstance(value, bool):
        return
    global _known  # noqa: PLW0603
    if _known is None:
        from reactor.resource.secret_search import KnownSecrets  # noqa: PLC0415

        _known = KnownSecrets(MASK)
    _known.add(str(value))


def knows_secrets() -> bool:
    """Whether there is any secret."""
    return _known is not None


def can_mask_all() -> bool:
    """Whether no secret is too short, as a whole or in one of its lines."""
    return _known is None or not _known.has_short


def show_names(refs: Iterable[str]) -> None:
    """Let `redacted` show ``refs`` as they are: by them resources are known, and found again.

    A manifest that makes one with a secret is refused. What is left is chance, and to mask a word that merely happens
    to be a password as well would reveal it.
    """
    _names.update(refs)


def forget_all() -> None:
    """Know no secrets: for tests."""
    global _known  # noqa: PLW0603
    _known = None
    _names.clear()
    _masked.clear()


def redact(text: str) -> str:
    """``text`` with every secret in it masked: as it is, and in every form that docs/manifest-language.md names.

    A long text that was masked a moment ago is not searched again: every sink does this, and on the event loop.
    """
    if _known is None or len(text) <= LONG:
        return with_each_secret(text, lambda _: MASK)
    count = len(_known.values)
    if _masked.get((hash(text), len(text))) == count:
        return text
    masked = with_each_secret(text, lambda _: MASK)
    if len(_masked) >= _MOST_MASKED:
        _masked.clear()  # in one step: threads search, too
    _masked[hash(masked), len(masked)] = count
    return masked


def with_each_secret(text: str, make: Callable[[str], str]) -> str:
    """``text`` with what ``make`` gives for each secret in it, as it stands there, in its place."""
    return _known.replaced(text, make) if _known is not None and _known.values else text


def redacted(value: Any) -> Any:
    """A copy of a tree of maps, lists, texts, dataclasses and named tuples with every text scrubbed but refs.

    While there are no secrets, that is ``value`` itself.
    """
    if _known is None or not _known.values:
        return value
    if isinstance(value, str) and not isinstance(value, Enum):  # members of enumerations are our own words
        return value if value in _names else redact(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: redacted(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **fields)
    if isinstance(value, dict):
        return {redacted(key): redacted(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        make = getattr(value, "_make", type(value))  # that of a named tuple
        return make(redacted(item) for item in value)
    return value


def redacted_record(record: dict[str, Any]) -> dict[str, Any]:
    """The same for a map whose keys are our own words, as is the kind of ``event`` that it may tell of."""
    return {key: value if key == "event" else redacted(value) for key, value in record.items()}


_NAMES = re.compile(r"auth|cookie|token|key|secret|pass|pwd|sig|credential|session|jwt", re.IGNORECASE)
"""What credentials are called in a query or a header: ``access_token``, ``X-Amz-Signature``, ``sig``."""


def register_url_secrets(url: str) -> None:
    """Never show the password in ``url``, a user without one, which is a token, and what its query is signed with."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    found = parts.password or parts.username or ""
    query = parse_qsl(parts.query, keep_blank_values=True)
    register_secret([found, unquote(found), *(value for name, value in query if _NAMES.search(name))])


def register_header_secrets(headers: Mapping[str, str]) -> None:
    """Never show what header fields hold whose names say that it proves who we are."""
    for name, value in headers.items():
        if _NAMES.search(name):
            register_secret([value, value.split(" ")[-1]])
