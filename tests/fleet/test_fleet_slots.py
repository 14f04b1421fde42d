"""Slots on a real server, with the accounts of a fleet: never more than N, and no slot is lost with its holder."""

from functools import partial

import pytest
import trio
from nats_servers import PATIENCE
from slot_hosts import Crowd, slots_of

from reactor.fleet.bucket_names import SLOTS
from reactor.fleet.host.slots import FleetSlots
from reactor.fleet.link.errors import LinkError, WrongRevisionError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.slot_holder import Holder
from reactor.resource.common_properties import Slot

REF = "service#app"


class Waiting:
    """A host that asks for a slot in the background."""

    def __init__(self, nursery, slots, slot):
        self.reasons, self.permit = [], None
        self.told, self.admitted = trio.Event(), trio.Event()
        nursery.start_soon(self._admit, slots, slot)

    async def _admit(self, slots, slot):
        self.permit = await slots.admit(slot, REF, self._waits)
        self.admitted.set()

    def _waits(self, reason):
        self.reasons.append(reason)
        self.told.set()


async def admitted(slots, slot):
    with trio.fail_after(PATIENCE):
        return await slots.admit(slot, REF, lambda _: None)


async def test_the_next_one_is_admitted_by_the_hint_that_a_slot_is_free(fleet):
    slot = Slot(name="hint", at_most=1, lease="60s")
    async with slots_of(fleet, "web1", look=1000) as first, slots_of(fleet, "web2", look=1000) as second:
        permit = await admitted(first, slot)
        async with trio.open_nursery() as nursery:
            waiting = Waiting(nursery, second, slot)
            with trio.fail_after(PATIENCE):
                await waiting.told.wait()
                assert waiting.reasons == ["held by web1"]
                assert not waiting.admitted.is_set()
                await permit.release()
                await waiting.admitted.wait()
        assert waiting.permit.is_held
        await waiting.permit.release()


async def test_a_lease_in_use_is_renewed_and_that_of_a_dead_holder_ends(fleet):
    slot = Slot(name="death", at_most=1, lease="3s")
    async with slots_of(fleet, "web2", look=1000) as second, trio.open_nursery() as nursery:
        async with slots_of(fleet, "web1") as first:
            permit = await admitted(first, slot)
            permit.begin()
            waiting = Waiting(nursery, second, slot)
            await trio.sleep(4)
            assert permit.is_held
            assert not waiting.admitted.is_set()
        with trio.fail_after(PATIENCE):
            await waiting.admitted.wait()
        assert not permit.is_held or not waiting.permit.is_held, "both can't be sure of it"
        await waiting.permit.release()


async def test_no_host_can_end_or_take_over_the_lease_of_another(fleet):
    slot = Slot(name="thief", at_most=1, lease="60s")
    async with (
        slots_of(fleet, "web1") as first,
        slots_of(fleet, "web3") as third,
        fleet.connected("web2") as web2,
    ):
        permit = await admitted(first, slot)
        bucket = JetStream(web2.connection, seconds=0.4).key_value(SLOTS)
        for key in ("thief.0.web1", "thief.0", "thief.0.web1.web2"):
            for attack in (bucket.delete, partial(bucket.put, value=b"{}")):
                with pytest.raises(LinkError):
                    await attack(key)
        # What it may write is its own place in the queue: that neither ends nor frees the slot of another.
        await bucket.put("thief.0.web2", Holder("web2", REF, "t").to_bytes())
        await bucket.delete("thief.0.web2")
        async with trio.open_nursery() as nursery:
            waiting = Waiting(nursery, third, slot)
            with trio.fail_after(PATIENCE):
                await waiting.told.wait()
            assert waiting.reasons == ["held by web1"]
            await permit.renew()
            assert permit.is_held
            await permit.release()
            with trio.fail_after(PATIENCE):
                await waiting.admitted.wait()
        await waiting.permit.release()


async def test_a_holder_knows_that_people_took_its_slot_away(fleet):
    slot = Slot(name="taken", at_most=1, lease="60s")
    async with slots_of(fleet, "web1") as first, fleet.connected() as js:
        permit = await admitted(first, slot)
        await js.key_value(SLOTS).delete("taken.0.web1")
        with pytest.raises(WrongRevisionError):
            await permit.renew()
        assert not permit.is_held
        await permit.release()


