"""The functions that ``@validate`` annotations add to the language. They take strings and return a bool.

Their names are those of https://github.com/choria-io/validator, each also in snake case. Where that library returns an
error, these return false. So ``isIPv4(value) or isIPv6(value)`` and ``not isIP(value)`` work.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Final

from reactor.language.errors import FunctionError
from reactor.language.expression.builtins.conversions import FLOAT, INTEGER
from reactor.language.expression.operators import matches
from reactor.language.times import parse_duration
from reactor.language.values import kind

_LABEL = r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)"
_HOSTNAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*+")
_LONGEST_NAME = 253
_SHELL_SIGNS = frozenset("`$;|&><()\n")
_IPV4, _IPV6 = 4, 6
_LONG_UNITS = re.compile(r"([0-9]+(?:\.[0-9]+)?)(y|Y|M|w|W|d|D)")
_HOURS = {"y": 8760, "m": 720, "w": 168, "d": 24}


def _version(value: str) -> int | None:
    import ipaddress  # noqa: PLC0415 - few manifests validate addresses

    try:
        return ipaddress.ip_address(value).version if "%" not in value else None
    except ValueError:
        return None


def _is_duration(value: str) -> bool:
    """Whether ``value`` is a duration of Go, or one such as ``1d``, ``2w``, ``1M``, ``1y``."""
    if len(value) > _LONGEST_NAME:
        return False
    try:
        parse_duration(_LONG_UNITS.sub(lambda match: f"{float(match[1]) * _HOURS[match[2].lower()]}h", value))
    except FunctionError:
        return False
    return True


def _is_hostname(value: str) -> bool:
    return len(value) <= _LONGEST_NAME and _HOSTNAME.fullmatch(value) is not None


def _text_test(name: str, test: Callable[..., bool]) -> Callable[..., bool]:
    """Return ``test``, but check first that its arguments are strings."""

    @wraps(test)
    def checked(*arguments: object) -> bool:
        for argument in arguments:
            if not isinstance(argument, str):
                raise FunctionError(
                    f"invalid argument for {name} (type {kind(argument)})",
                    "convert it to a string: string(...)",
                )
        return test(*arguments)

    return checked


_TESTS: dict[tuple[str, str], Callable[..., bool]] = {
    ("isIP", "is_ip"): lambda value: _version(value) is not None,
    ("isIPv4", "is_ipv4"): lambda value: _version(value) == _IPV4,
    ("isIPv6", "is_ipv6"): lambda value: _version(value) == _IPV6,
    ("isInt", "is_int"): lambda value: INTEGER.fullmatch(value) is not None,
    ("isFloat", "is_float"): lambda value: FLOAT.fullmatch(value) is not None,
    ("isDuration", "is_duration"): _is_duration,
    ("isRegex", "is_regex"): matches,
    ("isShellSafe", "is_shellsafe"): lambda value: not _SHELL_SIGNS & set(value.strip()),
    ("isHostname", "is_hostname"): _is_hostname,
    ("isFQDN", "is_fqdn"): lambda value: (
        _is_hostname(value.removesuffix(".")) and "." in value.removesuffix(".")
    ),
}
VALIDATORS: Final[dict[str, Callable[..., bool]]] = {
    name: _text_test(name, test) for names, test in _TESTS.items() for name in names
}
"""The functions, for a `Scope` with the roots ``value`` and ``Value``."""
