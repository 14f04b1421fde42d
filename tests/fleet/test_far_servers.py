"""Away from the network each command says within 3 seconds which server did not answer."""

import signal

import pytest
from known_fleet import remember
from ports import free_port
from turns import turns

from reactor.fleet.operator.session import save_servers

MOST = 3.5
"""Seconds: three, and what the program itself takes."""
COMMANDS = [
    ("status",),
    ("hosts",),
    ("why", "web1"),
    ("events",),
    ("failures",),
    ("count", "--once"),
    ("pause", "web"),
    ("gc",),
    ("hold", "web1"),
]


def say(reactor, home, words):
    return reactor("fleet", words[0], "--home", home, *words[1:])


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_where_nothing_listens_a_command_fails_soon(reactor, fleet, words):
    port = free_port()
    home = fleet.fleet_server.directory
    save_servers(home, (f"nats://127.0.0.1:{port}",), None)
    for turn in turns(MOST):
        with turn:
            done = say(reactor, home, words)
    assert (done.code, done.out) == (1, "")
    assert f"127.0.0.1:{port}" in done.err


def test_where_a_server_is_stopped_in_the_middle(reactor, fleet):
    home = remember(fleet)
    assert say(reactor, home, ("status",)).code == 0
    fleet.server.signal(signal.SIGSTOP)
    try:
        for turn in turns(MOST):
            with turn:
                done = say(reactor, home, ("status",))
    finally:
        fleet.server.signal(signal.SIGCONT)
    assert (done.code, done.out) == (1, "")
    assert str(fleet.server.port) in done.err
