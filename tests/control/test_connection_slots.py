"""Who gives up a place when all are taken."""

from reactor.control.connection_slots import ConnectionSlots

ADA, EVE, BOB = ("user", 1), ("user", 2), ("host", "192.0.2.1")


async def test_the_peer_with_the_most_gives_up_its_oldest():
    places = ConnectionSlots(4)
    ada = places.take(ADA, admitted=False)
    eves = [places.take(EVE, admitted=False) for _ in range(3)]
    bob = places.take(BOB, admitted=False)
    assert [each.scope.cancel_called for each in (ada, *eves, bob)] == [False, True, False, False, False]


async def test_those_who_have_shown_nothing_go_before_those_who_may_ask():
    places = ConnectionSlots(2)
    known, stranger = places.take(ADA, admitted=True), places.take(EVE, admitted=False)
    stranger.work()
    places.take(BOB, admitted=False)
    assert (known.scope.cancel_called, stranger.scope.cancel_called) == (False, True)


async def test_of_one_peer_those_without_a_request_go_first():
    places = ConnectionSlots(2)
    asking, idle = places.take(EVE, admitted=False), places.take(EVE, admitted=False)
    asking.work()
    places.take(EVE, admitted=False)
    assert (asking.scope.cancel_called, idle.scope.cancel_called) == (False, True)


async def test_an_idle_one_who_may_ask_yields_and_a_busy_one_never():
    places = ConnectionSlots(2)
    busy, idle = places.take(ADA, admitted=True), places.take(ADA, admitted=True)
    busy.work()
    other = places.take(ADA, admitted=True)
    assert (busy.scope.cancel_called, idle.scope.cancel_called) == (False, True)
    other.work()
    assert places.take(BOB, admitted=False) is None
    places.give_back(busy)
    assert places.take(BOB, admitted=False) is not None
