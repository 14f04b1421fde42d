"""D-Bus on trio: one connection for the process to each bus, shared by watchers and kinds.

`connections` opens each connection when it is first needed, `bus` is one connection, `matches` decides which signals
it gets, `transport` opens the socket and authenticates with a D-Bus library, `calls` writes messages, and `wire` reads
them.
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
