"""The kind ``hostname``: the running host name, the static one in /etc/hostname, and the pretty one in /etc/machine-info."""

from reactor.resources.hostname.kind import Hostname

__all__ = ["Hostname"]
