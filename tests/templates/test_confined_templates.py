"""Templates render in a process of their own: what they may use, what becomes of the process, and what it can reach."""

import os
import resource
import select
import signal
import subprocess
import sys
import threading
import time
from math import inf
from pathlib import Path

import pytest
from line_pipe import started
from mutated_templates import broken, fault_of
from turns import turns

from reactor.language.errors import FunctionError
from reactor.language.templates import (
    DEFAULT_LIMITS,
    ENGINES,
    Limits,
    TemplateError,
    template_engine,
)
from reactor.language.templates.sandbox import engine as confined
from reactor.language.templates.sandbox.engine import sandboxed_engine
from reactor.language.templates.sandbox.process import WorkerProcess
from reactor.language.templates.sandbox.responses import HostResponses

BRIEF = Limits(seconds=0.5)
IN_C = (
    "{% set n = namespace(a=[1], b=[1]) %}{% for _ in range(60) %}{% set n.a = [n.a, n.a] %}{% set n.b = [n.b, n.b] %}"
    "{% endfor %}{{ n.a == n.b }}"
)
"""One call into C that compares 2 ** 60 lists, and holds Python's lock."""
LATEST = 10.0
"""Seconds: without a deadline, hostile templates take minutes."""
HELLO = {"jinja": "{{ a }}", "go": "{{ .a }}", "jet": "[[ a ]]"}


def render(kind, source, context=None, functions=None, *, limits=DEFAULT_LIMITS, templates=None):
    compiled = sandboxed_engine(kind, limits).compile(
        source, name="t", delimiters=None, loader=(templates or {}).get
    )
    return compiled.render(context or {}, functions or {})


@pytest.fixture
def helper():
    """A process of the test's own."""
    confined.end_all()
    found = WorkerProcess()
    yield found
    found.end()


def process_id(helper):
    return helper._process.pid


def test_a_call_into_c_that_takes_minutes_ends_at_the_deadline_with_a_place():
    started = time.monotonic()
    with pytest.raises(TemplateError, match=r"takes longer than 0\.5 s") as caught:
        render("jinja", IN_C, limits=BRIEF)
    assert (caught.value.name, caught.value.line) == ("t", 1)
    assert time.monotonic() - started < LATEST
    assert render("jinja", "{{ a }}", {"a": 1}) == "1", "the next one has another process"


def test_while_a_template_is_stuck_in_c_other_threads_go_on():
    """A rendering in this process would stop them for as long as it takes."""
    for turn in turns(0.4):
        turn.seconds = longest_stop_beside_a_stuck_template()


def longest_stop_beside_a_stuck_template():
    """Seconds."""
    render("jinja", "{{ a }}", {"a": 1})  # the process is there
    ended = threading.Event()

    def stuck():
        with pytest.raises(TemplateError):
            render("jinja", IN_C, limits=Limits(seconds=1.0))
        ended.set()

    thread = threading.Thread(target=stuck)
    thread.start()
    gaps, last = [], time.monotonic()
    while not ended.wait(0.001):
        gaps.append(time.monotonic() - last)
        last = time.monotonic()
    thread.join()
    return max(gaps, default=inf)


def test_a_template_that_takes_too_much_memory_fails_alone_with_its_place():
    grows = "one\n" + "".join(f"{{{{ $x{number} := until 900000 }}}}" for number in range(9))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(TemplateError, match="100 MB of memory") as caught:
        render("go", grows, limits=Limits(seconds=30.0, steps=10**8, characters=10**9))
    assert caught.value.line == 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000
    assert render("go", "{{ .a }}", {"a": 1}) == "1"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
def test_a_process_that_dies_is_an_error_of_that_template_alone(number):
    def kill():
        (pid,) = {process_id(each) for each in _busy()}
        os.kill(pid, number)
        return "x"

    with pytest.raises(TemplateError, match=f"ended the process that renders it: signal {int(number)}"):
        render("jinja", "{{ kill() }}{{ kill() }}", {}, {"kill": kill}, limits=Limits(seconds=20.0))
    assert render("jinja", "{{ a }}", {"a": 1}) == "1"


