"""D-Bus on trio: one connection for the process to each bus, shared by watchers and kinds.

`bus` is the connection itself, `connections` makes it when it is first wanted, `matches` says which signals are heard,
`library` is the only module that imports a D-Bus library, and `errors` is what can go wrong.
"""

from watchers.dbus.bus import Bus
from watchers.dbus.connections import Scope, connect
from watchers.dbus.errors import CallError, NoBusError
from watchers.dbus.library import Message
from watchers.dbus.matches import Match, Subscription

__all__ = ["Bus", "CallError", "Match", "Message", "NoBusError", "Scope", "Subscription", "connect"]
