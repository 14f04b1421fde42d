"""The kinds ``user`` and ``group``: the accounts in the account files of this host.

`group` and `user` are the kinds; `user_properties` holds the properties of a user, `property_types` the types of those
of both. `database` reads the files into the state (`user_state`). `planner` is the decision table of a user,
`passwords` its part about passwords, `skeleton` that about the home, and `memberships` what both kinds plan.
`preflight` checks what a dry run can check, `homes` who could redirect the path of a home, and `undoing` undoes a
change. `lasting` says what a proven run compares. `numbers` chooses those of new accounts, and `commands` changes
accounts with useradd(8), groupadd(8) and the other programs of the shadow suite.
"""

from reactor.resources.accounts.group import Group
from reactor.resources.accounts.user import User

__all__ = ["Group", "User"]
