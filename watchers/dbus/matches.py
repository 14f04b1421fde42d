"""Which signals are wanted: match rules, held on the bus as long as somebody needs them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reactor.watchers.dbus.wire import Message

RULES = 256
"""So many rules for single objects; dbus-daemon allows a connection 512. Then wide ones take their place."""


@dataclass(frozen=True, slots=True)
class Match:
    """The signals of one object. ``member`` and ``arg0`` narrow them down.

    A signal sent to us alone passes no rule, so anybody can fake one: take it as a hint, and look for yourself.
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
        """A rule that also lets through the same signals of all objects beside this one."""
        return f"{self._common},path_namespace='{self.path.rpartition('/')[0]}'"

    @property
    def _common(self) -> str:
        return f"type='signal',sender='{self.sender}',interface='{self.interface}',member='{self.member}'"

    def fits(self, message: Message) -> bool:
        """Whether this is about the signal, whose path is known to be ours."""
        return (
            message.member == self.member
            and message.interface == self.interface
            and (self.arg0 is None or message.body[:1] == [self.arg0])
        )


class Subscription:
    """Somebody who wants certain signals. ``hear`` is called with each, and must not raise."""

    __slots__ = ("_end", "hear", "match")

    def __init__(
        self, match: Match, hear: Callable[[Message], None], end: Callable[[Subscription], None]
    ) -> None:
        self.match = match
        self.hear = hear
        self._end = end

    def close(self) -> None:
        """Hear no more. Returns at once, and may be called again."""
        self._end(self)


class Router:
    """All subscriptions of one connection, and which rule each of them holds."""

    def __init__(self) -> None:
        self._by_path: dict[str, list[Subscription]] = {}
        self._rule_of: dict[Subscription, str] = {}
        self._holders: dict[str, int] = {}

    def choose_rule(self, match: Match) -> tuple[str, bool]:
        """The rule by which the bus should let the signals through, and whether it has that already."""
        for rule in (match.rule, match.wide_rule):
            if rule in self._holders:
                return rule, True
        return match.rule if len(self._holders) < RULES else match.wide_rule, False

    def add(self, subscription: Subscription, rule: str) -> None:
        """Route to ``subscription``, which holds ``rule``."""
        self._by_path.setdefault(subscription.match.path, []).append(subscription)
        self._rule_of[subscription] = rule
        self._holders[rule] = self._holders.get(rule, 0) + 1

    def remove(self, subscription: Subscription) -> str | None:
        """Route to it no longer. Returns the rule that nobody holds any more, if there is one."""
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
        """Give a signal to all that want it."""
        for subscription in tuple(self._by_path.get(message.path, ())):
            if subscription.match.fits(message):
                subscription.hear(message)
