"""The device and the options of a mount in other words: the kernel shows ``subvol=@`` as ``subvol=/@``."""

from __future__ import annotations

from collections.abc import Iterable

from reactor.hostfs import NormalForms
from reactor.resources.mount.mount_table import Mounted, mounts_at
from reactor.resources.mount.state import Desired

_DEVICE = "device"
"""What the normal form of the device is called; those of options have their names before an equals sign."""

_HOST_ENDS = ":"
"""In the name of what a server has. What else a device is called is looked up, and not compared."""


def is_known(device: str, top: Mounted, forms: NormalForms) -> bool:
    """Whether ``top`` is ``device`` of a server, as the kernel was seen to write it down."""
    return _HOST_ENDS in device and forms.agrees(_DEVICE, device, top.source)


def in_words_of(options: Iterable[str], top: Mounted, forms: NormalForms) -> Mounted:
    """``top``, its options as they are in ``options`` where both are the same value."""
    shown = parameters(top.options)
    alike = {
        option: f"{key}={shown[key]}"
        for key, option in ((each.partition("=")[0], each) for each in options if "=" in each)
        if key in shown and _agrees(forms, option, shown[key])
    }
    return top._replace(options=top.options.difference(alike.values()) | alike.keys())


def learn(desired: Desired, before: Mounted | None) -> None:
    """What ``desired`` asks for was mounted, or remounted, where ``before`` was: remember how it is shown."""
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
    """The options that have values, by name."""
    return {key: value for key, sign, value in (option.partition("=") for option in options) if sign}


def _agrees(forms: NormalForms, option: str, shown: str) -> bool:
    key, _, value = option.partition("=")
    return forms.agrees(f"{key}=", value, shown) or value.lstrip("/") == shown.lstrip("/")
