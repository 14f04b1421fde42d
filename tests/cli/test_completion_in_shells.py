"""Completion in real shells, set up as the documentation says: a person at a terminal presses tab."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from processes_of_cli import GUARD, environment

NAMED = r"""
resources:
  - exec: [restart app: {}, "it's $HOME, `id`": {}, "a:b=c:d": {}, "x*": {}, "p,q": {}, 'back\slash': {}]
"""
PROGRAM = """#!/bin/sh
if [ "$1" = completion ] || [ -n "$_REACTOR_COMPLETE" ]; then exec {python} -m reactor "$@"; fi
printf '%s\\n' "$@" >{said}
"""

PAGE = Path(__file__).parents[2] / "docs/ensure.md"
STARTS = {
    shell: (file, line.replace(r"\|", "|"))
    for shell, file, line in re.findall(
        r"^\| (\w+) \| `~/(.*)` \| `(.*)` \|$", PAGE.read_text(), re.MULTILINE
    )
}
"""What each shell reads when it starts, and the line that belongs there, from the page."""


LINES = [
    ("ensure ser", "service"),
    ("ensure file x --own", "--owner"),
    ("run --converged", "--converged-timeout"),
    ("run --format=js", "--format=json"),
    ("graph nam", "named.yaml"),
    ("run --facts=nam", "--facts=named.yaml"),
    ('graph "my dir/a', "my dir/a b.yaml"),
    ("graph named.yaml --around exec#re", "exec#restart app"),
    ("graph named.yaml --around=exec#re", "--around=exec#restart app"),
    ("graph named.yaml --around exec#restart\\ a", "exec#restart app"),
    ("graph named.yaml --around 'exec#re", "exec#restart app"),
    ("graph named.yaml --around exec#i", "exec#it's $HOME, `id`"),
    ("graph named.yaml --around exec#a:b=c:", "exec#a:b=c:d"),
    ("graph named.yaml --around exec#b", "exec#back\\slash"),
    ("graph named.yaml --around exec#p", "exec#p,q"),
]


def furnish(home, **files):
    """Make a home with manifests, and with a ``reactor`` that writes down the words that it is called with."""
    program = home / "bin/reactor"
    said = PROGRAM.format(python=sys.executable, said=home / "said")
    for path, text in {program: said, "named.yaml": NAMED, "my dir/a b.yaml": NAMED, **files}.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text)
    program.chmod(0o755)
    return home


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The home of somebody who did what the page says."""
    return furnish(tmp_path_factory.mktemp("home"), **{file: f"{line}\n" for file, line in STARTS.values()})


def variables(home):
    return environment(
        PATH=f"{home}/bin:{os.environ['PATH']}", HOME=str(home), ZDOTDIR=str(home), TERM="dumb", HISTFILE="",
        XDG_CONFIG_HOME=str(home / ".config"), XDG_DATA_HOME=str(home / ".local/share"),
    )  # fmt: skip


def typed(shell, home, keys):
    """What a shell shows on its terminal when somebody types ``keys`` and leaves."""
    main, terminal = pty.openpty()
    with subprocess.Popen(
        [shell, "-i"], cwd=home, env=variables(home), start_new_session=True,
        stdin=terminal, stdout=terminal, stderr=terminal,
    ) as process:  # fmt: skip
        os.write(main, f"{keys}\nexit\n".encode())
        process.wait(GUARD)
    os.close(terminal)
    with os.fdopen(main, "rb") as screen:
        return screen.read1().decode()


def offered_by_fish(home, line):
    done = subprocess.run(
        ["fish", "-c", "complete -C $argv[1]", f"reactor {line}"], cwd=home, env=variables(home),
        capture_output=True, text=True, check=True, timeout=GUARD,
    )  # fmt: skip
    return [tuple(offer.split("\t")) for offer in done.stdout.splitlines()]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
@pytest.mark.parametrize(("line", "word"), LINES)
def test_tab_completes_a_word_to_one_word(home, shell, line, word):
    typed(shell, home, f"reactor {line}\t")
    assert (home / "said").read_text().splitlines()[-1] == word


@pytest.mark.parametrize(("line", "word"), LINES)
def test_fish_offers_the_one_word_that_a_line_may_become(home, line, word):
    assert [offer[0] for offer in offered_by_fish(home, line)] == [word]


def test_zsh_shows_what_each_option_is_for(home):
    assert "--converged-timeout  -- Exit once nothing has changed" in typed(
        "zsh", home, "reactor run --converge\t"
    )


def test_fish_shows_what_each_option_is_for(home):
    assert offered_by_fish(home, "run --converge-o") == [
        ("--converge-once", "Exit once the manifest is applied, instead of repairing drift.")
    ]


def test_zsh_finds_the_function_in_a_directory_for_functions(reactor, tmp_path):
    start = "fpath=(~/functions $fpath); autoload -Uz compinit && compinit\n"
    script = reactor("completion", "zsh").out
    home = furnish(tmp_path, **{".zshrc": start, "functions/_reactor": script})
    typed("zsh", home, "reactor ensure ser\t")
    assert (home / "said").read_text() == "ensure\nservice\n"


def test_fish_finds_the_file_in_a_directory_for_completions(reactor, tmp_path):
    script = reactor("completion", "fish").out
    home = furnish(tmp_path, **{".config/fish/completions/reactor.fish": script})
    assert offered_by_fish(home, "ensure ser") == [("service",)]
