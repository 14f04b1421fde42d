"""What users of other programs type: the hint says the word of this one."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        ("apply", "reactor run --converge-once"),
        ("converge", "reactor run --converge-once"),
        ("plan", "reactor run --converge-once --noop"),
        ("hiera", "reactor data"),
        ("check", "reactor validate"),
        ("lint", "reactor validate"),
        ("diff", "reactor run --converge-once --noop --diff"),
        ("help", "reactor --help"),
        ("history", "reactor events"),
        ("log", "reactor events"),
        ("logs", "reactor events"),
        ("list", "reactor status --all"),
        ("rollback", "reactor restore"),
        ("undo", "reactor restore"),
        ("doc", "reactor kinds"),
        ("describe", "reactor kinds"),
        ("setup", "reactor facts"),
        ("playbook", "reactor run --converge-once"),
    ],
)
def test_a_command_of_others_leads_to_ours(reactor, command, meant):
    done = reactor(command, "site.yaml")
    assert done.code == 2
    assert done.err == f"error[R0701]: there is no command {command!r}\nhint: did you mean '{meant}'?\n"


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("--check", "--noop"),
        ("--tags", "--only"),
        ("--skip-tags", "--exclude"),
        ("--onetime", "--converge-once"),
        ("--once", "--converge-once"),
        ("--oneshot", "--converge-once"),
        ("--limit", "--only"),
        ("-C", "--noop"),
        ("-D", "--diff"),
        ("-e", "--data"),
        ("--extra-vars", "--data"),
        ("--test", "--converge-once"),
    ],
)
def test_an_option_of_others_leads_to_ours(reactor, option, meant):
    done = reactor("run", option, "site.yaml")
    assert done.code == 2
    assert done.err == f"error[R0701]: no such option {option!r}\nhint: did you mean {meant}?\n"


@pytest.mark.parametrize(("option", "words"), [("-i", "reactor push"), ("--become", "start it with sudo")])
def test_an_option_that_nothing_here_replaces_is_answered_in_a_sentence(reactor, option, words):
    done = reactor("run", option, "site.yaml")
    assert (done.code, words in done.err) == (2, True)


@pytest.mark.parametrize(("module", "kind"), [("apt", "package"), ("ansible.builtin.copy", "file")])
def test_a_module_of_ansible_leads_to_the_kind(reactor, module, kind):
    assert f"hint: did you mean {kind!r}?" in reactor("ensure", module, "x").err


@pytest.mark.parametrize("words", [("validate", "--check"), ("graph", "--tags")])
def test_an_option_of_others_leads_to_none_that_the_command_does_not_have(reactor, words):
    done = reactor(*words, "site.yaml")
    assert done.code == 2
    assert "--noop" not in done.err


def test_a_word_for_a_number_is_refused_in_words_for_people(reactor):
    done = reactor("run", "--jobs", "many", "site.yaml")
    assert done.err.startswith("error[R0702]: invalid value for '--jobs': 'many' is not a whole number\n")


def test_a_push_knows_the_words_for_a_dry_run(reactor):
    assert "did you mean --noop?" in reactor("push", "site/", "web1", "--check").err


@pytest.mark.parametrize("word", ["--noop", "--dry-run"])
def test_either_word_makes_a_dry_run(reactor, manifest, tmp_path, word):
    path = manifest("resources:\n  - file:\n      - {dir}/a: { ensure: present, content: x, {own} }\n")
    assert "Would have created" in reactor("run", "--converge-once", word, path).out
    assert "Would have created" in reactor("ensure", "file", tmp_path / "b", word).out
    assert "ExecStart=" in reactor("service", "install", word, path).out
    assert {each.name for each in tmp_path.iterdir()} <= {path.name, "state"}


def test_the_help_has_one_word_for_a_dry_run(reactor):
    assert "--dry-run" not in reactor("run", "--help").out
    assert "--noop" not in reactor("service", "install", "--help").out


def test_become_is_sudo_where_hosts_are_pushed_to(reactor):
    done = reactor("push", "site", "web1", "--become")
    assert (done.code, "hint: did you mean --sudo?" in done.err) == (2, True)
