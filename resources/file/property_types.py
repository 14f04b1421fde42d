"""Property types of files, which other kinds share: modes, accounts, content and sources."""

from __future__ import annotations

import stat
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, ValidationInfo

from reactor import readable_text
from reactor.hostfs import MAX_ID, is_id
from reactor.resources.download.source import check_url, is_url, resolve_source

if TYPE_CHECKING:
    from reactor.resources.scaffold.rendering import Values

MAX_MODE = 0o777
_LONGEST_NAME, _LONGEST_VALUE = 255, 65536
_LONGEST_TARGET = 4095
"""Bytes."""


@lru_cache(maxsize=64)
def parse_mode(text: str) -> int:
    """The permission bits in ``0644``, ``644``, ``0o644`` or ``0O644``. Raises ValueError for anything else."""
    digits = text[2:] if text[:2] in ("0o", "0O") else text
    if not digits or not set(digits) <= set("01234567"):
        raise ValueError(f"mode {text!r} is not a valid octal number: write it as 0644")
    mode = int(digits, 8)
    if mode > MAX_MODE:
        raise ValueError(
            f"mode {text!r} exceeds the maximum 0777: write setgid: true or sticky: true; setuid can't be set"
        )
    return mode


def enterable(mode: int) -> int:
    """The mode of a directory, in which read or write permission includes execute (search) permission, as in CCM."""
    return mode | (mode & 0o444) >> 2 | (mode & 0o222) >> 1


def special_bits(setgid: bool | None, sticky: bool | None) -> int:
    """The setgid and sticky bits of a mode."""
    return (stat.S_ISGID if setgid else 0) | (stat.S_ISVTX if sticky else 0)


def mode_properties(mode: int) -> dict[str, Any]:
    """The properties for a mode with all twelve bits. Omits setuid, setgid and sticky bits that are not set."""
    special = {"setuid": stat.S_ISUID, "setgid": stat.S_ISGID, "sticky": stat.S_ISVTX}
    return {"mode": f"{mode & MAX_MODE:04o}", **{name: True for name, bit in special.items() if mode & bit}}


@lru_cache(maxsize=64)  # most files have the same owner and group
def _check_account(name: str) -> str:
    if not name:
        raise ValueError("it must not be empty: write a name or a numeric id")
    if "\0" in name:
        raise ValueError("it must not hold a NUL character: write a name or a numeric id")
    if is_id(name) and int(name) > MAX_ID:
        raise ValueError(f"{name} is not an id: the highest is {MAX_ID}")
    return name


def _check_content(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"character {error.start + 1} can't be written as UTF-8: use source for binary content"
        ) from None
    return text


def _resolve_source(path: str, info: ValidationInfo) -> str:
    return check_url(path) if is_url(path) else resolve_source(path, info)


def _check_target(text: str) -> str:
    if not text or "\0" in text:
        raise ValueError("it must be a path: target: /opt/app, or target: ../app")
    if len(_check_content(text).encode()) > _LONGEST_TARGET:
        raise ValueError(f"it is longer than {_LONGEST_TARGET} bytes, the limit of the kernel")
    return text


class TemplatePath(str):
    """The absolute path of a template, with the values that the manifest has for it."""

    __slots__ = ("values",)
    values: Values


def _take_template(path: str, info: ValidationInfo) -> TemplatePath:
    template = TemplatePath(resolve_source(path, info))
    make = (info.context or {}).get("templates")
    template.values = _no_values() if make is None else make()
    return template


def _no_values() -> Values:
    from reactor.resources.scaffold.rendering import FixedValues  # noqa: PLC0415 - few files have a template

    return FixedValues()


SourcePath = Annotated[str, AfterValidator(_resolve_source)]
"""A source to copy from: a URL, or a normalized absolute path. A relative path starts at the manifest's directory."""

Account = Annotated[str, AfterValidator(_check_account)]
"""The name of a user or group, or its id in decimal digits."""

Mode = Annotated[str, readable_text(parse_mode)]
"""Permissions in octal, at most 0777."""

Text = Annotated[str, AfterValidator(_check_content)]
"""Content that can be written as UTF-8."""

LinkTarget = Annotated[str, AfterValidator(_check_target)]
"""What a symlink points to: any path."""

Template = Annotated[str, AfterValidator(_take_template)]
"""The path of a template; a relative one starts at the manifest's directory. It has the values for the template."""


def _check_acl(entries: tuple[str, ...]) -> tuple[str, ...]:
    from reactor.resources.file.acl import parse_acl  # noqa: PLC0415 - few files have one

    for entry in parse_acl(entries):
        _check_account(entry.name or "0")
    return entries


def _check_xattrs(values: dict[str, str | None]) -> dict[str, str | None]:
    from reactor.resources.file.extended import value_of  # noqa: PLC0415 - few files have some

    for name, text in values.items():
        if name.startswith("system.posix_acl") or name == "security.capability":
            raise ValueError(f"{name}: acl and capabilities are properties of their own")
        if not name.startswith(("user.", "trusted.", "security.")) or name.endswith(".") or "\0" in name:
            raise ValueError(
                f"{name!r} is not an extended attribute that can be set: its name must begin with user. or trusted."
            )
        if len(name.encode()) > _LONGEST_NAME or len(value_of(text or "")) > _LONGEST_VALUE:
            raise ValueError(
                f"{name}: a name has at most {_LONGEST_NAME} bytes, and a value {_LONGEST_VALUE}"
            )
    return values


def _check_capabilities(text: str) -> str:
    from reactor.resources.file.capabilities import encode  # noqa: PLC0415 - few files have some

    encode(text)
    return text


Acl = Annotated[tuple[str, ...], AfterValidator(_check_acl)]
"""The entries of an ACL, as setfacl(1) takes them."""

Xattrs = Annotated[dict[str, str | None], AfterValidator(_check_xattrs)]
"""Extended attributes by name; null for one that must not be there."""

Capabilities = Annotated[str, AfterValidator(_check_capabilities)]
"""File capabilities, as setcap(8) takes them."""
