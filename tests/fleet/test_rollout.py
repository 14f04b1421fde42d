"""What people write for a rollout, and what they may do to it."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from reactor.fleet.documents import DocumentError
from reactor.fleet.rollout import commands
from reactor.fleet.rollout.commands import Author, NewRelease, RolloutError
from reactor.fleet.rollout.desired_release import HostOverride, desired_release
from reactor.fleet.rollout.gate import Gate, Share
from reactor.fleet.rollout.hosts import HostPhase, HostView, on_server_clock
from reactor.fleet.rollout.rank import rank_of
from reactor.fleet.rollout.state import ChannelState, Phase
from reactor.fleet.rollout.step import next_step
from reactor.fleet.rollout.waves import WavesError, next_wave, parse_waves
from reactor.fleet.rollout.windows import is_open, parse_windows

NEW, OLD, OLDER = ("sha256-" + letter * 64 for letter in "abc")
ANN = Author("ann", 1000.0, "because")


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def rolling(**changes):
    state = ChannelState("web", NEW, 42, OLD, 100, (100, 1000, 10_000), Phase.ROLLING, since=1000.0)
    return replace(state, **changes)


def host(number, phase=HostPhase.CONVERGED, **changes):
    view = HostView(f"h{number}", 5, 1100.0, NEW, NEW, phase, 1100.0)
    return replace(view, **changes)


def step(state, hosts, now=5000.0):
    return next_step(state, hosts, now, "ben")


def test_a_rank_is_the_first_eight_bytes_of_a_hash_and_another_one_in_the_next_release():
    assert rank_of("web", 42, "web7") == 3178
    assert rank_of("web", 43, "web7") == 9457
    assert rank_of("web", 42, "web7", is_canary=True) == 0
    ranks = [rank_of("web", 1, f"h{number}") for number in range(2000)]
    assert all(150 < sum(low <= rank < low + 1000 for rank in ranks) < 250 for low in range(0, 10_000, 1000))


@pytest.mark.parametrize(
    ("text", "waves"),
    [
        ("100%", (10_000,)),
        ("1,10%,50%,100%", (8, 1000, 5000, 10_000)),
        ("2,100%", (21, 10_000)),
        ("3,99.5%,100%", (9001, 9950, 10_000)),
        ("50", (10_000,)),
        ("0.01%,100%", (1, 10_000)),
        ("3,10%,50%,100%", (9001, 10_000)),
    ],
)
def test_waves_are_counts_of_known_hosts_or_shares(text, waves):
    assert parse_waves(text, [9000, 7, 20]) == waves


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("10%", "do not reach every host"),
        ("50%,10%,100%", "do not grow"),
        ("2,1,100%", "do not grow"),
        ("0,100%", "'0' is not the size"),
        ("0%,100%", "'0%' is not the size"),
        ("101%", "'101%' is not the size"),
        ("", "'' is not the size"),
        ("all", "'all' is not the size"),
    ],
)
def test_waves_written_wrong_are_refused(text, words):
    with pytest.raises(WavesError, match=words):
        parse_waves(text, [1, 2])


def test_after_the_last_wave_there_is_none():
    assert next_wave((100, 10_000), 100) == 10_000
    assert next_wave((100, 10_000), 10_000) is None


@pytest.mark.parametrize(
    ("text", "now", "is_inside"),
    [
        ("Mon-Thu 09:00-16:00 Europe/Vienna", "2026-01-27T08:00", True),  # a Tuesday, 09:00 there
        ("Mon-Thu 09:00-16:00 Europe/Vienna", "2026-01-27T07:59", False),
        ("Mon-Thu 09:00-16:00 Europe/Vienna", "2026-07-28T07:00", True),  # summer time
        ("Mon-Thu 09:00-16:00 Europe/Vienna", "2026-01-30T10:00", False),  # a Friday
        ("Mon-Thu 09:00-16:00", "2026-01-27T16:00", False),
        ("Sun 22:00-04:00", "2026-02-01T23:00", True),
        ("Sun 22:00-04:00", "2026-02-02T03:59", True),  # the Monday after
        ("Sun 22:00-04:00", "2026-02-01T03:00", False),
        ("Sat-Mon 10:00-11:00", "2026-02-02T10:30", True),
        ("Mon,Wed-Thu 10:00-11:00", "2026-02-03T10:30", False),
        ("00:00-24:00", "2026-02-03T10:30", True),
        ("Mon 10:00-11:00; Tue 10:00-11:00", "2026-02-03T10:30", True),
    ],
)
def test_a_window_is_open_at_its_times_only(text, now, is_inside):
    assert is_open(parse_windows(text), at(now)) is is_inside


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("always", "'always' is not a time window"),
        ("Mon 9-17", "not a time window"),
        ("Mon 25:00-26:00", "25:00 in"),
        ("Mon 10:60-11:00", "10:60 in"),
        ("Foo 10:00-11:00", "'Foo' in .* is not a day"),
        ("Mon-Fri-Sun 10:00-11:00", "not a day of the week"),
        ("Mon 10:00-11:00 Mars/Base", "the time zone 'Mars/Base' is not known"),
        ("Mon 10:00-11:00 ../../etc/passwd", "time zone"),
    ],
)
def test_windows_written_wrong_are_refused(text, words):
    with pytest.raises(WavesError, match=words):
        parse_windows(text)


@pytest.mark.parametrize(
    ("text", "hosts", "tolerated"),
    [("2%", 10, 0), ("2%", 50, 1), ("2%", 51, 1), ("2%", 49, 0), ("1%", 60, 1), ("0%", 1000, 0), ("3", 10, 3), ("2%", 1000, 20)],
)  # fmt: skip
def test_a_share_tolerates_one_host_only_above_fifty(text, hosts, tolerated):
    assert Share(text).tolerated(hosts) == tolerated


def test_a_share_is_needed_rounded_up():
    assert [Share("95%").needed(hosts) for hosts in (0, 1, 19, 20, 100)] == [0, 1, 19, 19, 95]
    assert Share("3").needed(2) == 2
    for wrong in ("101%", "-1", "2 %", "many"):
        with pytest.raises(WavesError, match="not a number of hosts"):
            Share(wrong)


def test_a_state_is_read_as_it_was_written():
    gate = Gate(60.0, Share("3"), checks=("http",), window="Mon 10:00-11:00", approve=(1000,), on_halt="stay")
    state = rolling(gate=gate, since=1700000000.25, why="ö", previous=None)
    assert ChannelState.from_bytes(state.to_bytes(), "web") == state


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"v": 2}, "version 2"),
        ({"channel": "db"}, "is that of 'db'"),
        ({"release": "../x"}, "'release' .* is not sha256-"),
        ({"wave": 10_001}, "'wave' .* is 10001, not between 0 and 10000"),
        ({"wave": True}, "'wave' .* is not an integer"),
        ({"waves": [100]}, "do not rise to 10000"),
        ({"waves": [5, 3, 10_000]}, "do not rise to 10000"),
        ({"waves": []}, "do not rise to 10000"),
        ({"state": "running"}, "'state' .* is 'running', not one of rolling, paused"),
        ({"since": "yesterday"}, "not a time such as"),
        ({"gate": []}, "'gate' .* is not an object"),
    ],
)
def test_a_damaged_state_is_refused(change, words):
    from reactor.fleet.documents import canonical  # noqa: PLC0415

    with pytest.raises(DocumentError, match=words):
        ChannelState.from_bytes(canonical(rolling().to_fields() | change), "web")


def test_a_wave_soaks_from_its_last_converged_host_and_then_the_next_begins():
    hosts = [host(1), host(2, since=4000.0)]
    assert step(rolling(), hosts, now=4299.0).why == "the wave soaks for 1 s more"
    new = step(rolling(), hosts, now=4300.0).state
    assert (new.wave, new.since, new.by) == (1000, 4300.0, "ben")
    assert new.why == "wave 1 % is good: 2 of 2 hosts have converged"


def test_a_wave_waits_for_silent_hosts_and_for_those_that_move():
    found = step(rolling(), [host(1), host(2, heard=999.0)])
    assert found.why == "1 of 2 hosts have not reported since the wave began, and 0 may be silent"
    found = step(rolling(), [host(1), host(2, HostPhase.MOVING)])
    assert found.why == "1 of 2 hosts have converged, and 2 must"
    assert step(rolling(), [host(1), host(2, in_force=OLD)]).state is None


def test_too_many_failures_take_a_small_wave_back_also_while_it_soaks():
    new = step(
        rolling(), [host(1, HostPhase.FAILED), host(2, HostPhase.REJECTED, in_force=OLD)], now=1100.0
    ).state
    assert (new.phase, new.wave) == (Phase.REVERTING, 0)
    assert (
        new.why == "2 of 2 hosts failed (h1, h2), and 0 are tolerated; hosts go back to the previous release"
    )


@pytest.mark.parametrize(
    ("changes", "phase"),
    [
        ({"wave": 5000}, Phase.HALTED),
        ({"gate": Gate(on_halt="stay")}, Phase.HALTED),
        ({"wave": 10_000, "gate": Gate(on_halt="revert")}, Phase.REVERTING),
        ({"previous": None}, Phase.HALTED),
    ],
)
def test_a_large_wave_and_a_first_release_stay_for_people(changes, phase):
    assert step(rolling(**changes), [host(1, HostPhase.FAILED)]).state.phase is phase


def test_hosts_that_are_held_or_excluded_are_counted_by_no_gate():
    hosts = [host(1), host(2, HostPhase.HELD, in_force=OLD), host(3, HostPhase.EXCLUDED, in_force=OLD)]
    assert step(rolling(), hosts).state.why == "wave 1 % is good: 1 of 1 hosts have converged"


def test_a_failed_host_that_falls_silent_stays_failed():
    assert step(rolling(), [host(1, HostPhase.FAILED, heard=5.0)]).state.phase is Phase.REVERTING


def test_a_failure_with_another_release_is_not_one_of_this():
    found = step(rolling(), [host(1, HostPhase.FAILED, in_force=OLD, about=OLD)])
    assert found.state is None
    assert found.why == "0 of 1 hosts have converged, and 1 must"


def test_named_checks_must_be_ok():
    state = rolling(gate=Gate(checks=("http",)))
    assert step(state, [host(1)]).state is None
    assert step(state, [host(1, checks={"http": "critical"})]).state is None
    assert step(state, [host(1, checks={"http": "ok"})]).state.wave == 1000


def test_a_wave_waits_for_approval_and_for_its_window():
    state = rolling(gate=Gate(approve=(1000,)))
    assert step(state, [host(1)]).why == "wave 10 % needs approval: reactor fleet approve web"
    assert step(commands.approve(state, ANN), [host(1)]).state.wave == 1000
    state = rolling(gate=Gate(window="Mon 10:00-11:00"))  # 1970 began on a Thursday
    assert step(state, [host(1)]).why == "the next wave waits for the window Mon 10:00-11:00"
    monday = at("1970-01-05T10:30")
    assert step(state, [host(1, heard=monday, since=monday - 999)], now=monday).state.wave == 1000


def test_the_last_wave_is_done_when_it_is_good():
    assert step(rolling(wave=10_000), [host(1)]).state.phase is Phase.DONE
    assert step(rolling(wave=10_000, gate=Gate(approve=(10_000,))), [host(1)]).state.phase is Phase.DONE


def test_a_revert_ends_when_no_host_has_the_release():
    state = rolling(phase=Phase.REVERTING, wave=0)
    assert step(state, [host(1)]).why == "1 host still has the release"
    assert "did not report since the revert" in step(state, [host(1, heard=5.0)]).why
    assert step(state, [host(1, HostPhase.MOVING, in_force=OLD)]).state is None
    ended = step(state, [host(1, in_force=OLD, about=OLD)])
    assert ended.state.phase is Phase.REVERTED
    assert ended.why == ended.state.why == "no host that has reported since has release 42"
    assert step(replace(state, why="slow"), [host(1, in_force=OLD, about=OLD)]).why == "slow"
    assert step(state, [host(1, HostPhase.REJECTED, in_force=OLD)]).state.phase is Phase.REVERTED, (
        "it refused it"
    )
    assert step(state, [host(1, HostPhase.REJECTED)]).state is None


@pytest.mark.parametrize("phase", [Phase.PAUSED, Phase.HALTED, Phase.DONE, Phase.REVERTED])
def test_nothing_moves_a_rollout_that_stands(phase):
    assert step(rolling(phase=phase), [host(1, HostPhase.FAILED)]).state is None


ALLOWED = {
    commands.pause: {Phase.ROLLING},
    commands.resume: {Phase.PAUSED, Phase.HALTED},
    commands.halt: {Phase.ROLLING, Phase.PAUSED, Phase.REVERTING},
    commands.rollback: {Phase.ROLLING, Phase.PAUSED, Phase.HALTED, Phase.DONE},
    commands.advance: {Phase.ROLLING},
}


@pytest.mark.parametrize("act", ALLOWED, ids=lambda act: act.__name__)
@pytest.mark.parametrize("phase", list(Phase))
def test_what_people_may_do_in_which_phase(act, phase):
    state = rolling(phase=phase)
    if phase in ALLOWED[act]:
        new = act(state, ANN)
        assert (new.by, new.why, new.since) == ("ann", "because", 1000.0)
        assert (new.phase, new.wave) != (state.phase, state.wave)
    else:
        with pytest.raises(RolloutError, match=f"release 42 of web is {phase}, so it can't be ") as caught:
            act(state, ANN)
        assert ("--again 42" in caught.value.hint) is (phase is Phase.REVERTED)


def test_refusals_say_why():
    with pytest.raises(RolloutError, match="there is no previous release"):
        commands.rollback(rolling(previous=None), ANN)
    with pytest.raises(RolloutError, match="is in its last wave already"):
        commands.advance(rolling(wave=10_000), ANN)
    with pytest.raises(RolloutError, match="no wave of release 42 of web needs approval"):
        commands.approve(rolling(), ANN)


@pytest.mark.parametrize(
    ("phase", "neighbours"),
    [
        (Phase.DONE, {NEW}),
        (Phase.REVERTED, {OLD}),
        (Phase.PAUSED, {NEW, OLD}),
        (Phase.HALTED, {NEW, OLD}),
        (Phase.ROLLING, set()),
        (Phase.REVERTING, set()),
    ],
)
def test_a_new_release_follows_what_is_in_force(phase, neighbours):
    for previous in (NEW, OLD, OLDER):
        new = NewRelease("web", OLDER, 43, previous)
        if previous in neighbours:
            state = commands.begin(rolling(phase=phase), new, (500, 10_000), Gate(), ANN)
            assert (state.wave, state.phase, state.previous) == (500, Phase.ROLLING, previous)
        else:
            with pytest.raises(RolloutError):
                commands.begin(rolling(phase=phase), new, (10_000,), Gate(), ANN)


def test_a_new_release_has_a_higher_number_and_the_first_has_none_before_it():
    with pytest.raises(RolloutError, match="release 42 is not after 42"):
        commands.begin(rolling(phase=Phase.DONE), NewRelease("web", OLDER, 42, NEW), (10_000,), Gate(), ANN)
    with pytest.raises(RolloutError, match="the channel web has no release yet"):
        commands.begin(None, NewRelease("web", NEW, 1, OLD), (10_000,), Gate(), ANN)
    assert commands.begin(None, NewRelease("web", NEW, 1, None), (10_000,), Gate(), ANN).why == "because"


def wants(rank, in_force=OLD, state=None, override=None, **more):
    return desired_release(
        state or rolling(), rank=rank, in_force=in_force, now=1000.0, override=override, **more
    )


def test_a_host_takes_the_release_of_its_wave():
    assert wants(99).release == NEW
    assert wants(100).release == OLD
    assert wants(0, state=rolling(wave=0)).release == OLD
    assert wants(100, state=rolling(previous=None)).release is None


def test_a_hold_goes_before_a_pin_and_a_pin_before_the_channel():
    pinned = HostOverride(pin=OLDER, pin_until=2000.0)
    assert wants(5, override=pinned).release == OLDER
    assert wants(5, override=pinned).is_held
    assert wants(5, override=replace(pinned, pin_until=999.0)).release == NEW
    held = replace(pinned, hold=True, hold_until=2000.0, why="we look")
    assert (wants(5, override=held).release, wants(5, override=held).why) == (OLD, "we look")
    assert wants(5, override=replace(held, hold_until=999.0)).release == OLDER
    assert wants(5, in_force=None, override=HostOverride(hold=True)).release == NEW


def test_a_hold_and_a_pin_say_when_the_first_of_them_ends():
    pinned = HostOverride(pin=OLDER, pin_until=2000.0)
    assert (pinned.ends(1000.0), pinned.ends(2000.0)) == (2000.0, None)
    assert replace(pinned, hold=True).ends(1000.0) == 2000.0
    assert replace(pinned, hold=True, hold_until=1500.0).ends(1000.0) == 1500.0
    assert HostOverride(hold=True).ends(1000.0) is None


def test_outside_its_window_a_host_waits_but_not_to_go_back_and_not_at_first():
    closed = parse_windows("Mon 10:00-11:00")
    assert wants(5, windows=closed).waits
    assert not wants(5, in_force=NEW, windows=closed).waits
    assert not wants(5, in_force=None, windows=closed).waits
    reverting = rolling(phase=Phase.REVERTING, wave=0)
    assert not wants(5, in_force=NEW, state=reverting, windows=closed).waits
    assert wants(5, override=HostOverride(pin=OLDER), state=reverting, windows=closed).waits
    reverted = rolling(phase=Phase.REVERTED, wave=0)
    assert not wants(5, in_force=NEW, state=reverted, windows=closed).waits, "it was away during the revert"
    assert wants(5, in_force=OLDER, state=reverted, windows=closed).waits
    assert wants(5, in_force=NEW, state=reverted).why == "release 42 was taken back"


def test_a_time_of_a_host_with_a_wrong_clock_is_put_right():
    assert on_server_clock(moment=5000.0, sent=5060.0, heard=1000.0) == 940.0
    assert on_server_clock(moment=9999.0, sent=5060.0, heard=1000.0) == 1000.0
