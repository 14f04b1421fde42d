"""The kinds ``user`` and ``group``: the accounts in the account files of this host.

`group` and `user` hold the properties, and `property_types` their types. `database` reads the files. `planner` is the
decision table of a user, with the memberships of both kinds, and `passwords` its part about passwords. `preflight`
checks what a dry run can check, and `lasting` says what a proven run compares. `commands` changes accounts with useradd(8), groupadd(8) and the other programs of the
shadow suite.
"""

from reactor.resources.accounts.group import Group
from reactor.resources.accounts.user import User

__all__ = ["Group", "User"]
