"""The kind ``limits``: a file of limits of a user or group, which pam_limits(8) reads at each login."""

from reactor.resources.limits.kind import Limits

__all__ = ["Limits"]
