"""What ``--help`` looks like, for every command and those below it."""

import click
import pytest

from reactor.cli.command_groups import KindGroup
from reactor.cli.group import COMMANDS, SECTIONS
from reactor.cli.group import reactor as group
from reactor.resource.entry_points import KINDS_GROUP, installed_entry_points


def below(command, *words):
    yield words
    for name in command.list_commands(click.Context(command)) if isinstance(command, click.Group) else ():
        if isinstance(command, KindGroup) and name in KINDS:
            yield (*words, name)  # without the command of the kind: to make it for all takes a second
        else:
            yield from below(command.get_command(click.Context(command), name), *words, name)


KINDS = installed_entry_points(KINDS_GROUP)
CALLS = [words for name in COMMANDS for words in below(group.get_command(click.Context(group), name), name)]


@pytest.mark.parametrize("words", [(), *CALLS], ids=" ".join)
def test_a_help_fits_a_terminal_of_80_columns(reactor, monkeypatch, words):
    monkeypatch.setenv("COLUMNS", "80")
    shown = reactor(*words, "--help").out
    shell_lines = ("    reactor ensure ", "    reactor show ", "    reactor registration ")  # to be copied
    assert [line for line in shown.splitlines() if len(line) > 80 and not line.startswith(shell_lines)] == []


def test_the_help_lists_each_command_once_below_a_heading(reactor):
    fleet = group.get_command(click.Context(group), "fleet")
    assert sorted(fleet.list_commands(click.Context(fleet))) == sorted(fleet.commands)
    assert len(set(COMMANDS)) == len(COMMANDS)
    shown = reactor("--help").out
    for heading, names in SECTIONS.items():
        section = shown.partition(f"\n{heading}:\n")[2].partition("\n\n")[0]
        assert [line.split()[0] for line in section.splitlines()] == list(names)


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("rum",), "there is no command 'rum'\nhint: did you mean 'run'?"),
        (("site.yaml",), "there is no command 'site.yaml'\nhint: commands: run, ensure"),
        (("ensure", "fil"), "there is no kind 'fil'\nhint: did you mean 'file'?"),
        (("service", "instal"), "there is no command 'instal'\nhint: did you mean 'install'?"),
        (("ensure", "api", "pip"), "there is no command 'pip'\nhint: did you mean 'pipe'?"),
    ],
)
def test_a_misspelt_command_is_answered_with_the_nearest_in_every_group(reactor, words, answer):
    done = reactor(*words)
    assert done.code == 2
    assert answer in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("run", "error[R0703]: missing argument 'MANIFEST...'\nhint: 'reactor run --help' shows its usage\n"),
        ("example", "error[R0703]: missing argument 'NAME'. Choose from: quickstart, webserver, broken\nhint: "),
        ("completion ksh", "error[R0702]: invalid value for 'SHELL': 'ksh' is not one of 'bash', 'zsh', 'fish'\nhint: "),
        ("run --convergeonce x", "error[R0701]: no such option '--convergeonce'\nhint: did you mean --converge-once or "),
        ("run --noop --monitor-only x", "error[R0703]: --noop and --monitor-only can't be used together\nhint: choose one of them\n"),
        ("events --since soon", "error[R0702]: invalid value for '--since': 'soon' is not a time\nhint: write "),
        ("status x y", "error[R0703]: got unexpected extra argument (y)\nhint: 'reactor status --help' shows its usage\n"),
    ],
)  # fmt: skip
def test_every_error_has_the_same_form_whoever_found_it(reactor, words, said):
    done = reactor(*words.split())
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(said)


def test_what_is_wrong_is_shown_without_control_characters(reactor):
    assert "/reactor has no version of /a\\x1b[31mb\n" in reactor("restore", "/a\x1b[31mb").err
