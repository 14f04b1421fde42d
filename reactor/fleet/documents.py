"""The JSON documents that hosts and operators exchange: canonical bytes, limits before parsing, typed fields.

A document comes from the network, so nothing of it is believed: its size is checked before it is parsed, a key may be
there only once, and every field is read with its type. All times are seconds since 1970 in UTC in the program, and
``2026-01-31T13:58:15Z`` in a document.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, NoReturn

from reactor.errors import ReactorError

MOST_BYTES = 64 * 1024
"""The size limit of a document, in bytes."""
_VERSION = 1
"""The version of all documents."""

_NEWER = "install a newer reactor here"

NAMES = "only a-z, 0-9 and - are allowed, and - not at an end"
"""The rule for names of hosts, channels and groups, as a hint."""
_HOST = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_DIGEST = re.compile(r"sha256-[0-9a-f]{64}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z")
_LARGEST = 2**53
"""Beyond this, some JSON parsers round integers."""


class DocumentError(ReactorError):
    """A document of the fleet is damaged, too large, or of an unknown version."""

    code = "R1001"


def canonical(fields: Mapping[str, Any], *, errors: Literal["strict", "replace"] = "strict") -> bytes:
    """Return the canonical JSON of a document, which is signed: sorted keys, no spaces, UTF-8.

    ``errors``: for text that is not Unicode, such as the name of a file in an error of the system.
    """
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode(errors=errors)


def to_time_text(seconds: float) -> str:
    """Return a time in the format of documents. A fraction is written as milliseconds."""
    moment = datetime.fromtimestamp(round(seconds, 3), UTC)
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00").removesuffix(".000") + "Z"


def from_time_text(text: str) -> float:
    """Return the seconds since 1970 of a time in a document. Raises ValueError."""
    if not _TIME.fullmatch(text):
        raise ValueError(text)
    return datetime.fromisoformat(text).timestamp()


def is_host_id(text: object) -> bool:
    """Whether ``text`` may be the id of a host. Such an id is safe in a subject and in a file name."""
    return isinstance(text, str) and _HOST.fullmatch(text) is not None


is_channel_name = is_host_id
"""Names of channels follow the same rule."""


def require_names(names: Iterable[str]) -> None:
    """Raise DocumentError unless all may be names of hosts, channels or groups."""
    for name in names:
        if not is_host_id(name):
            raise DocumentError(f"{name!r} is not a valid name", NAMES)


_SURROGATE = rb"\ud"


def parsed(data: bytes, what: str, limit: int = MOST_BYTES) -> Document:
    """Parse a document. ``what`` names it in errors, such as ``the release``. Raises DocumentError."""
    if len(data) > limit:
        raise DocumentError(f"{what} has {len(data)} bytes, and at most {limit} are allowed")
    try:
        found = _DECODER.decode(data.decode())
        if _SURROGATE in data.lower():
            json.dumps(
                found, ensure_ascii=False
            ).encode()  # half of a pair is no text, and fails where it is shown
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"{what} is not valid JSON: {error}") from error
    if not isinstance(found, dict):
        raise DocumentError(f"{what} is not a JSON object")
    return Document(found, what)


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not valid JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_without_repetition, parse_constant=_refuse_constant)


class Document:
    """The fields of a parsed document. Each method returns one field, or raises DocumentError."""

    __slots__ = ("fields", "what")

    def __init__(self, fields: Mapping[str, Any], what: str) -> None:
        self.fields = fields
        self.what = what

    def require_version(self) -> None:
        """Raise DocumentError unless ``v`` is the version that is understood here."""
        found = self.fields.get("v")
        if found != _VERSION or isinstance(found, bool):
            hint = _NEWER if isinstance(found, int) and found > _VERSION else None
            raise DocumentError(f"{self.what} has version {found!r}, and {_VERSION} is understood here", hint)

    def require_known(self, known: Iterable[str]) -> None:
        """Raise DocumentError if there is a field that is not ``known``."""
        if unknown := sorted(set(self.fields) - set(known)):
            raise DocumentError(f"{self.what} has an unknown field {unknown[0]!r}", _NEWER)

    def text(self, name: str, *, most: int = 4096) -> str:
        """A string of at most ``most`` characters."""
        value = self._of(name, str, "a string")
        if len(value) > most:
            self._refuse(name, f"has {len(value)} characters, and at most {most} are allowed")
        return str(value)

    def optional_text(self, name: str, *, most: int) -> str | None:
        """A string, or None where the field is missing or null."""
        return None if self.fields.get(name) is None else self.text(name, most=most)

    def one_of(self, name: str, choices: Collection[str]) -> str:
        """One of some strings."""
        value = self.text(name)
        if value not in choices:
            self._refuse(name, f"is {value!r}, not one of {', '.join(choices)}")
        return value

    def integer(self, name: str, *, least: int = 0, most: int = _LARGEST) -> int:
        """An integer between ``least`` and ``most``."""
        value = self._of(name, int, "an integer")
        if not least <= value <= most:
            self._refuse(name, f"is {value}, not between {least} and {most}")
        return int(value)

    def number(self, name: str, *, least: float = 0.0) -> float:
        """A finite number that is at least ``least``."""
        value = self._of(name, int | float, "a number")
        if not math.isfinite(value) or value < least:
            self._refuse(name, f"is {value}, less than {least}")
        return float(value)

    def boolean(self, name: str) -> bool:
        """True or false."""
        return bool(self._of(name, bool, "true or false"))

    def digest(self, name: str) -> str:
        """``sha256-`` and 64 hexadecimal digits."""
        value = self.text(name)
        if not _DIGEST.fullmatch(value):
            self._refuse(name, "is not sha256- with 64 hexadecimal digits")
        return value

    def optional_digest(self, name: str) -> str | None:
        """A digest, or None where the field is missing or null."""
        return None if self.fields.get(name) is None else self.digest(name)

    def name_of_host(self, name: str) -> str:
        """The id of a host, or the name of a channel: they follow the same rule."""
        value = self.text(name)
        if not is_host_id(value):
            self._refuse(name, f"is {value!r}; {NAMES}")
        return value

    def time(self, name: str) -> float:
        """A time, in seconds since 1970."""
        value = self.text(name)
        try:
            return from_time_text(value)
        except ValueError:
            self._refuse(name, f"is {value!r}, not a time such as 2026-01-31T13:58:15Z")

    def optional_time(self, name: str) -> float | None:
        """A time, or None where the field is missing or null."""
        return None if self.fields.get(name) is None else self.time(name)

    def texts(self, name: str, *, most: int = 1000) -> tuple[str, ...]:
        """A list of at most ``most`` strings."""
        return tuple(value for value in self._list(name, most) if self._is(value, str, name, "strings"))

    def integers(self, name: str, *, most: int = 1000) -> tuple[int, ...]:
        """A list of at most ``most`` integers."""
        return tuple(value for value in self._list(name, most) if self._is(value, int, name, "integers"))

    def part(self, name: str) -> Document:
        """An object inside the document."""
        return Document(self._of(name, dict, "an object"), f"{name} of {self.what}")

    def _list(self, name: str, most: int) -> list[Any]:
        value = self._of(name, list, "a list")
        if len(value) > most:
            self._refuse(name, f"has {len(value)} entries, and at most {most} are allowed")
        return list(value)

    def _is(self, value: Any, kind: Any, name: str, words: str) -> bool:
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self._refuse(name, f"is not a list of {words}")
        return True

    def _of(self, name: str, kind: Any, words: str) -> Any:
        value = self.fields.get(name)
        if type(value) is kind:  # nearly always, and 10,000 hosts have 300,000 fields
            return value
        if name not in self.fields:
            raise DocumentError(f"{self.what} has no field {name!r}")
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self._refuse(name, f"is not {words}")
        return value

    def _refuse(self, name: str, words: str) -> NoReturn:
        raise DocumentError(f"the field {name!r} of {self.what} {words}")
