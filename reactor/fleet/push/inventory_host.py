"""One host of an inventory, and how ssh reaches it.

The address, user and port become arguments of ssh. So they are checked when they are read: none can be taken for an
option, and none has characters that a shell interprets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

_ADDRESS = re.compile(r"[A-Za-z0-9_.:][A-Za-z0-9_.:%-]*")
_USER = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.@+\\-]*\$?")
_LARGEST_PORT = 65535
_DEEPEST = 100
_NAME_AND_PORT = re.compile(r"((?:[^:\[\]]|\[[^\[\]]*\])+):(\d+)")
_BRACKETED = re.compile(r"\[([0-9A-Fa-f]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*(?:%[\w.-]+)?)\](?::(\d+))?")

_SSH_VARIABLES = {
    "address": ("ansible_host", "ansible_ssh_host"),
    "port": ("ansible_port", "ansible_ssh_port"),
    "user": ("ansible_user", "ansible_ssh_user"),
    "key": ("ansible_ssh_private_key_file", "ansible_private_key_file"),
}
_UNUSED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args"), ("",)),
    **dict.fromkeys(("ansible_password", "ansible_ssh_pass"), ()),
    **dict.fromkeys(("ansible_become_password", "ansible_become_pass"), ()),
    "ansible_become_user": ("root",),
    "ansible_become_method": ("sudo",),
    "ansible_connection": ("ssh", "smart", "paramiko"),
}
"""Variables that are not used -> the values that change nothing."""
_TRUE = ("true", "yes", "1", "on")


class Host(NamedTuple):
    """A host. ``name`` is its name in the inventory. ``variables`` are its other variables and those of its groups."""

    name: str
    address: str
    port: int | None = None
    user: str | None = None
    key: str | None = None
    become: bool = False
    """Whether reactor runs through sudo on the host."""
    groups: tuple[str, ...] = ()
    variables: Mapping[str, Any] = {}
    unused: tuple[str, ...] = ()
    """Variables that say for Ansible how the host is reached, or as whom, in a way that is not used here."""

    @classmethod
    def of(cls, name: str, groups: tuple[str, ...], variables: Mapping[str, Any]) -> Self:
        """The host with these variables of an inventory. Raises ValueError with the reason."""
        if not (name and name.isprintable()):
            raise ValueError(f"{name!r} is not the name of a host")
        found = {
            key: next((variables[each] for each in names if variables.get(each) is not None), None)
            for key, names in _SSH_VARIABLES.items()
        }
        key = found["key"]
        others = {name: _plain(value) for name, value in variables.items() if not name.startswith("ansible_")}
        return cls(
            name,
            checked_address(str(found["address"] or name)),
            _port(found["port"]),
            _user(found["user"]),
            None if key is None else str(key),
            str(variables.get("ansible_become", "")).lower() in _TRUE,
            groups,
            others,
            _unused_in(variables),
        )

    def facts(self) -> dict[str, Any]:
        """The facts that the host gets: ``fleet.name``, ``fleet.groups`` and ``fleet.vars``."""
        fleet = {"name": self.name, "groups": list(self.groups), "vars": dict(self.variables)}
        return {"fleet": fleet}


def with_port(name: str) -> tuple[str, str | None]:
    """Split ``web1:2222`` or ``[::1]:2222`` into the name and the port. A range and a bare IPv6 address stay whole."""
    if found := _BRACKETED.fullmatch(name):
        return found[1], found[2]
    found = _NAME_AND_PORT.fullmatch(name)
    return (found[1], found[2]) if found else (name, None)


def checked_address(address: str) -> str:
    """Return ``address`` if it can be the address of a host for ssh. Raises ValueError."""
    if not _ADDRESS.fullmatch(address):
        raise ValueError(f"{address!r} is not the name or address of a host")
    return address


def _unused_in(variables: Mapping[str, Any]) -> tuple[str, ...]:
    found = (name for name, usual in _UNUSED.items() if name in variables and variables[name] not in usual)
    return tuple(sorted(found))


def _plain(value: Any, depth: int = 0) -> Any:
    """``value`` as JSON can have it: keys are strings. Raises ValueError if it is nested too deeply."""
    if depth > _DEEPEST:
        raise ValueError("the value of a variable is nested too deeply")
    if isinstance(value, Mapping):
        return {str(key): _plain(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(each, depth + 1) for each in value]
    return value


def _user(value: Any) -> str | None:
    if value is None:
        return None
    if not _USER.fullmatch(str(value)):
        raise ValueError(f"{value!r} is not the name of a user")
    return str(value)


def _port(value: Any) -> int | None:
    if value is None:
        return None
    text = str(value)
    if not (text.isascii() and text.isdecimal() and 0 < int(text) <= _LARGEST_PORT):
        raise ValueError(f"{value!r} is not a port")
    return int(text)
