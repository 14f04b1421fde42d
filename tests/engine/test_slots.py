"""Resources with a slot: they change the host only while the gate admits them, and nothing else waits for them."""

import math
from functools import partial

import pytest
import trio
import trio.testing
from local_gate import HOLDER, LocalGate
from pydantic import ValidationError

from reactor.control.status_table import RunFacts, StatusTable
from reactor.engine.events import Checked, Ended, Result, SlotWaited
from reactor.engine.options import RunOptions
from reactor.resource.common_properties import Slot
from reactor.resource.health import HealthCheck
from reactor.testing.scripted import scripted
from reactor.testing.story import converge_once, graph_of, running

SLOT = {"name": "restart", "at_most": 1}


async def test_a_free_slot_is_taken_before_the_change_and_given_back_after_it(autojump_clock):
    gate, a = LocalGate(), scripted("a", slot=SLOT)
    ended, story = await converge_once(a, slot_gate=gate)
    assert ended.counts["changed"] == 1
    assert (gate.admitted, gate.holders) == (["scripted#a"], [])
    assert story.all(SlotWaited) == [], "nobody waited"
    assert [check.actions for check in story.checks("scripted#a")] == [("repaired",)]


async def test_what_is_as_desired_asks_for_no_slot(autojump_clock):
    gate = LocalGate(taken=1)
    ended, _ = await converge_once(scripted("a", drifted=False, slot=SLOT), slot_gate=gate)
    assert ended.counts["ok"] == 1
    assert gate.admitted == []


async def test_while_it_waits_its_dependants_wait_and_all_else_goes_on(autojump_clock):
    gate = LocalGate(taken=1)
    a = scripted("a", slot=SLOT)
    below, other = scripted("below", require=["scripted#a"]), scripted("other")
    async with running(a, below, other, slot_gate=gate) as story:
        await story.until(lambda: story.all(SlotWaited) and story.checks("scripted#other"))
        await trio.testing.wait_all_tasks_blocked()
        assert a.script.applies == []
        assert below.script.checks == []
        other.script.drifted = True
        story.drift("scripted#other")
        await story.until(lambda: len(story.checks("scripted#other")) == 2)
        assert story.checks("scripted#a") == [], "a wait is no result"
        gate.free()
        await story.converged()
    assert len(a.script.applies) == len(below.script.applies) == 1
    assert gate.holders == []


async def test_waiting_uses_no_job(autojump_clock):
    gate, resources = LocalGate(taken=1), [scripted(f"a{i}", slot=SLOT) for i in range(20)]
    async with running(
        *resources,
        scripted("other"),
        options=RunOptions(watch=True, audit_interval=None, jobs=2),
        slot_gate=gate,
    ) as story:
        await story.until(lambda: len(story.all(SlotWaited)) == 20 and story.checks("scripted#other"))
        gate.free()
        await story.converged()
    assert gate.most == 1
    assert sorted(gate.admitted) == sorted(each.ref for each in resources)


async def test_the_host_is_looked_at_again_after_the_wait(autojump_clock):
    gate, a = LocalGate(taken=1), scripted("a", slot=SLOT)
    async with running(a, slot_gate=gate) as story:
        await story.until(lambda: story.all(SlotWaited))
        a.script.drifted = False  # somebody repaired it meanwhile
        gate.free()
        await story.converged()
        await trio.testing.wait_all_tasks_blocked()
        assert a.script.applies == []
        assert gate.holders == []
        assert story.result("scripted#a") is Result.OK


async def test_a_refresh_survives_the_wait(autojump_clock):
    gate, a = LocalGate(taken=1), scripted("a")
    b = scripted("b", drifted=False, subscribe=["scripted#a"], slot=SLOT)
    async with running(a, b, slot_gate=gate) as story:
        await story.until(lambda: story.all(SlotWaited))
        assert b.script.refreshes == []
        gate.free()
        await story.converged()
    assert len(b.script.refreshes) == 1


