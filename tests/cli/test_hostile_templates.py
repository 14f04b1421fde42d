"""A template or an expression that would take for ever holds no repair of others up, in a real converger."""

import json
import os
import signal
import time
from pathlib import Path

import pytest
from processes_of_cli import finish, spawned, wait_until

STUCK_IN_C = "{{ ('f' * 4000000)|int(base=16) // ('f' * 2000000)|int(base=16) }}"
"""One call that takes minutes and holds Python's lock."""
NESTED = "{{ [[x]]" + "|list" * 300 + " }}"
SAMPLES = 12
BEYOND_CALM = 0.05
"""Seconds. At the 80th percentile, because a busy machine may be late now and then; none may come near the deadline."""
LATEST = 1.0


def repair(path):
    """Seconds until what was done to the file is undone."""
    begun = time.monotonic()
    path.write_text("foreign")
    while path.read_text() != "kept":
        assert time.monotonic() - begun < 20
        time.sleep(0.0005)
    return time.monotonic() - begun


def workers_of(pid):
    """The processor's seconds that the processes of ``pid`` which render templates have used, by their ids."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid and b"reactor.templates.worker" in (entry / "cmdline").read_bytes():
                found[int(entry.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except OSError:
            continue
    return found


def late(found):
    return sorted(found)[len(found) * 8 // 10]


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
    with spawned("run", "--format", "json", tmp_path / "site.yaml", cwd=tmp_path) as process:

        def heard(matches):
            for line in process.stdout:
                event = json.loads(line)
                if matches(event):
                    return event
            raise AssertionError("it ended")

        heard(lambda event: event["event"] == "converged")
        yield process, tmp_path, heard
        process.send_signal(signal.SIGTERM)
        finish(process)


@pytest.mark.parametrize("source", [STUCK_IN_C, NESTED], ids=["in C", "nested"])
def test_a_file_is_repaired_at_once_while_a_template_of_a_scaffold_takes_for_ever(running, source):
    process, root, heard = running
    calm = [repair(root / "kept") for _ in range(SAMPLES)]
    (root / "templates/a").write_text(source)
    wait_until(lambda: any(spent > 0.3 for spent in workers_of(process.pid).values()))
    busy = [repair(root / "kept") for _ in range(SAMPLES)]
    assert late(busy) < late(calm) + BEYOND_CALM
    assert max(busy) < LATEST
    event = heard(lambda event: event.get("ref", "").startswith("scaffold#") and event.get("error"))
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
    calm = [repair(root / "kept") for _ in range(SAMPLES)]
    (root / name).write_text(source)
    busy = [repair(root / "kept") for _ in range(SAMPLES)]
    assert late(busy) < late(calm) + BEYOND_CALM
    assert max(busy) < LATEST
    event = heard(lambda event: event.get("error"))
    assert words in event["error"]
