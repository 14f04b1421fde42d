"""Registers the secrets that this process knows, and removes them from its output.

The code that evaluates a value with a secret registers it here; every output redacts what it writes. This is a second
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
"""Characters. A longer text is searched in a thread."""
_MOST_MASKED = 64
_WITHHELD = "-[not shown: it may hold a former secret]"

_names: dict[str, None] = {}
"""Refs, which are not masked. The keys of a dictionary take a seventh of the memory of a set."""
_masked: dict[tuple[int, int], int] = {}
"""Hash and length of the long texts that were masked last, with the number of secrets at that time."""
_known: KnownSecrets | None = None
"""None until there is a secret: most runs have none, and don't need the search."""
_outside: KnownSecrets | None = None
"""Those that must not be on the disk, but in what needs them."""


def register_secret(value: Any, *, from_outside: bool = False) -> None:
    """Never again show ``value`` or anything in it: a string, number, list or map; strings also line by line.

    The keys of a map are not secrets: masking words such as "user" and "password" would make every message useless.
    A value ``from_outside`` is not in a manifest, and a backup of a file that holds it is not kept either.
    """
    if isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            register_secret(item, from_outside=from_outside)
        return
    if value is None or isinstance(value, bool):
        return
    global _known, _outside
    if _known is None:
        from reactor.resource.secret_search import KnownSecrets  # noqa: PLC0415

        _known, _outside = KnownSecrets(MASK), KnownSecrets(MASK)
    _known.add(str(value))
    if from_outside and _outside is not None:
        _outside.add(str(value))


def holds_secret_from_outside(data: bytes) -> bool:
    """Whether ``data`` has a secret that the manifest takes from outside, now or earlier in this process."""
    if _outside is None or not _outside.values:
        return False
    text = data.decode(errors="surrogateescape")
    return _outside.replaced(text, lambda _: MASK) != text


def knows_secrets() -> bool:
    """Whether any secret is registered."""
    return _known is not None


def can_mask_all() -> bool:
    """Whether every secret, and every line of it, is long enough to be masked."""
    return _known is None or not _known.has_short


def show_names(refs: Iterable[str]) -> None:
    """Let `redacted` show ``refs`` unmasked, since resources are identified by them.

    A manifest that puts a secret into a ref is refused. What is left is coincidence, and masking a word that happens
    to be a password too would reveal the password.
    """
    _names.update(dict.fromkeys(refs))


def forget_all() -> None:
    """Forget all secrets. For tests."""
    global _known, _outside  # noqa: PLW0603
    _known = _outside = None
    _names.clear()
    _masked.clear()


def redact(text: str) -> str:
    """``text`` with every secret masked: as it is, and in every form that docs/manifest-language.md names.

    A long text that was just masked is not searched again: every output does this, on the event loop.
    """
    if _known is None:
        return text
    if len(text) <= LONG:
        return with_each_secret(text, _mask)
    count = len(_known.values)
    if _masked.get((hash(text), len(text))) == count:
        return text
    masked = with_each_secret(text, _mask)
    if len(_masked) >= _MOST_MASKED:
        _masked.clear()  # in one step: threads search too
    _masked[hash(masked), len(masked)] = count
    return masked


def _mask(secret: str) -> str:
    """What is shown in place of ``secret``. Its last newline stays: the next line of a diff or a log is another one."""
    return f"{MASK}\n" if secret.endswith("\n") else MASK


def masked_start(text: str, length: int) -> str:
    """The first ``length`` characters of ``text``, in which secrets were masked before: half a secret is not recognised."""
    return redact(text[: length + LONG])[:length]


def without_removed_lines(diff: str) -> str:
    """A unified diff without its removed lines, which may hold a former secret: that is not known any more."""
    head, hunks, body = diff.partition("\n@@ ")
    if not hunks:
        return diff
    ranges, *lines = body.split("\n")
    shown = (_WITHHELD if line.startswith("-") else line for line in lines)
    return "\n".join([head, f"@@ {ranges}", *shown])


def with_each_secret(text: str, make: Callable[[str], str]) -> str:
    """``text`` with each secret replaced by what ``make`` returns for it, as it is written there."""
    return _known.replaced(text, make) if _known is not None and _known.values else text


def redacted(value: Any) -> Any:
    """A copy of a tree of maps, lists, strings, dataclasses and named tuples with every string except refs redacted.

    If there are no secrets, ``value`` itself.
    """
    if _known is None or not _known.values:
        return value
    if isinstance(value, str) and not isinstance(value, Enum):  # enumerations are part of the program
        return value if value in _names else redact(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: redacted(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **fields)
    if isinstance(value, dict):
        return {redacted(key): redacted(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        make = getattr(value, "_make", type(value))  # how to build a named tuple
        return make(redacted(item) for item in value)
    return value


def redacted_record(record: dict[str, Any]) -> dict[str, Any]:
    """``record`` with its values redacted. Its keys and its ``event`` type come from the program, so they stay."""
    return {key: value if key == "event" else redacted(value) for key, value in record.items()}


_NAMES = r"(?i)auth|cookie|token|key|secret|pass|pwd|sig|credential|session|jwt"
"""Names of credentials in queries and headers: ``access_token``, ``X-Amz-Signature``, ``sig``."""


def register_url_secrets(url: str) -> None:
    """Register the secrets in ``url``: a password, a user without a password (a token), the signature in its query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    found = parts.password or parts.username or ""
    query = parse_qsl(parts.query, keep_blank_values=True)
    register_secret([found, unquote(found), *(value for name, value in query if re.search(_NAMES, name))])


def register_header_secrets(headers: Mapping[str, str]) -> None:
    """Register as secrets the values of header fields whose names suggest credentials."""
    for name, value in headers.items():
        if re.search(_NAMES, name):
            register_secret([value, value.split(" ")[-1]])
