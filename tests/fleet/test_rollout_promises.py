"""The promises of a rollout, in random worlds: `rollout_world` has the oracle, `rollout_steps.py` plays it for longer."""

import pytest
import rollout_steps
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from rollout_world import COMMANDS, WAVES, BreachError, Host, World, gates

from reactor.fleet.rollout import conditions
from reactor.fleet.rollout import step as step_module

numbers = st.integers(0, 7)


class RolloutLife(RuleBasedStateMachine):
    """Every way in which hosts, drivers, people and the network may take turns."""

    @initialize(size=st.integers(1, 8), waves=st.sampled_from(WAVES), data=st.data())
    def build(self, size, waves, data):
        gate = gates(lambda choices: data.draw(st.sampled_from(choices)))
        self.world = World(size, gate, waves)

    def host(self, number) -> Host:
        return self.world.hosts[number % len(self.world.hosts)]

    @rule(number=numbers, behind=st.sampled_from((0, 0, 1, 3)))
    def a_host_reads_the_channel(self, number, behind):
        self.world.read(self.host(number), behind)
        self.world.check()

    @rule(number=numbers)
    def a_host_settles_and_reports(self, number):
        self.world.settle(self.host(number))
        self.world.report(self.host(number))

    @rule(number=numbers, up=st.booleans())
    def a_host_is_cut_off_or_back(self, number, up):
        self.host(number).reachable = up

    @rule(number=numbers, name=st.sampled_from(("faulty", "refuses", "excluded")), ahead=st.integers(0, 1))
    def a_host_will_fail_with_a_release(self, number, name, ahead):
        setattr(self.host(number), name, frozenset({self.world.state.serial + ahead}))

    @rule(number=numbers, held=st.booleans())
    def a_host_is_held_or_free(self, number, held):
        self.host(number).held = held

    @rule(number=st.integers(0, 1), fresh=st.booleans(), leads=st.booleans())
    def a_driver_decides(self, number, fresh, leads):
        driver = self.world.drivers[number]
        if leads:
            self.world.lead(driver)
        self.world.drive(driver, fresh=fresh)
        self.world.check()

    @rule(number=st.integers(0, 1))
    def a_driver_reads_and_is_delayed(self, number):
        self.world.driver_reads(self.world.drivers[number])

    @rule(seconds=st.sampled_from((1.0, 61.0, 400.0)))
    def time_passes(self, seconds):
        self.world.now += seconds

    @rule(act=st.sampled_from(COMMANDS))
    def a_person_acts(self, act):
        self.world.people(act)
        self.world.check()

    @rule(waves=st.sampled_from(WAVES))
    def a_new_release_begins(self, waves):
        self.world.begin(waves)
        self.world.check()

    def teardown(self):
        if hasattr(self, "world"):
            self.world.finish()


TestRolloutLife = RolloutLife.TestCase
TestRolloutLife.settings = settings(max_examples=20, stateful_step_count=30)


def test_random_lives_break_no_promise_and_see_everything():
    made, seen = 0, rollout_steps.Counter()
    for number in range(40):
        steps, events, breach = rollout_steps.live(f"ci-{number}")
        assert breach is None, f"ci-{number}: {breach}"
        made, seen = made + steps, seen + events
    assert made > 5_000
    for what in (
        "old",
        "rolling to reverting",
        "rolling to halted",
        "reverting to reverted",
        "rolling to done",
    ):
        assert seen[what], what


def breaches():
    return {breach for number in range(15) if (breach := rollout_steps.live(f"ci-{number}")[2])}


def test_the_oracle_finds_a_driver_that_halts_too_late(monkeypatch):
    monkeypatch.setattr(step_module, "too_many_failed", lambda state, count: None)
    assert any("halts exactly above the limit" in each for each in breaches())


def test_the_oracle_finds_a_driver_that_does_not_wait(monkeypatch):
    monkeypatch.setattr(step_module, "unmet_condition", lambda state, count, now: None)
    assert any("below the gate" in each for each in breaches())


def test_the_oracle_finds_a_store_that_ignores_the_revision(monkeypatch):
    honest = World.write
    monkeypatch.setattr(World, "write", lambda self, new, _: honest(self, new, self.revision))
    assert any("newest revision" in each for each in breaches())


def test_the_oracle_finds_hosts_that_take_a_release_outside_their_wave(monkeypatch):
    monkeypatch.setattr("rollout_world.desired_release", _always_the_release)
    assert any("outside the wave" in each for each in breaches())


def _always_the_release(state, **_):
    from reactor.fleet.rollout.desired_release import DesiredRelease  # noqa: PLC0415 - the name in the world is replaced

    return DesiredRelease(state.release, "")


def test_a_breach_names_its_promise():
    world = World(1)
    with pytest.raises(BreachError, match="every world is round"):
        world._promise(False, "every world is round")
    assert conditions.count_wave(world.state, world.views(world.state)).hosts == 1