async def test_a_failure_gives_the_slot_back_unless_it_should_be_kept(autojump_clock):
    async def fail():
        raise OSError("no")

    for keep in (False, True):
        gate, a = LocalGate(), scripted("a", slot={**SLOT, "keep_on_failure": keep}, meta={"retry": 0})
        a._repair = fail
        ended, _ = await converge_once(a, slot_gate=gate)
        assert ended.counts["failed"] == 1
        assert len(gate.holders) == keep


async def test_a_retry_with_a_kept_slot_asks_for_no_other(autojump_clock):
    gate, a = LocalGate(), scripted("a", slot={**SLOT, "keep_on_failure": True})
    tries, repair = [], a._repair

    async def fail_once():
        tries.append(len(gate.holders))
        if len(tries) == 1:
            raise OSError("no")
        await repair()

    a._repair = fail_once
    async with running(a, slot_gate=gate) as story:
        await story.converged()
        await trio.testing.wait_all_tasks_blocked()
    assert tries == [1, 1]
    assert gate.admitted == ["scripted#a"]
    assert gate.holders == []


async def test_a_bad_health_check_counts_as_a_failure():
    check = HealthCheck.model_validate({"command": "/bin/false", "tries": 1})
    gate = LocalGate()
    a = scripted("a", slot={**SLOT, "keep_on_failure": True}, health_checks=[check], meta={"retry": 0})
    ended, _ = await converge_once(a, slot_gate=gate)
    assert ended.counts["failed"] == 1
    assert [permit.ref for permit in gate.holders] == ["scripted#a"]


async def test_a_slot_that_was_lost_before_the_change_begins_nothing(autojump_clock):
    gate, a = LocalGate(), scripted("a", takes=1, slot=SLOT)
    async with running(a, slot_gate=gate) as story:
        await a.script.begun(2)
        gate.holders[0].lose()
        gate.taken = 1
        await story.until(lambda: story.all(SlotWaited))
        assert a.script.applies == []
        gate.free()
        await story.converged()
    assert len(a.script.applies) == 1


async def test_what_leaves_the_manifest_waits_no_longer(autojump_clock):
    gate, a = LocalGate(taken=1), scripted("a", slot=SLOT)
    async with running(a, scripted("b"), slot_gate=gate) as story:
        await story.until(lambda: story.all(SlotWaited))
        story.engine.reload(graph_of([scripted("b")]))
        await story.converged()
        gate.free()
        await trio.testing.wait_all_tasks_blocked()
    assert gate.admitted == []
    assert a.script.applies == []


async def test_a_new_version_without_the_slot_goes_on_at_once(autojump_clock):
    gate, new = LocalGate(taken=1), scripted("a")
    async with running(scripted("a", slot=SLOT), slot_gate=gate) as story:
        await story.until(lambda: story.all(SlotWaited))
        story.engine.reload(graph_of([new]))
        await story.converged()
    assert len(new.script.applies) == 1
    assert gate.admitted == []


async def test_a_stop_ends_the_wait_and_gives_back_what_is_held(autojump_clock):
    gate, a, b = LocalGate(), scripted("a", slot=SLOT), scripted("b", slot=SLOT)
    a._repair = b._repair = partial(trio.sleep, 5)
    async with running(a, b, slot_gate=gate) as story:
        await story.until(lambda: story.all(SlotWaited))
        story.engine.stop()
        await story.until(lambda: story.all(Ended))
    assert gate.holders == []
    assert len(gate.admitted) == 1


async def test_a_cancelled_run_gives_back_what_it_holds(autojump_clock):
    gate, a = LocalGate(), scripted("a", slot=SLOT)

    async def endless():
        a.script.applies.append(0)
        await trio.sleep_forever()

    a._repair = endless
    async with running(a, slot_gate=gate):
        while not a.script.applies:
            await trio.testing.wait_all_tasks_blocked()
    assert gate.holders == []


async def test_the_timeout_of_a_resource_does_not_count_the_wait(autojump_clock):
    gate, a = LocalGate(taken=1), scripted("a", slot=SLOT, meta={"timeout": "5s"})
    async with running(a, slot_gate=gate) as story:
        await story.until(lambda: story.all(SlotWaited))
        await trio.sleep(60)
        gate.free()
        await story.converged()
    assert len(a.script.applies) == 1


