"""Every page of the documentation is played: its commands are run, and what they say is what the page shows."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
import pytest
from page_blocks import Page

from reactor.cli.command_groups import KindGroup
from reactor.cli.group import reactor

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WITH_SYSTEMD = ROOT / "tests" / "systemd" / "with-systemd"
PAGES = {
    str(path.relative_to(ROOT)): Page.of(path.read_text())
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("**/*.md")))
}
PLAYED = [name for name, page in PAGES.items() if page.commands]
WORLDS = {"scratch": [], "machine": [WITH_SYSTEMD]}
AT_ONCE = 4
TIMEOUT = 300.0
"""Seconds for a page: more than for one of its commands, which then tells what it waited for."""


def environment():
    """This one, without what would colour or quieten a program, and with the stand-ins that pages start."""
    dropped = ("NO_COLOR", "CLICOLOR_FORCE", "COLUMNS")
    kept = {key: value for key, value in os.environ.items() if key not in dropped}
    return kept | {"PYTHONPATH": str(ROOT / "tests/fleet"), "LANG": "C.UTF-8"}


def is_playable(name):
    return PAGES[name].world != "machine" or os.geteuid() == 0


def play(name, scratch):
    command = [*WORLDS[PAGES[name].world], sys.executable, HERE / "play_page.py", ROOT / name, scratch]
    return subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=TIMEOUT, check=False)  # fmt: skip


def asked_for(session):
    """The pages whose commands are to be played in this run of pytest, and can be."""
    tests = [item for item in session.items if item.function is test_the_commands_of_a_page_do_what_it_shows]
    return [name for name in (test.callspec.params["name"] for test in tests) if is_playable(name)]


@pytest.fixture(scope="module")
def played(request, tmp_path_factory):
    """Pages by name, a few of them at a time: most of the time of a page goes by with waiting."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {
            name: pool.submit(play, name, tmp_path_factory.mktemp("page"))
            for name in asked_for(request.session)
        }


@pytest.mark.parametrize("name", PLAYED)
def test_the_commands_of_a_page_do_what_it_shows(name, played):
    if not is_playable(name):
        pytest.skip("a machine of its own needs root")
    done = played[name].result()
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", PAGES)
def test_what_is_not_run_has_a_reason(name):
    assert all(PAGES[name].unplayed)


@pytest.mark.parametrize("name", PAGES)
def test_no_command_hides_in_a_block_that_is_not_played(name):
    assert not re.search(r"^ *```(bash|shell|zsh)$", (ROOT / name).read_text(), re.MULTILINE)


def commands_named(name):
    """What stands in backticks as a call of reactor: its words, without the first."""
    return [named.split() for named in re.findall(r"`reactor ([a-z][^`|\[]*)`", (ROOT / name).read_text())]


@pytest.mark.parametrize("name", PAGES)
def test_every_command_and_option_that_is_named_exists(name):
    for first, *words in commands_named(name):
        command = reactor.get_command(click.Context(reactor), first)
        assert command is not None, first
        if isinstance(command, click.Group) and words and not isinstance(command, KindGroup):
            command = command.get_command(click.Context(command), words[0])
        options = {option for parameter in command.params for option in parameter.opts}
        asked = {
            word for word in words[: words.index("--") if "--" in words else None] if word.startswith("--")
        }
        assert asked - {"--help"} <= options or isinstance(command, KindGroup), (first, words)


def test_there_is_something_to_play():
    assert {"README.md", "docs/quickstart.md", "docs/operations.md", "docs/service.md"} <= set(PLAYED)
