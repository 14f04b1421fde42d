"""Whoever tries the examples of the help, in its order and to the letter, sees them work."""

from __future__ import annotations

import signal

import pytest
from example_worlds import Host, examples_of, stays

from reactor.cli.group import COMMANDS


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    with Host(tmp_path_factory.mktemp("host")).alive() as host:
        yield host


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_of_a_command_and_those_below_it_runs(host, name):
    for command, examples in examples_of(name):
        assert any(command in example for example in examples), f"the help of {command} has no example of it"
        for example in examples:
            check(host, example)


def test_the_first_thing_that_is_shown_runs(host):
    ((_, examples), *_) = examples_of()
    for example in examples:
        check(host, example)


def check(host, example):
    if "restore --from" in example:
        example = example.replace("3f9a1c27", host.newest_version("/etc/ssh/sshd_config"))
    code, said = host.follow(example) if stays(example) else host.do(example)
    if example.startswith("reactor ensure quadlet "):  # Debian 12 has no podman that can; see run_quadlet.py
        assert (code, "require the package podman, of version 4.4 or newer" in said) == (1, True), said
        return
    assert code in ((0, 130, -signal.SIGINT) if stays(example) else (0,)), f"{example}\n{said}"
