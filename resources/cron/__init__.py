"""The kind ``cron``: one job of cron(8), in a file of its own or in the table of a user.

`schedule` parses times, `job` makes the lines, and `kind` holds the properties, with the types in `property_types`, and the plan.
"""

from reactor.resources.cron.kind import Cron

__all__ = ["Cron"]
