"""The names of kernel parameters, in both of the forms that sysctl.d(5) knows."""

from __future__ import annotations

import re
from typing import NamedTuple

_SEPARATOR = re.compile(r"[./]")
_COMPONENT = re.compile(r"[A-Za-z0-9_.:@+-]+")
_SWAPPED = str.maketrans("./", "/.")


class Key(NamedTuple):
    """One parameter: its way below /proc/sys."""

    components: tuple[str, ...]

    @property
    def dotted(self) -> str:
        """Its usual name: dots between the components, and a slash for a dot that is part of one."""
        return "/".join(self.components).translate(_SWAPPED)

    @property
    def path(self) -> str:
        """Where the kernel shows it."""
        return "/proc/sys/" + "/".join(self.components)

    @property
    def file(self) -> str:
        """The file of our own that sets it at boot.

        The last of these files to be read wins: ours comes after 99-sysctl.conf, which is /etc/sysctl.conf. A colon
        is in no component that has a dot: those are the names of network interfaces.
        """
        return f"/etc/sysctl.d/zz-reactor-{self.dotted.replace('/', ':')}.conf"


def parse_key(name: str) -> Key:
    """The parameter that is meant: ``net.ipv4.conf.eth0/100.forwarding`` or ``net/ipv4/conf/eth0.100/forwarding``.

    The first separator tells which form it is. Raises ValueError for what can't be the name of a parameter.
    """
    separator = _SEPARATOR.search(name)
    slashed = name.translate(_SWAPPED) if separator is not None and separator[0] == "." else name
    components = tuple(slashed.split("/"))
    if len(components) == 1 or not all(
        _COMPONENT.fullmatch(component) and component.strip(".") for component in components
    ):
        raise ValueError(f"{name!r} is no kernel parameter: write it as net.ipv4.ip_forward")
    return Key(components)
