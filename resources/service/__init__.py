"""The kind `service`: whether a systemd unit runs, starts at boot, and is masked."""

from reactor.resources.service.kind import Service
from reactor.resources.service.state import UnitState

__all__ = ["Service", "UnitState"]
