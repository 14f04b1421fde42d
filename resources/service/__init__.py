"""The kind `service`: whether a systemd unit runs, starts at boot, and is masked."""

from resources.service.kind import Service
from resources.service.state import UnitState

__all__ = ["Service", "UnitState"]
