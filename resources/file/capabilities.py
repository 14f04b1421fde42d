"""File capabilities, in the notation of setcap(8), and in the format of the kernel.

The format is ``struct vfs_cap_data`` of ``linux/capability.h``: a revision with the flag that makes the permitted
capabilities effective, and two words each of permitted and inheritable ones, in little endian. See capabilities(7).
"""

from __future__ import annotations

import re
import struct

ATTRIBUTE = "security.capability"
_NAMES = [
    "chown",
    "dac_override",
    "dac_read_search",
    "fowner",
    "fsetid",
    "kill",
    "setgid",
    "setuid",
    "setpcap",
    "linux_immutable",
    "net_bind_service",
    "net_broadcast",
    "net_admin",
    "net_raw",
    "ipc_lock",
    "ipc_owner",
    "sys_module",
    "sys_rawio",
    "sys_chroot",
    "sys_ptrace",
    "sys_pacct",
    "sys_admin",
    "sys_boot",
    "sys_nice",
    "sys_resource",
    "sys_time",
    "sys_tty_config",
    "mknod",
    "lease",
    "audit_write",
    "audit_control",
    "setfcap",
    "mac_override",
    "mac_admin",
    "syslog",
    "wake_alarm",
    "block_suspend",
    "audit_read",
    "perfmon",
    "bpf",
    "checkpoint_restore",
]
_NUMBERS = {f"cap_{name}": number for number, name in enumerate(_NAMES)}
_REVISION_2, _REVISION_MASK, _EFFECTIVE = 0x02000000, 0xFF000000, 0x000001
_DATA = struct.Struct("<IIIII")
_CLAUSE = re.compile(r"([a-z_,]*)([=+])([eip]*)")
_LOW = 0xFFFFFFFF


def encode(text: str) -> bytes | None:
    """The extended attribute for ``cap_net_raw,cap_net_admin=ep``; None for an empty text. Raises ValueError."""
    sets = {"e": 0, "i": 0, "p": 0}
    for clause in text.lower().split():
        if (match := _CLAUSE.fullmatch(clause)) is None:
            raise ValueError(f"{clause!r} is not a capability: write cap_net_bind_service=ep")
        bits = _bits(match[1])
        for flag in sets:
            if flag in match[3]:
                sets[flag] |= bits
            elif match[2] == "=":
                sets[flag] &= ~bits
    if not any(sets.values()):
        return None
    both = sets["p"] | sets["i"]
    if sets["e"] not in (0, both):
        raise ValueError("a file has one flag e for all its capabilities: give it to all of them, or to none")
    head = _REVISION_2 | (_EFFECTIVE if sets["e"] else 0)
    return _DATA.pack(head, sets["p"] & _LOW, sets["i"] & _LOW, sets["p"] >> 32, sets["i"] >> 32)


def _bits(names: str) -> int:
    if names in ("", "all"):
        return (1 << len(_NAMES)) - 1
    found = 0
    for name in names.split(","):
        if name not in _NUMBERS:
            raise ValueError(f"there is no capability {name!r}: see capabilities(7)")
        found |= 1 << _NUMBERS[name]
    return found


def decode(data: bytes | None) -> str:
    """The text for an extended attribute, as `encode` reads it; empty for None."""
    if data is None:
        return ""
    if len(data) < _DATA.size:
        return f"0x{data.hex()}"
    head, low_p, low_i, high_p, high_i = _DATA.unpack(data[: _DATA.size])
    permitted, inheritable = low_p | high_p << 32, low_i | high_i << 32
    effective = "e" if head & _EFFECTIVE else ""
    flags: dict[str, list[str]] = {}
    for number, name in enumerate(_NAMES):
        given = ("i" if inheritable >> number & 1 else "") + ("p" if permitted >> number & 1 else "")
        if given:
            flags.setdefault(effective + given, []).append(f"cap_{name}")
    return " ".join(f"{','.join(names)}={given}" for given, names in flags.items())


def normal(data: bytes | None) -> bytes | None:
    """``data`` as revision 2, for a comparison: inside of a user namespace the kernel shows another one."""
    if data is None or len(data) < _DATA.size:
        return data
    head, *words = _DATA.unpack(data[: _DATA.size])
    return _DATA.pack(head & ~_REVISION_MASK | _REVISION_2, *words)
