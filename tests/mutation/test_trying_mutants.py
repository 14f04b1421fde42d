"""The tool that mutates: which tests it chooses, and what it takes for killed."""

import ast
import json
import os
import select
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import trying
from choosing import Choice, choose, telling_lines
from equivalent import is_equivalent
from recording import Recording, _innermost
from workshop import HERE, PROJECT

MODULE = """\
LIMIT = 3


def double(
    number=2,
):
    if number > LIMIT:
        return 0
    return number * 2


def other():
    return 1
"""
TESTS = """\
import pathlib
from m import double

def test_doubles():
    assert double(2) == 4

def test_is_there():
    assert double

def test_fails_by_itself():
    assert False
"""
ENDLESS = """\
import os

def test_endless():
    with open("pid", "w") as pipe:
        pipe.write(str(os.getpid()))
    while True:
        pass
"""


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A clone with one module."""
    clone = tmp_path / "clone"
    clone.mkdir()
    (clone / ".venv").symlink_to(Path(sys.prefix))
    (clone / "m.py").write_text(MODULE)
    (clone / "conftest.py").touch()
    (clone / "test_m.py").write_text(TESTS)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    return clone


@pytest.fixture
def bench(clone):
    bench = trying.Bench(clone)
    yield bench
    bench.close()


def attempt(bench, was, became, *tests):
    mutant = {
        "key": "k",
        "module": "m.py",
        "was": was,
        "became": became,
        "source": MODULE.replace(was, became),
    }
    found = bench.attempt(mutant, Choice([f"test_m.py::{test}" for test in tests], 0.1, len(tests)))
    assert (bench.clone / "m.py").read_text() == MODULE
    return found["ending"], found["by"]


def test_a_mutant_is_killed_by_the_test_that_fails_only_with_it(bench):
    killed = ("killed", "test_m.py::test_doubles")
    assert attempt(bench, "* 2", "* 3", "test_is_there", "test_doubles") == killed
    assert attempt(bench, "* 2", "* 3", "test_fails_by_itself", "test_doubles") == killed


def test_tests_run_in_the_order_of_the_request_whatever_the_project_does(bench):
    reversing = "def pytest_collection_modifyitems(items): items.reverse()\n"
    (bench.clone / "conftest.py").write_text(reversing)
    (bench.clone / "test_m.py").write_text(TESTS + "\ndef test_doubles_too(): assert double() == 4\n")
    tests = ["test_doubles", "test_doubles_too"]
    for order in (tests, tests[::-1]):
        assert attempt(bench, "* 2", "* 3", *order)[1] == f"test_m.py::{order[0]}"


def test_a_mutant_that_no_test_notices_survives(bench):
    assert attempt(bench, "* 2", "* 3", "test_is_there")[0] == "survived"
    assert attempt(bench, "* 2", "* 3", "test_fails_by_itself")[0] == "untested"
    assert attempt(bench, "* 2", "* 3")[0] == "untested"


def test_a_mutant_that_can_not_be_imported_is_killed(bench):
    assert attempt(bench, "LIMIT = 3", "LIMIT = 3 / 0", "test_is_there") == ("killed", "")


def test_tests_that_do_not_end_are_killed(bench, monkeypatch):
    monkeypatch.setattr(trying, "_START_SECONDS", 2.0)
    assert attempt(bench, "return number * 2", "while True: pass", "test_doubles")[0] in ("hung", "unclear")


@pytest.mark.parametrize(
    "end", [subprocess.Popen.kill, lambda forge: forge.stdin.close()], ids=["the forge", "who has asked it"]
)
def test_tests_end_with_the_process_that_began_them(clone, end):
    os.mkfifo(clone / "pid")
    (clone / "test_m.py").write_text(ENDLESS)
    with trying.Bench(clone)._forge as forge:
        forge.stdin.write(json.dumps({"tests": ["test_m.py"], "seconds": 600}) + "\n")
        forge.stdin.flush()
        tests = os.pidfd_open(int((clone / "pid").read_text()))
        end(forge)
        try:
            assert select.select([tests], [], [], 60)[0]
        except AssertionError:
            signal.pidfd_send_signal(tests, signal.SIGKILL)
            raise
        finally:
            os.close(tests)


def test_a_pytest_that_can_not_begin_proves_nothing(bench):
    (bench.clone / "conftest.py").write_text("raise RuntimeError")
    with pytest.raises(RuntimeError, match="can't begin"):
        attempt(bench, "* 2", "* 3", "test_doubles")


@pytest.mark.parametrize(
    ("line", "telling"),
    [
        (7, {7}),
        (8, {8}),
        (5, {7, 8, 9}),
        (1, {7, 8, 9, 13}),
    ],
    ids=["the head of a statement", "its block", "a default of a function", "the module"],
)
def test_what_reports_that_a_test_depends_on_a_line(line, telling):
    assert telling_lines(ast.parse(MODULE), line, line) == telling


def test_the_quickest_of_the_tests_that_executed_the_line_are_chosen():
    seconds = {"slow": 25.0, "quick": 0.1, "slower": 29.0, "elsewhere": 0.01}
    recording = Recording(
        seconds, {"m.py": {9: frozenset({"slow", "quick", "slower"}), 13: frozenset({"elsewhere"})}}
    )
    assert choose(recording, "m.py", {"m.py": MODULE}, 9, 9) == Choice(["quick", "slow"], 25.1, 3)


def test_tests_in_a_world_of_their_own_are_run_last():
    seconds = {"tests/systemd/t.py::quick": 0.1, "tests/engine/t.py::slow": 2.0}
    recording = Recording(seconds, {"m.py": {9: frozenset(seconds)}})
    assert choose(recording, "m.py", {"m.py": MODULE}, 9, 9).tests == [*reversed(seconds)]


def test_constants_are_tested_by_the_tests_of_who_imports_them():
    texts = {
        "a/constants.py": "MOST = 3\n",
        "a/uses.py": "from top.a.constants import MOST\n\ndef f():\n    return MOST\n",
        "a/other.py": "from top.a.more_constants import MOST\n\ndef f():\n    return MOST\n",
    }
    lines = {module: {4: frozenset({module})} for module in texts}
    recording = Recording(dict.fromkeys(texts, 1.0), lines)
    assert choose(recording, "a/constants.py", texts, 1, 1) == Choice(["a/uses.py"], 1.0, 1)


def test_what_is_explained_still_stands_in_its_module():
    for mutant in tomllib.loads((HERE / "explained.toml").read_text())["mutant"]:
        lines = [line.strip() for line in (PROJECT / mutant["module"]).read_text().splitlines()]
        assert set(mutant["was"].splitlines()) <= set(lines), mutant
        assert mutant["became"] != mutant["was"]
        assert mutant["reason"]


@pytest.mark.parametrize(
    ("was", "became"),
    [
        ("x = y is None", "x = y == None"),
        ("OK, BAD = Way.OK, Way.BAD\nx = y is not BAD", "OK, BAD = Way.OK, Way.BAD\nx = y != BAD"),
        ("x = type(y) is Other", "x = type(y) == Other"),
        ("x = os.O_RDWR | os.O_CREAT | os.O_EXCL", "x = os.O_RDWR ^ os.O_CREAT | os.O_EXCL"),
        ("def f(a, *, b=1): pass", "def f(a, /, b=1): pass"),
        ("@dataclass(repr=False)\nclass A: pass", "@dataclass(repr=True)\nclass A: pass"),
    ],
)
def test_a_mutant_that_does_the_same_is_not_tried(was, became):
    assert is_equivalent(was, became, frozenset({"Way"}))


@pytest.mark.parametrize(
    ("was", "became"),
    [
        ("x = y is DEFAULT", "x = y == DEFAULT"),
        ("x = y is None", "x = y != None"),
        ("x = os.O_RDWR | os.O_CREAT", "x = os.O_RDWR & os.O_CREAT"),
        ("x = os.O_RDWR | other", "x = os.O_RDWR + other"),
        ("x = a * b", "x = a / b"),
        ("@dataclass(eq=False)\nclass A: pass", "@dataclass(eq=True)\nclass A: pass"),
        ("@other(repr=False)\nclass A: pass", "@other(repr=True)\nclass A: pass"),
        ("x = 1", "x = 2"),
    ],
)
def test_a_mutant_that_may_do_something_else_is_tried(was, became):
    assert not is_equivalent(was, became, frozenset({"Way"}))


def test_what_is_executed_in_a_world_of_its_own_is_charged_to_the_test_in_there():
    tests = {"t.py::first", "t.py::other[a|b]"}
    assert _innermost("t.py::first", tests) == "t.py::first"
    assert _innermost("t.py::first|t.py::other[a|b]", tests) == "t.py::other[a|b]"
    assert _innermost("t.py::other[a|b]", tests) == "t.py::other[a|b]"
    assert _innermost("", tests) is None
