"""The kind ``timezone``: the time zone of the host, which the link /etc/localtime says."""

from reactor.resources.timezone.kind import Timezone

__all__ = ["Timezone"]
