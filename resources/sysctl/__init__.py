"""The kind ``sysctl``: a parameter of the running kernel, and the line that sets it at boot."""

from reactor.resources.sysctl.kind import Sysctl

__all__ = ["Sysctl"]
