"""A template or an expression that would take for ever holds no repair of others up, in a real converger."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import pytest
from processes_of_cli import finish, spawned, wait_until
from turns import before_others

STUCK_IN_C = (
    "{% set n = namespace(a=[1], b=[1]) %}{% for _ in range(60) %}{% set n.a = [n.a, n.a] %}{% set n.b = [n.b, n.b] %}"
    "{% endfor %}{{ n.a == n.b }}"
)
"""One call into C that compares 2 ** 60 lists, and holds Python's lock."""
NESTED = ("{{ [[x]]" + "|list" * 100 + " }}") * 100
SAMPLES = 12
BEYOND_USUAL = 0.1
"""Seconds, or as long again as usual. At the median, because a busy machine is late at times."""
LATEST = 2.5
"""Seconds: none comes near the deadline of five."""


def repairs(root, heard):
    """Seconds until what was done to the file was undone, several times; each repair is over before the next damage."""
    found = []
    for _ in range(SAMPLES):
        (root / "damage").write_text("foreign")
        begun = time.monotonic()
        os.replace(root / "damage", root / "kept")
        while (root / "kept").read_text() != "kept":
            assert time.monotonic() - begun < 60
            time.sleep(0.0005)
        found.append(time.monotonic() - begun)
        heard(
            lambda event: str(event.get("ref")).endswith("/kept") and event.get("result") == "changed",
            new=True,
        )
    return found


def repairs_beside_another_program(root, heard):
    """As long as they take while something else uses a processor, as a template does in a process of its own."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        try:
            return repairs(root, heard)
        finally:
            other.kill()


def workers_of(pid):
    """The processor's seconds that the processes of ``pid`` which render templates have used, by their ids."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if (
                int(fields[1]) == pid
                and b"reactor.language.templates.sandbox.worker" in (entry / "cmdline").read_bytes()
            ):
                found[int(entry.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except OSError:
            continue
    return found


def assert_hardly_later(busy, usual):
    assert median(busy) < median(usual) + max(BEYOND_USUAL, median(usual))
    assert max(busy) < LATEST


@pytest.fixture
def running(tmp_path):
    """A converger on a file, a scaffold, and a file whose content is a template: it, and what it said last."""
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/a").write_text("{{ 1 }}")
    (tmp_path / "b.jet").write_text("[[ 1 ]]")
    (tmp_path / "c.templ").write_text("{{ 1 }}")
    ids = f"owner: '{os.getuid()}', group: '{os.getgid()}', mode: '0644', ensure: present"
    (tmp_path / "site.yaml").write_text(f"""resources:
  - file:
      - defaults: {{{ids}}}
      - {tmp_path}/kept: {{content: kept}}
      - {tmp_path}/late: {{content: "{{{{ template('b.jet') }}}}"}}
      - {tmp_path}/expression: {{content: "{{{{ template('c.templ') }}}}"}}
  - scaffold:
      - {tmp_path}/out: {{ensure: present, source: {tmp_path}/templates}}
""")
    with before_others(), spawned("run", "--format", "json", tmp_path / "site.yaml", cwd=tmp_path) as process:
        known = []

        def heard(matches, *, new=False):
            for event in [] if new else known:
                if matches(event):
                    return event
            for line in process.stdout:
                known.append(json.loads(line))
                if matches(known[-1]):
                    return known[-1]
            raise AssertionError("it ended")

        heard(lambda event: event["event"] == "converged")
        heard(lambda event: str(event.get("ref")).endswith("/kept") and event.get("result") == "changed")
        yield process, tmp_path, heard
        process.send_signal(signal.SIGTERM)
        finish(process)


@pytest.mark.parametrize("source", [STUCK_IN_C, NESTED], ids=["in C", "nested"])
def test_a_file_is_repaired_at_once_while_a_template_of_a_scaffold_takes_for_ever(running, source):
    process, root, heard = running
    usual = repairs_beside_another_program(root, heard)
    (root / "templates/a").write_text(source)
    wait_until(lambda: any(spent > 0.3 for spent in workers_of(process.pid).values()))
    busy = repairs(root, heard)
    assert_hardly_later(busy, usual)
    event = heard(lambda event: str(event.get("ref")).startswith("scaffold#") and event.get("error"))
    assert "takes longer than 5 s" in event["error"]
    assert f"{root}/templates/a:1:" in event["error"]
    assert (root / "out/a").read_text() == "1", "nothing of the tree was changed"


@pytest.mark.parametrize(
    ("name", "source", "words"),
    [
        ("b.jet", "[[ l := ints(0, 90000) ]][[ range l ]][[ range l ]][[ end ]][[ end ]]", "b.jet:1:"),
        ("c.templ", "{{ len(map(1..900, map(1..900, # * #))) }}" * 3, "budget exceeded"),
    ],
    ids=["jet", "expression"],
)
def test_a_file_is_repaired_at_once_while_an_expression_of_another_takes_long(running, name, source, words):
    _, root, heard = running
    usual = repairs_beside_another_program(root, heard)
    (root / name).write_text(source)
    busy = repairs(root, heard)
    assert_hardly_later(busy, usual)
    event = heard(lambda event: event.get("error"))
    assert words in event["error"]
