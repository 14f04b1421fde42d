"""D-Bus on trio: one connection for the process to each bus, shared by watchers and kinds.

`bus` is the connection itself, `connections` makes it when it is first wanted, `matches` says which signals are heard,
`opening` finds the bus and says who we are, `wire` reads messages, `library` is the only module that imports a D-Bus
library, and `errors` is what can go wrong.
"""

from reactor.watchers.dbus.bus import PROPERTIES, Bus, Question
from reactor.watchers.dbus.connections import Scope, connect
from reactor.watchers.dbus.matches import Match, Subscription
from reactor.watchers.dbus.transport import CallError, NoBusError
from reactor.watchers.dbus.wire import Message

__all__ = [
    "PROPERTIES", "Bus", "CallError", "Match", "Message", "NoBusError", "Question", "Scope",
    "Subscription", "connect",
]  # fmt: skip
