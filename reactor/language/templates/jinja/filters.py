"""The filters that templates of servers use daily and Jinja2 lacks, by the names and with the meaning of Ansible's."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from jinja2 import Undefined
from jinja2.filters import FILTERS

from reactor.language.errors import Fault
from reactor.language.json_codec import decode
from reactor.language.templates.budget import current_budget
from reactor.language.templates.go.functions.regexes import replaced, searched
from reactor.language.templates.yaml_text import yaml_text

_REFERENCE: Final = re.compile(r"\\(?:(\d{1,2})|g<(\w+)>|(.))", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}
_HASHES: Final = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")
_WIDEST_INDENT: Final = 9


def plain(value: Any) -> Any:
    """Return ``value`` as one of JSON. Raises Fault if it is none, and Jinja's error if it is undefined."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, Undefined):
        str(value)
    raise Fault(f"a {type(value).__name__} is not data", "make a list of it: | list")


def to_json(value: Any, indent: int | None = None, sort_keys: bool = False) -> str:
    """Return ``value`` as JSON. Unlike ``tojson``, it escapes nothing for HTML."""
    return json.dumps(plain(value), indent=_checked(indent), sort_keys=sort_keys)


def _to_nice_json(value: Any, indent: int = 4, sort_keys: bool = True) -> str:
    return to_json(value, indent, sort_keys)


def _to_yaml(value: Any, indent: int = 2, sort_keys: bool = True) -> str:
    return _yaml(value, indent, sort_keys=sort_keys, flow=None)


def _to_nice_yaml(value: Any, indent: int = 4, sort_keys: bool = True) -> str:
    return _yaml(value, indent, sort_keys=sort_keys, flow=False)


def _yaml(value: Any, indent: int, *, sort_keys: bool, flow: bool | None) -> str:
    return yaml_text(plain(value), _checked(indent), sort_keys=sort_keys, flow=flow)


def _checked(indent: int | None) -> int | None:
    if indent is not None and not (isinstance(indent, int) and 0 < indent <= _WIDEST_INDENT):
        raise Fault(f"indent is a number from 1 to {_WIDEST_INDENT}")
    return indent


def _from_json(text: Any) -> Any:
    return decode(_text(text))


def _b64encode(text: Any) -> str:
    return base64.b64encode(_text(text).encode()).decode()


def _b64decode(text: Any) -> str:
    try:
        return base64.b64decode(_text(text), validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise Fault(f"this is no base64 of a text: {error}") from error


def _hash(text: Any, name: str = "sha1") -> str:
    if name not in _HASHES:
        raise Fault(f"there is no hash {name!r}", f"the hashes are {', '.join(_HASHES)}")
    return hashlib.new(name, _text(text).encode(), usedforsecurity=False).hexdigest()


def _text(value: Any) -> str:
    """Return a string or number as text: the text of a list or map is no format that anything reads."""
    if isinstance(value, str | int | float | Undefined):
        return str(value)
    raise Fault("this filter takes a text", "write a list or a map as one first: | to_json")


def _combine(*maps: Any, recursive: bool = False) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for each in maps:
        if isinstance(each, Undefined):
            str(each)
        if not isinstance(each, Mapping):
            raise Fault("combine takes maps", "a list is joined to another with +")
        found = _merged(found, each) if recursive else {**found, **each}
    return found


def _merged(below: Mapping[Any, Any], above: Mapping[Any, Any]) -> dict[Any, Any]:
    both = {
        key: _merged(below[key], value)
        for key, value in above.items()
        if isinstance(value, Mapping) and isinstance(below.get(key), Mapping)
    }
    return {**below, **above, **both}


def _regex_replace(
    text: Any,
    pattern: str = "",
    replacement: str = "",
    ignorecase: bool = False,
    multiline: bool = False,
) -> str:
    def expand(found: Any) -> str:
        return _REFERENCE.sub(lambda reference: _expanded(found, reference), replacement)

    return replaced(_flagged(pattern, ignorecase, multiline), _text(text), expand)


def _regex_search(
    text: Any, pattern: str, *groups: str, ignorecase: bool = False, multiline: bool = False
) -> Any:
    current_budget().charge_characters(len(_text(text)))
    found = searched(_flagged(pattern, ignorecase, multiline), _text(text))
    if found is None or not groups:
        return found and found[0]
    return [_REFERENCE.sub(lambda reference: _expanded(found, reference), group) for group in groups]


def _flagged(pattern: str, ignorecase: bool, multiline: bool) -> str:
    flags = f"{'i' * ignorecase}{'m' * multiline}"
    return f"(?{flags}){pattern}" if flags else pattern


def _expanded(found: Any, reference: re.Match[str]) -> str:
    number, name, other = reference.groups()
    if other is not None:
        return _ESCAPES.get(other, other)
    try:
        return found[int(number) if number else int(name) if name.isdigit() else name] or ""
    except (IndexError, KeyError):
        raise Fault(f"the pattern has no group {number or name}", "put it in parentheses: (...)") from None


ALL: Final[Mapping[str, Callable[..., Any]]] = {
    **FILTERS,
    "b64decode": _b64decode,
    "b64encode": _b64encode,
    "combine": _combine,
    "from_json": _from_json,
    "hash": _hash,
    "regex_replace": _regex_replace,
    "regex_search": _regex_search,
    "to_json": to_json,
    "to_nice_json": _to_nice_json,
    "to_nice_yaml": _to_nice_yaml,
    "to_yaml": _to_yaml,
}
"""Jinja's filters, and these."""
