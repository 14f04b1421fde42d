"""The kind `service`: whether a systemd unit runs, starts at boot, and is masked.

`kind` holds the properties, `state` the observed state, and `planner` is the decision table. `systemd` is the
interface to systemd with two implementations, `systemd_dbus` (with its queries in `dbus_queries`) and `systemctl`.
`preflight` checks what a dry run can check. `unit_files`, `presets` and `sysv` read unit files, presets and init
scripts; `enabled_links` reads the links of enabled units, and `boot` says whether they are ever reached. `daemon_reload`
decides when systemd reloads its files, and `unit_errors` explains failures. Other kinds write units of their own with
`own_unit_files` and `unit_syntax`.
"""

from reactor.resources.service.kind import Service
from reactor.resources.service.state import UnitState

__all__ = ["Service", "UnitState"]
