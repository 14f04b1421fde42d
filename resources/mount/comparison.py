"""Finds out whether a mount has the desired device and options, as far as the kernel shows them.

The kernel always shows flags. It shows only some other options, and in its own spelling: ``size=1m`` becomes
``size=1024k``. An option that the kernel does not show counts as set; otherwise the mount could never be as desired. Those
of a tmpfs that are not shown have their default.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from reactor import fragile_mounts
from reactor.hostfs import NormalForms
from reactor.resources.accounts.database import gid_of, uid_of
from reactor.resources.mount.fstab import is_tag, node_of
from reactor.resources.mount.mount_table import Mounted, mounts_at
from reactor.resources.mount.state import Desired

_FLAGS = {
    "ro": "rw",
    "nosuid": "suid",
    "nodev": "dev",
    "noexec": "exec",
    "sync": "async",
    "nodiratime": "diratime",
}
"""For each flag, its name when it is set, and its name when it is not."""
_ACCESS_TIMES = ("noatime", "relatime", "strictatime")
"""Flags of which exactly one is set. The kernel does not show the last one."""
_IMPLIED = {
    "user": ("nosuid", "nodev", "noexec"),
    "users": ("nosuid", "nodev", "noexec"),
    "owner": ("nosuid", "nodev"),
    "group": ("nosuid", "nodev"),
    "atime": ("relatime",),
}
"""The flags that mount(8) derives from options that the kernel does not know."""
_READ_ONLY = {"cramfs", "erofs", "iso9660", "romfs", "squashfs"}
_OCTAL = {"mode", "umask", "fmask", "dmask"}
_ACCOUNTS: Mapping[str, Callable[[str], int | None]] = {"uid": uid_of, "gid": gid_of}
"""The options that name an account, which the kernel shows as an id. An account that is not in the files counts as
equal."""
_NUMBER = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_FAMILIES = {"nfs4": "nfs", "fuseblk": "fuse"}
_DEVICE = "device"
"""The key of the normal form of the device; the keys of options end in an equals sign."""
_OF_A_NEW_TMPFS = {"mode", "uid", "gid"}
"""The options that are about the root directory of a tmpfs, which is made once."""
_LAYERS = {"lowerdir", "upperdir", "workdir"}
_HOST_ENDS = ":"
"""Separates the server in a remote device. Other devices are looked up, not compared as strings."""


def is_bind(options: Iterable[str]) -> bool:
    """Whether these are the options of a bind mount, which shows a directory or file at a second place."""
    return not {"bind", "rbind"}.isdisjoint(options)


def overlaid(fstype: str | None, options: Iterable[str]) -> Iterator[str]:
    """The directories that an overlay is made of; none for another type of file system."""
    if fstype != "overlay":
        return
    for option in options:
        key, value = _split(option)
        if key in _LAYERS:
            yield from (path.rstrip("/") for path in value.split(":") if path.startswith("/"))


def missing(wanted: Iterable[str], active: frozenset[str], fstype: str) -> tuple[str, ...]:
    """The wanted options that are not set, as options for a remount."""
    flags = _flags(wanted, fstype)
    atime = next((word for word in _ACCESS_TIMES if word in active), _ACCESS_TIMES[-1])
    wrong = [word for word in flags if not _holds(word, active, atime)]
    unshown = _defaults_of_tmpfs() if fstype == "tmpfs" else {}
    parameters = unshown | dict(_split(option) for option in active if "=" in option)
    wrong += [option for option in wanted if "=" in option and not _agrees(option, parameters)]
    return tuple(wrong)


def unchangeable(wanted: Iterable[str], top: Mounted) -> tuple[str, ...]:
    """The wanted options that ``top`` does not have, and that a remount is known to ignore."""
    if top.fstype != "tmpfs":
        return ()
    wrong = missing(wanted, top.options, top.fstype)
    return tuple(option for option in wrong if _split(option)[0] in _OF_A_NEW_TMPFS)


def _defaults_of_tmpfs() -> dict[str, str]:
    """The values of tmpfs(5) that the kernel does not show: half of the memory, of which each page may be a file."""
    pages = os.sysconf("SC_PHYS_PAGES") // 2
    size = pages * (os.sysconf("SC_PAGE_SIZE") // 1024)
    return {"size": f"{size}k", "nr_inodes": f"{pages}", "mode": "1777", "uid": "0", "gid": "0"}


def for_remount(wanted: Iterable[str], fstype: str) -> str:
    """The options for ``mount -o remount``, with every flag, since the kernel keeps some that are not given."""
    options = tuple(wanted)
    if is_bind(options):
        return ",".join(("remount", "bind", *_flags(options, fstype)))
    others = [option for option in options if option not in _words() and option not in _IMPLIED]
    return ",".join(("remount", *_flags(options, fstype), *others))


def _flags(wanted: Iterable[str], fstype: str) -> tuple[str, ...]:
    """The required name of each flag.

    Flags that are not mentioned must have the default of mount(8). But a bind mount inherits the flags of the file
    system that it shows, and FUSE sets some flags itself.
    """
    options = tuple(wanted)
    mentioned = {word for option in options for word in _IMPLIED.get(option, ())} | set(options)
    free = is_bind(options) or fstype.startswith("fuse")
    words = []
    for on, off in _FLAGS.items():
        last = [option for option in options if option in (on, off)][-1:]
        if last:
            words += last
        elif on in mentioned:
            words.append(on)
        elif not free and not (on == "ro" and fstype in _READ_ONLY):
            words.append(off)
    atimes = [word for word in _ACCESS_TIMES if word in mentioned]
    return (*words, *(atimes[:1] or ([] if free else ["relatime"])))


def _holds(word: str, active: frozenset[str], atime: str) -> bool:
    if word in _ACCESS_TIMES:
        return word == atime
    if word in _FLAGS:
        return word in active
    return not any(on in active for on, off in _FLAGS.items() if off == word)


def _words() -> set[str]:
    return {*_FLAGS, *_FLAGS.values(), *_ACCESS_TIMES}


def _agrees(option: str, active: Mapping[str, str]) -> bool:
    """Whether the value that the kernel shows for an option can be the desired one."""
    key, value = _split(option)
    if key not in active:
        return True
    base = 8 if key in _OCTAL else 10
    numbers = _number(value, base), _number(active[key], base)
    if None not in numbers:
        return numbers[0] == numbers[1]
    if key in _ACCOUNTS and not value.isdigit() and active[key].isdigit():
        return _ACCOUNTS[key](value) in (None, int(active[key]))
    if value.endswith("%") or value[:1].isdigit() != active[key][:1].isdigit():
        return True  # size=50% is shown in bytes
    return active[key].startswith(value)  # vers=4 is shown as vers=4.2, compress=zstd as compress=zstd:3


def _number(text: str, base: int) -> int | None:
    match = _NUMBER.fullmatch(text)
    try:
        return None if match is None else int(match[1], base) << _UNITS[match[2].lower()]
    except ValueError:
        return None


def _split(option: str) -> tuple[str, str]:
    key, _, value = option.partition("=")
    return key, value


async def is_same(device: str, fstype: str, options: frozenset[str], mounted: Mounted, point: str) -> bool:
    """Whether ``mounted``, at ``point``, is a mount of ``device``. True if it can't be found out.

    Raises ResourceError when a bound directory is on a file system that does not answer.
    """
    if is_bind(options):
        for path in (device, point):
            await fragile_mounts().ask(path)
        return _is_same_place(device, point)
    if fstype != "auto" and _family(fstype) != _family(mounted.fstype):
        return False
    if device.startswith("/dev/") or is_tag(device):
        return _is_same_node(device, mounted.source)
    if mounted.source.startswith("/dev/"):
        # A loop device for a file, whose name the kernel does not show here.
        return True
    if "/" in device or ":" in device:
        return device.rstrip("/") == mounted.source.rstrip("/") or _family(fstype) == "fuse"
    return True  # only a label, as for tmpfs


def _family(fstype: str) -> str:
    return _FAMILIES.get(fstype, fstype).partition(".")[0]


def _is_same_place(device: str, point: str) -> bool:
    try:
        return os.path.samefile(device, point)
    except FileNotFoundError:
        return False


def _is_same_node(device: str, source: str) -> bool:
    path = node_of(device)
    if not os.path.exists(path):  # udev has not created it, or names it differently
        return True
    return os.path.realpath(path) == os.path.realpath(source)


def is_known(device: str, top: Mounted, forms: NormalForms) -> bool:
    """Whether ``top`` is a mount of the remote ``device``, in the spelling that the kernel is known to use for it."""
    return _HOST_ENDS in device and forms.agrees(_DEVICE, device, top.source)


def respelled(options: Iterable[str], top: Mounted, forms: NormalForms) -> Mounted:
    """``top`` with its options spelled as in ``options``, where the values are equal."""
    shown = parameters(top.options)
    alike = {
        option: f"{key}={shown[key]}"
        for key, option in ((each.partition("=")[0], each) for each in options if "=" in each)
        if key in shown and _option_aliases_agrees(forms, option, shown[key])
    }
    return top._replace(options=top.options.difference(alike.values()) | alike.keys())


def learn(desired: Desired, before: Mounted | None) -> None:
    """Store how the kernel spells device and options after ``desired`` was mounted, or remounted over ``before``."""
    mounts = mounts_at(desired.entry.point)
    if desired.forms is None or not mounts:
        return
    top, former = mounts[-1], parameters(before.options) if before is not None else {}
    if before is None and _HOST_ENDS in desired.entry.device:
        desired.forms.learn(_DEVICE, desired.entry.device, None, top.source)
    shown = parameters(top.options)
    for key, _, value in (option.partition("=") for option in desired.options if "=" in option):
        if key in shown:
            desired.forms.learn(f"{key}=", value, former.get(key), shown[key])


def parameters(options: Iterable[str]) -> dict[str, str]:
    """The values of the options that have one, by name."""
    return {key: value for key, sign, value in (option.partition("=") for option in options) if sign}


def _option_aliases_agrees(forms: NormalForms, option: str, shown: str) -> bool:
    key, _, value = option.partition("=")
    return forms.agrees(f"{key}=", value, shown) or value.lstrip("/") == shown.lstrip("/")
