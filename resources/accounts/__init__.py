"""The kinds ``user`` and ``group``: the accounts in the files of this host.

`database` reads the files, `shadow` changes them with the programs of the shadow suite, `group` and `user` hold the
properties, `planner` is the decision table of a user, and `membership` is what both do about who is in what.
"""

from reactor.resources.accounts.group import Group
from reactor.resources.accounts.user import User

__all__ = ["Group", "User"]
