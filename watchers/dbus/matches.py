"""Subscriptions to signals, and the match rules that the bus needs for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reactor.watchers.dbus.wire import Message

DAEMON = "org.freedesktop.DBus"
"""The name of the bus itself, which no other program can have. Its signals can't be faked."""

RULES = 256
"""The most rules for single objects; further subscriptions use wide rules. dbus-daemon allows 512 for a connection."""


@dataclass(frozen=True, slots=True)
class Match:
    """The signals of one object, with this ``member`` and, if it is given, this first argument.

    The bus applies no rule to a signal that is sent to this process alone, so any program can fake one: treat a signal
    as a hint, and check; or compare its sender with that of an answer (`Question.sender`).
    """

    sender: str
    path: str
    interface: str
    member: str
    arg0: str | None = None

    @property
    def rule(self) -> str:
        """The rule for the bus."""
        return f"{self._common},path='{self.path}'" + (f",arg0='{self.arg0}'" if self.arg0 else "")

    @property
    def wide_rule(self) -> str:
        """A rule for the same signals of this object and all its siblings."""
        return f"{self._common},path_namespace='{self.path.rpartition('/')[0]}'"

    @property
    def _common(self) -> str:
        return f"type='signal',sender='{self.sender}',interface='{self.interface}',member='{self.member}'"

    def fits(self, message: Message) -> bool:
        """Whether ``message`` is this signal. The caller has compared the path already."""
        return (
            message.member == self.member
            and message.interface == self.interface
            and (self.sender != DAEMON or message.sender == DAEMON)
            and (self.arg0 is None or message.body[:1] == [self.arg0])
        )


class Subscription:
    """Calls ``handler`` with each signal that matches. ``handler`` must not raise."""

    __slots__ = ("_end", "handler", "match")

    def __init__(
        self, match: Match, handler: Callable[[Message], None], end: Callable[[Subscription], None]
    ) -> None:
        self.match = match
        self.handler = handler
        self._end = end

    def close(self) -> None:
        """End the subscription. Returns at once, and may be called again."""
        self._end(self)


class Router:
    """All subscriptions of one connection, with the rule that each of them needs."""

    def __init__(self) -> None:
        self._by_path: dict[str, list[Subscription]] = {}
        self._rule_of: dict[Subscription, str] = {}
        self._holders: dict[str, int] = {}

    def choose_rule(self, match: Match) -> tuple[str, bool]:
        """The rule for the signals of ``match``, and whether the bus has it already."""
        for rule in (match.rule, match.wide_rule):
            if rule in self._holders:
                return rule, True
        return match.rule if len(self._holders) < RULES else match.wide_rule, False

    def add(self, subscription: Subscription, rule: str) -> None:
        """Add a subscription that needs ``rule``."""
        self._by_path.setdefault(subscription.match.path, []).append(subscription)
        self._rule_of[subscription] = rule
        self._holders[rule] = self._holders.get(rule, 0) + 1

    def remove(self, subscription: Subscription) -> str | None:
        """Remove a subscription. Returns its rule if no other subscription needs it."""
        rule = self._rule_of.pop(subscription, None)
        if rule is None:
            return None
        path = subscription.match.path
        self._by_path[path].remove(subscription)
        if not self._by_path[path]:
            del self._by_path[path]
        self._holders[rule] -= 1
        if self._holders[rule]:
            return None
        del self._holders[rule]
        return rule

    def route(self, message: Message) -> None:
        """Call the handlers of all subscriptions that the signal matches."""
        for subscription in tuple(self._by_path.get(message.path, ())):
            if subscription.match.fits(message):
                subscription.handler(message)
