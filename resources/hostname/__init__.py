"""The kind ``hostname``: the running host name, the static one (/etc/hostname), the pretty one (/etc/machine-info)."""

from reactor.resources.hostname.kind import Hostname

__all__ = ["Hostname"]
