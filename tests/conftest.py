import gc
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from files_of_cli import put
from hypothesis import HealthCheck, settings
from namespaces import enter_own_mounts
from processes_of_cli import Done
from xdist.scheduler import LoadScopeScheduling

from reactor.cli.group import reactor as command
from reactor.hostfs import fsync
from reactor.resource import redaction
from reactor.resource.output import output_sink

# The same examples in every run, however busy the machine is: what fails has been broken by the change at hand. To look
# for more, run with --hypothesis-profile=default.
settings.register_profile(
    "steady", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")

# In the background of a script, and under nohup, these are ignored, and so they would be by every process that a test
# starts in order to send it one. A handler that does nothing is not handed down.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda *_: None)

HERE = Path(__file__).parent
IN_A_WORLD_OF_THEIR_OWN = ("tests/hostkinds/", "tests/matrix/", "tests/systemd/")
"""One is made for all the tests of such a directory."""

LONGEST_FIRST = (
    "tests/systemd/",
    "tests/attacks/test_races.py",
    "tests/soak/",
    "tests/matrix/",
    "tests/floods/",
    "tests/docs/test_commands.py",
    "tests/packaging/",
    "tests/crash/",
    "tests/hostkinds/",
    "tests/supply/",
    "tests/docs/",
    "tests/control/",
    "tests/package/",
    "tests/ui/",
)
"""These take most of the time. They begin first, so that no process works alone at the end."""


def pytest_xdist_auto_num_workers():
    """Three processes more than processors: in a quarter of their time and more, tests wait."""
    return len(os.sched_getaffinity(0)) + 3


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Put the longest files first; all others stay in the order of their names."""

    @cache
    def rank(path):
        name = f"tests/{path.relative_to(HERE)}"
        longest = (number for number, prefix in enumerate(LONGEST_FIRST) if name.startswith(prefix))
        return next(longest, len(LONGEST_FIRST)), path

    items.sort(key=lambda item: rank(item.path))


class ByFile(LoadScopeScheduling):
    """Gives a file to one process as a whole, and so a directory with a world of its own."""

    def _split_scope(self, nodeid):
        file = nodeid.partition("::")[0]
        return next((world for world in IN_A_WORLD_OF_THEIR_OWN if file.startswith(world)), file)


def pytest_xdist_make_scheduler(config, log):
    return ByFile(config, log)


def another_beginning(paths):
    """Where all tests are collected by several processes, each begins elsewhere, and finds the files of the others compiled.

    Else they all would compile the same file at the same time, and so each of them all files. It makes no difference for
    the order of the tests.
    """
    number, count = (os.environ.get(f"PYTEST_XDIST_WORKER{word}", "") for word in ("", "_COUNT"))
    if not number or paths != ["tests"]:
        return paths
    files = sorted(HERE.rglob("test_*.py"))
    begin = files[len(files) * int(number.removeprefix("gw")) // int(count)].relative_to(HERE).parts[0]
    entries = sorted({file.relative_to(HERE).parts[0] for file in files})
    found = [str(HERE / entry) for entry in entries]
    return found[entries.index(begin) :] + found[: entries.index(begin)]


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Keep the garbage collector from looking at what is collected: all of it stays to the end."""
    session.config.args[:] = another_beginning(session.config.args)
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def mounts_of_its_own(pytestconfig, tmp_path_factory):
    """What one process of xdist mounts, no other sees: a mount that hangs would be in the way of all of them.

    Temporary files are in memory: on a disk, making and removing a million of them takes minutes of processor time. As
    much room as a disk has is promised, which servers ask for and do not use.
    """
    if hasattr(pytestconfig, "workerinput"):
        with suppress(PermissionError):
            enter_own_mounts()
            directory = tmp_path_factory.getbasetemp()
            subprocess.run(
                ["mount", "-t", "tmpfs", "-o", "mode=700,size=64g", "tests", directory], check=True
            )


@pytest.fixture(scope="session")
def numbered_directory(tmp_path_factory):
    """Make a new directory by a name, which a number follows.

    pytest itself reads the names of all directories each time: of thousands of tests, that would be minutes.
    """
    base, numbers = tmp_path_factory.getbasetemp(), Counter()

    def make(name):
        directory = base / f"{name}_{numbers[name]}"
        numbers[name] += 1
        directory.mkdir(0o700)
        return directory

    return make


@pytest.fixture
def tmp_path(request, numbered_directory):
    """In place of pytest's own."""
    return numbered_directory(re.sub(r"\W", "_", request.node.name)[:29])


@pytest.fixture(autouse=True)
def state_directory(numbered_directory, monkeypatch):
    """Each test keeps state in a directory of its own, and so do the processes it starts."""
    directory = numbered_directory("state") / "reactor"
    monkeypatch.setenv("REACTOR_STATE_DIR", str(directory))
    return directory


@pytest.fixture
def in_memory():
    """A directory in memory: no change waits for a disk, which may be busy, or in a thread for it."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        yield Path(directory)


@pytest.fixture
def on_disk(monkeypatch):
    """What is in memory counts as on a disk, also where /tmp is in memory."""
    monkeypatch.setattr(fsync, "_MEMORY", frozenset())


@pytest.fixture(autouse=True)
def no_secrets_stay():
    """What is secret in one test is not masked in the next."""
    yield
    redaction.forget_all()


@pytest.fixture
def reactor(capfd):
    """Run a command in this process, through the real option parser and the real engine."""

    def call(*args):
        capfd.readouterr()
        usual = sys.getswitchinterval()
        try:
            with pytest.raises(SystemExit) as ended:
                command([str(arg) for arg in args], prog_name="reactor")
        finally:
            sys.setswitchinterval(usual)  # a continuous run has another
        return Done(ended.value.code or 0, *capfd.readouterr())

    return call


@pytest.fixture
def manifest(tmp_path):
    """Write a manifest; ``{dir}`` is a directory of the test, ``{own}`` the properties every file needs."""

    def write(text, name="manifest.yaml"):
        own = f'owner: "{os.getuid()}", group: "{os.getgid()}", mode: "0644"'
        path = tmp_path / name
        put(path, text.replace("{dir}", str(tmp_path)).replace("{own}", own))
        return path

    return write


@pytest.fixture
def open_tmp_path(tmp_path):
    """``tmp_path`` for a test that becomes somebody else: pytest makes the directories above it for us alone."""
    for directory in (tmp_path, *tmp_path.parents):
        if directory.parent.is_relative_to(tempfile.gettempdir()):
            directory.chmod(0o755)
    return tmp_path


def pytest_sessionfinish(session):
    """In CI, where everything can run, a skipped test is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture
def said():
    """The lines that resources say."""
    lines = []
    token = output_sink.set(lines.append)
    yield lines
    output_sink.reset(token)
