"""The kind ``hostname``: what the host is called, by its kernel, at its next boot, and for people."""

from reactor.resources.hostname.kind import Hostname

__all__ = ["Hostname"]
