"""What `rollout` shows of a gate: each condition, whether it holds, and what it waits for."""

from datetime import UTC, datetime

import pytest

from reactor.fleet.rollout.conditions import conditions_of
from reactor.fleet.rollout.gate import Gate
from reactor.fleet.rollout.hosts import HostPhase, HostView
from reactor.fleet.rollout.state import ChannelState, Phase
from reactor.fleet.rollout.windows import next_opening, parse_windows

RELEASE = "sha256-" + "b" * 64
SUNDAY = datetime(2026, 11, 22, 12, 0, tzinfo=UTC).timestamp()


def state(gate, since=SUNDAY - 600):
    return ChannelState("web", RELEASE, 2, None, 1000, (1000, 10_000), Phase.ROLLING, gate, since)


def host(name, phase=HostPhase.CONVERGED, since=SUNDAY - 500, **checks):
    return HostView(name, 5, SUNDAY - 10, RELEASE, RELEASE, phase, since, checks)


def found(gate, hosts):
    return {each.name: (each.met, each.words) for each in conditions_of(state(gate), hosts, SUNDAY)}


def test_each_condition_says_what_it_waits_for():
    gate = Gate(soak=600, checks=("http",), window="Mon-Thu 09:00-16:00", approve=(10_000,))
    assert found(gate, [host("web1", http="ok"), host("web2", http="critical"), host("web3")]) == {
        "max_failed": (True, "0 of 3 failed, 0 may fail"),
        "max_silent": (True, "0 of 3 have not reported since the wave began, 0 may be silent"),
        "min_converged": (False, "1 of 3 have converged, 3 must"),
        "checks": (False, "http must be ok: web2 http critical, web3 http not reported"),
        "soak": (False, "600 s, 100 s are left"),
        "window": (False, "Mon-Thu 09:00-16:00, opens in 21 h 0 min"),
        "approve": (False, "wave 100 % waits for: reactor fleet approve web"),
    }


def test_a_gate_that_is_open_says_so():
    everything = found(Gate(soak=60, checks=("http",), window="12:00-13:00"), [host("web1", http="ok")])
    assert all(met for met, _ in everything.values())
    assert everything["soak"] == (True, "60 s")
    assert "approve" not in everything


def test_hosts_outside_the_wave_are_not_counted():
    outside = HostView("web9", 5000)
    assert found(Gate(), [host("web1"), outside])["max_silent"][1].startswith("0 of 1")


def test_the_hosts_that_a_wave_waits_for_are_named():
    silent = [HostView(f"web{number}", 5) for number in range(5)]
    assert found(Gate(), [host("well"), *silent])["max_silent"] == (
        False,
        "5 of 6 have not reported since the wave began, 0 may be silent: web0, web1, web2, ...",
    )


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("Sun 12:00-13:00", 0),
        ("Sun 13:00-14:00", 1),
        ("Mon 00:00-01:00", 12),
        ("Sun 10:00-11:00", 7 * 24 - 2),
    ],
)
def test_a_window_opens_next_at_its_next_hour(text, hours):
    assert next_opening(parse_windows(text), SUNDAY) == SUNDAY + 3600 * hours