async def test_a_clock_that_is_set_shortens_and_lengthens_no_lease(fleet):
    now = [1000.0]
    slot = Slot(name="clock", at_most=1, lease="60s")
    async with slots_of(fleet, "web1", clock=lambda: now[0]) as first:
        permit = await admitted(first, slot)
        now[0] += 59
        assert permit.is_held
        now[0] += 2
        assert not permit.is_held, "as after the sleep of a machine: nothing new begins"
        await permit.release()


async def test_while_the_servers_are_away_it_waits_or_proceeds_as_the_manifest_says(fleet):
    now = [0.0]

    def clock():
        now[0] += 2.0
        return now[0]

    slots = FleetSlots("web1", clock=clock)
    async with trio.open_nursery() as nursery:
        waiting = Waiting(nursery, slots, Slot(name="away"))
        with trio.fail_after(PATIENCE):
            permit = await admitted(slots, Slot(name="away", offline="proceed"))
            assert permit.is_held
            permit.begin()
            permit.end()
            await permit.release()
            await waiting.told.wait()
        assert waiting.reasons == ["the servers of the fleet do not answer: there is no connection"]
        assert not waiting.admitted.is_set()
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    "value",
    [b"", b"\x00\xff", b"[" * 50_000, b'{"host": "\\u001b[2J", "ref": 1, "token": 2}', b"x" * 500_000],
)
async def test_a_damaged_holder_holds_its_slot(fleet, value):
    slot = Slot(name="damaged", at_most=1, lease="60s")
    async with fleet.connected("mallory") as js, slots_of(fleet, "web1") as slots:
        await js.key_value(SLOTS).put("damaged.0.mallory", value)
        async with trio.open_nursery() as nursery:
            waiting = Waiting(nursery, slots, slot)
            with trio.fail_after(PATIENCE):
                await waiting.told.wait()
            assert waiting.reasons == ["held by mallory"]
            nursery.cancel_scope.cancel()


async def test_a_smaller_at_most_counts_the_holders_of_a_larger_one(fleet):
    old, new = (Slot(name="mixed", at_most=most, lease="60s") for most in (3, 2))
    async with slots_of(fleet, "web1") as slots:
        held = [await admitted(slots, old) for _ in range(3)]
        async with trio.open_nursery() as nursery:
            waiting = Waiting(nursery, slots, new)
            with trio.fail_after(PATIENCE):
                await waiting.told.wait()
                await held[0].release()
                with trio.move_on_after(0.5):
                    await waiting.admitted.wait()
                assert not waiting.admitted.is_set(), "two hold it still"
                await held[1].release()
                await waiting.admitted.wait()
        for permit in (held[2], waiting.permit):
            await permit.release()


async def test_each_group_has_slots_of_its_own(fleet):
    slot = Slot(name="groups", at_most=1, lease="60s", per="group")
    async with (
        slots_of(fleet, "web1", ["eu"]) as eu,
        slots_of(fleet, "web2", ["us"]) as us,
        slots_of(fleet, "web3", ["us", "eu"]) as both,
    ):
        held = [await admitted(eu, slot), await admitted(us, slot)]
        async with trio.open_nursery() as nursery:
            waiting = Waiting(nursery, both, slot)
            with trio.fail_after(PATIENCE):
                await waiting.told.wait()
                for permit in held:
                    assert not waiting.admitted.is_set()
                    await permit.release()
                await waiting.admitted.wait()
        await waiting.permit.release()
    async with fleet.connected() as js:
        assert await js.key_value(SLOTS).entries("groups=eu.>", "groups=us.>") == []


async def test_a_cancelled_wait_leaves_no_slot_behind(fleet):
    slot = Slot(name="cancelled", at_most=1, lease="60s")
    async with slots_of(fleet, "web1") as slots:
        for wait in (0.0, 0.001, 0.002, 0.004, 0.01):
            with trio.move_on_after(wait):
                permit = await slots.admit(slot, REF, lambda _: None)
                await permit.release()
        await (await admitted(slots, slot)).release()


async def test_a_host_can_neither_make_more_slots_nor_wipe_the_bucket(fleet):
    async with fleet.connected("mallory") as js:
        bucket = js.key_value(SLOTS)
        with pytest.raises(LinkError):
            await bucket.purge("hint.0.mallory")
        with pytest.raises(LinkError):
            await js.connection.request(f"$JS.API.STREAM.PURGE.{bucket.stream}", b"", seconds=1)


async def test_a_crowd_with_deaths_is_never_more_than_n_and_all_get_their_turn(fleet):
    crowd = Crowd(fleet, 30, 5, work=0.4, dying=0.1, seed=2)
    with trio.fail_after(PATIENCE):
        await crowd.run()
    assert crowd.most == 5
    assert crowd.deaths > 0
