"""The kind ``timer``: a command that systemd runs at set times: service unit, timer unit and enabling as one.

`calendar` checks calendar events, `unit_text` makes the unit files, and `kind` holds the properties and the plan.
"""

from reactor.resources.timer.kind import Timer

__all__ = ["Timer"]
