import json
import os
import pty
import socket
import subprocess
import sys

import pytest
import yaml
from processes_of_cli import environment


@pytest.fixture(autouse=True)
def no_facts_of_this_user(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def fact_file(tmp_path):
    def write(text, name="facts.yaml"):
        path = tmp_path / "config/reactor" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o644)
        return path

    return write


def test_all_facts_are_one_json_document(reactor):
    done = reactor("facts")
    assert done.code == 0
    assert set(json.loads(done.out)) >= {"host", "cpu", "memory", "partition", "network"}


def test_a_path_finds_one_fact(reactor):
    done = reactor("facts", "host.info.hostname")
    assert (done.code, json.loads(done.out), done.err) == (0, socket.gethostname(), "")


def test_a_path_may_be_all_that_gjson_knows(reactor):
    assert json.loads(reactor("facts", "cpu.info.#").out) == os.cpu_count()
    assert json.loads(reactor("facts", "network.interfaces.#(index==1).name").out) == "lo"


def test_text_has_a_line_for_each_value_with_the_path_that_finds_it(reactor):
    lines = reactor("facts", "--format", "text").out.splitlines()
    assert f"host.info.hostname  {socket.gethostname()}" in lines
    for line in lines:
        path, _, text = line.partition("  ")
        if path.startswith("host.info.platform"):
            assert reactor("facts", path, "--format", "text").out == f"{text}\n"


def test_yaml_is_the_same_tree(reactor):
    host = yaml.safe_load(reactor("facts", "host.info", "--format", "yaml").out)
    assert host["hostname"] == socket.gethostname()


def test_a_terminal_gets_lines_for_people(tmp_path):
    master, slave = pty.openpty()
    variables = environment(XDG_CONFIG_HOME=str(tmp_path), TERM="xterm")
    command = [sys.executable, "-m", "reactor", "facts", "host.info.hostname"]
    subprocess.run(command, stdout=slave, env=variables, check=True)
    os.close(slave)
    assert os.read(master, 1000).decode().strip() == socket.gethostname()
    os.close(master)


def test_what_is_given_wins_over_a_file_and_a_file_over_the_fact_files(reactor, fact_file, tmp_path):
    fact_file("a: fact file\nb: fact file\nc: fact file\n")
    given = tmp_path / "given.yaml"
    given.write_text("a: given file\nb: given file\nhost: {info: {site: x}}\n")
    args = ("facts", "--facts", given, "--fact", "a=given")
    assert json.loads(reactor(*args, "{a,b,c}").out) == {"a": "given", "b": "given file", "c": "fact file"}
    assert json.loads(reactor(*args, "host.info.site").out) == "x"
    assert json.loads(reactor(*args, "host.info.hostname").out) == socket.gethostname()


def test_a_fact_file_that_is_skipped_is_a_warning(reactor, fact_file):
    path = fact_file("a: [")
    done = reactor("facts", "host.info.os")
    assert (done.code, json.loads(done.out)) == (0, "linux")
    assert done.err.startswith(f"warning: {path}:1:5: the file is skipped: bad YAML")


def test_a_missing_fact_is_an_error_with_the_nearest_one(reactor):
    done = reactor("facts", "host.info.hostnam")
    assert (done.code, done.out) == (1, "")
    assert "there is no fact 'host.info.hostnam'\nhint: did you mean 'host.info.hostname'?" in done.err
    assert "without a path" in reactor("facts", "zzz").err


def test_a_path_that_asks_too_much_is_refused(reactor):
    done = reactor("facts", "[" * 500)
    assert done.code == 1
    assert "Traceback" not in done.err


@pytest.mark.parametrize("fact", ["novalue", "=x", ""])
def test_a_fact_must_be_a_pair(reactor, fact):
    done = reactor("facts", "--fact", fact)
    assert done.code == 2
    assert "KEY=VALUE" in done.err


def test_a_file_of_facts_that_never_ends_is_refused(reactor):
    done = reactor("facts", "--facts", "/dev/zero")
    assert (done.code, done.out) == (2, "")
    assert "/dev/zero:1:1: error[R0113]: the file is larger than 64 MiB" in done.err


def test_a_bad_file_of_facts_is_shown_with_its_place(reactor, tmp_path):
    bad = tmp_path / "bad.yaml"
    bad.write_text("a: 1\na: 2\n")
    done = reactor("facts", "--facts", bad)
    assert done.code == 2
    assert f"{bad}:2:1: error[R0104]: duplicate key 'a'" in done.err
    assert reactor("facts", "--facts", tmp_path / "missing.yaml").code == 2
