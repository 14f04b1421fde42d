import os
import subprocess
import sys
from pathlib import Path

import pytest
from processes_of_cli import environment

from reactor.cli.group import COMMANDS

HEAVY = {"trio", "networkx", "pydantic", "yaml", "rich", "watchdog", "asyncio", "sqlite3"}


def imported_by(*args):
    """The top-level names of all modules a command imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "reactor", *map(str, args)],
        capture_output=True, text=True, env=environment(), check=True,
    )  # fmt: skip
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


@pytest.mark.parametrize("args", [("--help",), ("--version",), *((name, "--help") for name in COMMANDS)])
def test_help_imports_nothing_heavy(args):
    assert HEAVY & imported_by(*args) == set()


@pytest.mark.parametrize("args", [("--help",), ("run", "--help"), ("status", "--help")])
def test_help_does_not_read_the_metadata_of_packages(args):
    assert {"email", "zipfile"} & imported_by(*args) == set()


def test_validate_imports_nothing_that_only_a_run_needs(manifest):
    path = manifest("resources:\n  - file:\n      - {dir}/a: { ensure: present, content: x, {own} }\n")
    assert {"rich", "watchdog", "asyncio"} & imported_by("validate", path) == set()


def test_a_run_whose_output_is_no_terminal_does_without_rich(manifest):
    path = manifest("resources:\n  - file:\n      - {dir}/a: { ensure: present, content: x, {own} }\n")
    assert {"rich", "asyncio"} & imported_by("run", "--converge-once", path) == set()


def test_help_reports_what_it_is_for_and_how_to_begin(reactor):
    done = reactor("--help")
    assert done.code == 0
    assert "keep it matched" in done.out
    assert "reactor example quickstart" in done.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_teaches_with_examples(reactor, name):
    done = reactor(name, "--help")
    assert done.code == 0
    assert f"  reactor {name} " in done.out.partition("Example")[2]


def test_version_says_both_versions(reactor):
    done = reactor("--version")
    assert done.out.startswith("reactor ")
    assert f"Python {sys.version.split()[0]}" in done.out


def test_an_unknown_command_is_answered_with_all(reactor):
    assert f"commands: {', '.join(COMMANDS)}" in reactor("zzz").err


def test_a_misspelt_option_is_answered_with_the_nearest(reactor):
    done = reactor("run", "--converge-onse", "x.yaml")
    assert done.code == 2
    assert "--converge-once" in done.err


def test_a_closed_stdout_never_becomes_a_managed_file(manifest, tmp_path):
    path = manifest("resources:\n  - file:\n      - {dir}/a: { ensure: present, content: x, {own} }\n")
    command = f"'{sys.executable}' -m reactor run --converge-once --format json '{path}' >&- 2>&- <&-"
    done = subprocess.run(["sh", "-c", command], env=environment(), check=False)
    assert done.returncode == 0
    assert (tmp_path / "a").read_text() == "x"


@pytest.mark.parametrize("word", ["--help", "--version", "kinds"])
def test_a_full_disk_costs_the_output_and_says_so(word):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "reactor", word],
            stdout=full, stderr=subprocess.PIPE, text=True, env=environment(), check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == (
        "error[R0704]: the output can't be written: No space left on device\n"
        "hint: see where standard output leads, such as to a full disk\n"
    )


def test_names_are_utf8_in_every_locale(manifest, tmp_path):
    path = manifest("resources:\n  - file:\n      - {dir}/ä€: { ensure: present, content: ü, {own} }\n")
    locale = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}  # as under LANG=de_DE.ISO-8859-1
    done = subprocess.run(
        [sys.executable, "-m", "reactor", "run", "--converge-once", path],
        capture_output=True, env=environment(**locale), check=False,
    )  # fmt: skip
    assert done.returncode == 0, done
    assert f"{tmp_path}/ä€".encode() in done.stdout
    assert "ä€".encode() in os.listdir(os.fsencode(tmp_path))
