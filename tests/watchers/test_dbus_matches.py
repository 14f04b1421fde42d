"""Who gets a signal, and when the bus is asked to send it no more."""

import pytest
from dbus_next import Message as Written

from reactor.watchers.dbus import Match
from reactor.watchers.dbus.matches import RULES, Router, Subscription
from reactor.watchers.dbus.wire import Message

MATCH = Match("org.example", "/unit", "org.example.Unit", "Changed")


def signal(member="Changed", interface="org.example.Unit"):
    written = Written.new_signal("/unit", interface, member)
    written.serial = 1
    return Message(bytes(written._marshall()))


def subscribed(router, heard):
    subscription = Subscription(MATCH, heard.append, router.remove)
    rule, _ = router.choose_rule(MATCH)
    router.add(subscription, rule)
    return subscription


def test_a_rule_is_held_until_the_last_who_shares_it_has_gone():
    router = Router()
    first, second = subscribed(router, []), subscribed(router, [])
    assert router.choose_rule(MATCH) == (MATCH.rule, True)
    assert router.remove(first) is None
    assert router.remove(first) is None
    assert router.choose_rule(MATCH) == (MATCH.rule, True)
    assert router.remove(second) == MATCH.rule
    assert router.choose_rule(MATCH) == (MATCH.rule, False)


@pytest.mark.parametrize(
    ("other", "is_heard"),
    [({}, True), ({"member": "Broken"}, False), ({"member": "Dropped"}, False)]
    + [({"interface": f"org.example.{name}"}, False) for name in ("Job", "Zone")],
)
def test_only_the_signal_that_was_asked_for_is_noticed(other, is_heard):
    heard = []
    router = Router()
    subscribed(router, heard)
    message = signal(**other)
    router.route(message)
    assert heard == [message] * is_heard


def test_when_the_rules_for_single_objects_are_used_up_their_siblings_share_one():
    router = Router()
    matches = [
        Match("org.example", f"/{number}/unit", "org.example.Unit", "Changed") for number in range(300)
    ]
    chosen = []
    for match in matches:
        rule, is_known = router.choose_rule(match)
        assert not is_known
        router.add(Subscription(match, lambda _: None, router.remove), rule)
        chosen.append(rule)
    assert chosen[:RULES] == [match.rule for match in matches[:RULES]]
    assert chosen[RULES:] == [match.wide_rule for match in matches[RULES:]]
    sibling = Match("org.example", "/299/other", "org.example.Unit", "Changed")
    assert router.choose_rule(sibling) == (matches[299].wide_rule, True)
