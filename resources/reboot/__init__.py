"""The kind ``reboot``: reboots the host when something needs it, at most once, and only in a window of time."""

from reactor.resources.reboot.kind import Reboot

__all__ = ["Reboot"]
