"""What shells offer: through the protocol that click has for each."""

import subprocess
import sys

import pytest
from click.shell_completion import BashComplete
from processes_of_cli import environment

from reactor.cli.group import reactor as group

MANIFEST = """
resources:
  - file:
      - defaults: {{own}}
      - {dir}/a: {ensure: present, content: x}
      - "{{ Data.unknown }}": {ensure: present}
  - exec: {name: echo hi}
"""


@pytest.fixture
def offers():
    """What is offered for the last word, in this process."""

    def complete(*words):
        found = BashComplete(group, {}, "reactor", "_REACTOR_COMPLETE").get_completions(
            [*words[:-1]], words[-1]
        )
        return [item.value for item in found]

    return complete


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["ens"], ["ensure"]),
        (["ensure", "fi"], ["file", "filesystem", "firewall"]),
        (["ensure", "ap"], ["apply", "api"]),
        (["show", "us"], ["user"]),
        (["kinds", "sy"], ["sysctl"]),
        (["ensure", "file", "--con"], ["--content", "--content-file", "--context"]),
        (["ensure", "service", "x", "st"], ["stopped"]),
        (["ensure", "service", "x", "--scope", ""], ["system", "user"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["session", ""], ["new", "report"]),
    ],
)
def test_commands_kinds_options_and_words_are_offered(offers, words, expected):
    assert offers(*words) == expected


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["nope", ""], "run"),
        (["ensure", "nope", "--"], "--help"),
        (["session", "nope", ""], "new"),
        (["run", "--noop", "--monitor-only", "--conv"], "--converge-once"),
        (["run", "--metrics", "0.0.0.0:1", "--conv"], "--converge-once"),
    ],
)
def test_after_words_that_are_wrong_something_is_offered_all_the_same(offers, words, offered):
    assert offered in offers(*words)


@pytest.mark.parametrize(
    "words", [["run", "M", "--only"], ["run", "M", "--exclude"], ["graph", "M", "--around"]]
)
def test_names_come_from_the_manifest_on_the_line_though_it_is_not_valid(offers, tmp_path, words):
    path = tmp_path / "manifest.yaml"
    path.write_text(MANIFEST.replace("{dir}", str(tmp_path)).replace("{own}", "owner: root"))
    words = [str(path) if word == "M" else word for word in words]
    assert offers(*words, "") == ["exec#echo hi", f"file#{tmp_path}/a"]
    assert offers(*words, "file#") == [f"file#{tmp_path}/a"]


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("", []),
        ("- just a list", []),
        ("resources: 5", []),
        ("ccm: {resources: [x, {file: [y, z: {}]}]}", ["file#z"]),
        ("{", []),
    ],
)
def test_what_is_no_manifest_offers_little_and_breaks_nothing(offers, tmp_path, text, offered):
    path = tmp_path / "manifest.yaml"
    path.write_text(text)
    assert offers("run", str(path), "--only", "") == offered
    assert offers("run", str(tmp_path / "none"), "--only", "") == []


@pytest.mark.parametrize("command", ["why", "status", "pause", "resume"])
def test_names_come_from_the_journal(offers, reactor, manifest, tmp_path, command):
    assert offers(command, "") == []
    path = manifest(
        "resources:\n  - file:\n      - {dir}/a: { ensure: present, content: x, alias: a, {own} }\n"
    )
    reactor("run", "--converge-once", path)
    assert offers(command, "file") == [f"file#{tmp_path}/a", "file#a"]


def test_names_come_from_the_session(offers, reactor, tmp_path, monkeypatch):
    assert offers("ensure", "exec", "x", "--require", "") == []
    reactor("session", "new", "--directory", tmp_path / "session")
    monkeypatch.setenv("REACTOR_SESSION", str(tmp_path / "session"))
    reactor("ensure", "exec", "true", "--alias", "first")
    assert offers("ensure", "exec", "x", "--require", "") == ["exec#first", "exec#true"]


def test_offering_kinds_imports_none_of_them():
    variables = {"COMP_WORDS": "reactor ensure f", "COMP_CWORD": "2", "_REACTOR_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "reactor"], env=environment(**variables),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "plain,file\nplain,filesystem\nplain,firewall\n"
    assert "pydantic" not in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(reactor, shell):
    done = reactor("completion", shell)
    assert (done.code, done.err) == (0, "")
    assert f"_REACTOR_COMPLETE={shell}_complete" in done.out
    assert reactor("completion", "tcsh").code == 2