async def test_a_gate_with_a_bug_does_not_end_the_run(autojump_clock):
    class Broken(LocalGate):
        async def admit(self, slot, ref, waits):
            if self.taken:
                self.taken = 0
                raise KeyError("a bug")
            return await super().admit(slot, ref, waits)

    gate, a = Broken(taken=1), scripted("a", slot=SLOT)
    async with running(a, slot_gate=gate) as story:
        await story.converged()
    assert [event.reason for event in story.all(SlotWaited)] == ["asking for it failed: KeyError: 'a bug'"]
    assert len(a.script.applies) == 1


@pytest.mark.parametrize("noop", [False, True])
async def test_without_a_fleet_a_slot_is_a_failure_of_this_resource_alone(autojump_clock, noop):
    a, other = scripted("a", slot=SLOT, meta={"retry": 0}), scripted("other")
    ended, story = await converge_once(a, other, options=RunOptions(noop=noop))
    failed, *_ = story.checks("scripted#a")
    assert (failed.result, failed.code) == (Result.FAILED, "R0510")
    assert failed.error == "it needs the slot restart, and this run belongs to no fleet"
    assert ended.counts["would_change" if noop else "changed"] == 1
    assert a.script.applies == []


async def test_without_a_fleet_it_proceeds_where_the_manifest_allows_that(autojump_clock):
    a = scripted("a", slot={**SLOT, "offline": "proceed"})
    ended, _ = await converge_once(a)
    assert ended.counts["changed"] == 1


async def test_a_dry_run_takes_no_slot(autojump_clock):
    gate = LocalGate(taken=1)
    ended, _ = await converge_once(scripted("a", slot=SLOT), options=RunOptions(noop=True), slot_gate=gate)
    assert ended.counts["would_change"] == 1
    assert gate.admitted == []


async def test_the_status_says_what_it_waits_for(autojump_clock):
    gate = LocalGate(taken=1)
    table = StatusTable(RunFacts("site.yaml", 1, 0.0, noop=False), ["scripted#a"])
    async with running(scripted("a", slot=SLOT), slot_gate=gate) as story:
        await story.until(lambda: story.all(SlotWaited))
        for event in story.events:
            table(event)
        status = table.resource_statuses["scripted#a"]
        assert (status.state, status.waited.reason) == ("waiting", f"held by {HOLDER}")
        assert not status.is_ok(math.inf)
        gate.free()
        await story.converged()
    for event in story.all(Checked):
        table(event)
    assert status.state == "changed"


async def test_many_resources_of_one_host_share_the_slots_too(autojump_clock):
    gate = LocalGate()
    resources = [scripted(f"a{i}", takes=0.1, slot={"name": "x", "at_most": 3}) for i in range(30)]
    ended, _ = await converge_once(*resources, slot_gate=gate)
    assert ended.counts["changed"] == 30
    assert gate.most <= 3


@pytest.mark.parametrize(
    ("wrong", "at"),
    [
        ({"name": "app restart"}, ("name",)),
        ({"name": "app.restart"}, ("name",)),
        ({"name": "*"}, ("name",)),
        ({"name": ">"}, ("name",)),
        ({"name": "eu=app"}, ("name",)),
        ({"name": "a" * 64}, ("name",)),
        ({"name": "a\n"}, ("name",)),
        ({"at_most": 0}, ("at_most",)),
        ({"at_most": 100_000}, ("at_most",)),
        ({"lease": "1s"}, ("lease",)),
        ({"leas": "9s"}, ("leas",)),
    ],
)
def test_a_wrong_slot_is_an_error_at_load(wrong, at):
    with pytest.raises(ValidationError) as raised:
        Slot.model_validate({**SLOT, **wrong})
    assert [each["loc"] for each in raised.value.errors()] == [at]


def test_a_manifest_in_a_manifest_has_no_slot_of_its_own(manifest, reactor):
    inner = manifest("resources: []\n", "inner.yaml")
    done = reactor("validate", manifest(f"resources:\n  - apply:\n      - {inner}: {{slot: {{name: x}}}}\n"))
    assert done.code == 2
    assert "apply changes nothing itself" in done.err + done.out