def test_a_process_that_was_killed_while_it_was_idle_is_replaced_before_a_template_fails():
    """As by the kernel, for want of memory: the template has done nothing."""
    assert render("jinja", "{{ a }}", {"a": 1}) == "1"
    idle = list(confined._pool._idle)
    before = len(os.listdir("/proc/self/fd"))
    for each in idle:
        os.kill(process_id(each), signal.SIGKILL)
        each.wait()
    assert render("jinja", "{{ a }}", {"a": 2}) == "2"
    assert not {*idle} & {*confined._pool._idle}
    assert len(os.listdir("/proc/self/fd")) <= before


def _busy():
    """The processes that are not idle: found by their parent, which is us."""
    idle = {process_id(each) for each in confined._pool._idle}
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children")
    assert children.exists()
    for status in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = status.read_bytes().split(b"\0")
            parent = int((status.parent / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        pid = int(status.parent.name)
        if (
            b"reactor.language.templates.sandbox.worker" in words
            and parent == os.getpid()
            and pid not in idle
        ):
            yield type("Found", (), {"_process": type("P", (), {"pid": pid})})


def test_the_process_has_no_privileges_and_nothing_of_ours_open(helper):
    pid = process_id(helper)
    status = Path(f"/proc/{pid}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    if os.geteuid() == 0:
        assert set(fields["Uid"].split()) == set(fields["Gid"].split()) == {"65534"}
        assert fields["Groups"].strip() == ""
    assert int(fields["CapEff"], 16) == int(fields["CapPrm"], 16) == 0 or os.geteuid() != 0
    assert fields["NoNewPrivs"] == "1"
    targets = [os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir()]
    assert sorted(target.split(":")[0] for target in targets if target != "/dev/null") == sorted(
        [f"/proc/{pid}/statm", "socket"]
    )
    limits = Path(f"/proc/{pid}/limits").read_text()
    for name in ("Max core file size", "Max file size", "Max processes"):
        assert [line.split()[-3] for line in limits.splitlines() if line.startswith(name)] == ["0"], name
    environment = Path(f"/proc/{pid}/environ").read_bytes().decode()
    assert "PATH=" not in environment
    assert "HOME=" not in environment


def test_the_process_never_outlives_its_parent(tmp_path):
    code = (
        "import os, sys, signal, threading\n"
        "from reactor.language.templates.sandbox.process import WorkerProcess\n"
        "from reactor.language.templates.sandbox.engine import sandboxed_engine\n"
        f"source = {IN_C!r}\n"
        "threading.Thread(target=lambda: sandboxed_engine('jinja').compile(source, name='t', delimiters=None,"
        " loader={}.get).render({}, {}), daemon=True).start()\n"
        "helper = WorkerProcess()\n"
        "print(helper._process.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )

    with started([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        pid = int(parent.stdout.readline())
        descriptor = os.pidfd_open(pid)
        parent.kill()
        parent.wait()

    readable, _, _ = select.select([descriptor], [], [], 60.0)
    os.close(descriptor)
    assert readable, "it is still there"


LIMITED = (
    "from reactor.language.templates.sandbox.engine import sandboxed_engine\n"
    "compiled = sandboxed_engine('jinja').compile('{{ 6 * 7 }}', name='t', delimiters=None, loader={}.get)\n"
    "print(compiled.render({}, {}))\n"
)
MAY_NOT_RAISE = ("setpriv", "--bounding-set=-sys_resource", "--inh-caps=-sys_resource")


def test_templates_render_where_the_limit_of_open_files_is_lower_than_theirs():
    command = [*MAY_NOT_RAISE, "prlimit", "--nofile=40", sys.executable, "-c", LIMITED]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("42\n", "")


def test_the_error_says_what_a_process_for_templates_lacks(tmp_path):
    program = "import subprocess, sys\nsubprocess.run(['umount', '--lazy', '/proc'], check=True)\n" + LIMITED
    done = subprocess.run(
        ["unshare", "--mount", sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert "can't be started: [Errno 2] No such file or directory: '/proc/self/statm'" in done.stderr


def test_a_worker_has_imported_what_divides_long_numbers():
    """The worker runs as nobody, who may not be allowed to read the libraries of Python."""
    code = (
        "import importlib, sys\n"
        "from reactor.language.templates.sandbox import worker\n"
        "for name in worker._IMPORTED_ON_USE:\n"
        "    importlib.import_module(name)\n"
        "late = []\n"
        "sys.addaudithook(lambda event, given: late.append(given[0]) if event == 'import' else None)\n"
        "divmod(7 ** 20000, 3 ** 9000)\n"
        "print(*late)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout == b"\n"


@pytest.mark.parametrize("kind", ENGINES)
def test_what_a_template_is_given_is_the_same_as_in_this_process(kind):
    class Facts(dict):
        def __missing__(self, key):
            return self[key.lower()]

    context = {
        "a": {"b": [1, 2.5, None, True, "é\ud800"], "n": {"1": "x"}},
        "facts": Facts(host=Facts(name="h")),
    }
    if kind == "go":
        source = "{{ .a.b }}{{ .a.n }}{{ .facts.Host.Name }}{{ add2 1 2 }}"
    elif kind == "jet":
        source = "[[ a.b ]][[ a.n ]][[ facts.Host.Name ]][[ add2(1, 2) ]]"
    else:
        source = "{{ a.b }}{{ a.n }}{{ facts.Host.Name }}{{ add2(1, y=2) }}"

    def add2(x: int, y: int = 0) -> int:
        return x + y

    here = template_engine(kind).compile(source, name="t", delimiters=None, loader={}.get)
    assert render(kind, source, context, {"add2": add2}) == here.render(context, {"add2": add2})


@pytest.mark.parametrize("kind", ENGINES)
def test_what_a_function_raises_that_is_no_mistake_comes_through(kind):
    class StopError(Exception):
        pass

    def stop():
        raise StopError

    call = {"jinja": "{{ stop() }}", "go": "{{ stop }}", "jet": "[[ stop() ]]"}[kind]
    with pytest.raises(StopError):
        render(kind, call, {}, {"stop": stop})
    assert render(kind, HELLO[kind], {"a": 1}) == "1", "the process is still of use"


def test_a_function_may_render_another_template_meanwhile():
    def inner():
        return render("jet", "[[ a ]]", {"a": "inner"})

    assert render("jinja", "<{{ inner() }}>", {}, {"inner": inner}) == "<inner>"


def test_what_the_process_asks_for_is_only_what_was_given():
    answers = HostResponses({"facts": type("M", (dict,), {})(a=1)}, {})
    for question in (
        {"call": "open", "arguments": ["/etc/shadow"], "named": {}},
        {"read": ["Data"], "key": "x"},
        {},
    ):
        answer, texts = answers.answer(question, {}.get)
        assert "mistake" in answer
        assert texts == []


def test_a_mistake_in_a_function_has_the_place_of_the_call():
    def fails():
        raise FunctionError("no such key", "there is another")

    with pytest.raises(TemplateError, match="no such key") as caught:
        render("go", "one\n  {{ fails }}", {}, {"fails": fails})
    assert (caught.value.line, caught.value.hint) == (2, "there is another")


HOSTILE = [
    ("jinja", "{{ 1.5|round(40000000, 'ceil') }}"),
    ("jinja", "{{ 1|round(-40000000) }}"),
    ("jinja", "{{ ('x' * 10000 ~ '%999999999d') % 1 }}"),
    ("jinja", "{{ ('%' ~ '9' * 5000 ~ 'd') % 1 }}"),
    ("jinja", "{{ " + "[" * 60 + "x" + "]" * 60 + "|pprint }}"),
    ("jinja", "{{ [[x]]" + "|list" * 300 + " }}"),
    ("go", '{{ printf "%' + "0" * 40_000 + '" }}'),
    ("go", '{{ printf "%' + "1" * 40_000 + 'd" 1 }}'),
    ("go", '{{ printf "%[' + "1" * 40_000 + ']d" 1 }}'),
    ("go", "{{ " + "1" * 4301 + " }}"),
    ("go", "{{ uniq (until 100000) | len }}"),
    ("jet", "[[ " + "1" * 4301 + " ]]"),
]


@pytest.mark.parametrize(("kind", "source"), HOSTILE, ids=lambda value: value[:40])
def test_a_hostile_template_ends_within_two_seconds_as_a_text_or_with_a_place(kind, source):
    fault, _, spent = fault_of(kind, source)
    assert fault is None
    assert spent < LATEST


@pytest.mark.parametrize("kind", ENGINES)
def test_five_thousand_broken_templates_end_as_texts_or_with_a_place(kind):
    found = [(source, *fault_of(kind, source)) for source in broken(kind, seed=1, count=5000)]
    assert [(source, fault) for source, fault, _, _ in found if fault is not None] == []
    assert sum(is_error for _, _, is_error, _ in found) > 1000
    assert max(spent for *_, spent in found) < LATEST
