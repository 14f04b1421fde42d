"""The kind ``ntp``: the servers that the clock of the host is set by."""

from reactor.resources.ntp.kind import Ntp

__all__ = ["Ntp"]
