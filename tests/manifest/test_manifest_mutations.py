"""Whatever happens to a manifest, reading it ends in resources or in diagnostics, never in a traceback."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_kinds import KINDS

from reactor.manifest import read_manifests
from reactor.manifest.report import render

NATIVE = """\
# A manifest with a bit of everything.
settings: {ordering: graph, jobs: 4}
data: &d
  mode: 0644
  limits: &l {a: 1, b: 2}
resources:
  - page:
      - defaults: {ensure: present, mode: 0644, tags: [a, "b c"]}
      - /srv/a: {content: "one\\ttwo", alias: front}
      - /srv/b:
          content: |
            three
              four
          limits: {<<: *l, c: 3}
          require: [job#make]
          meta:
            retry: 2
            delay: 1s
      - /srv/c: ~
  - job:
      name: make
      command: >-
        make all
        && make install
      refresh_only: true
      subscribe: page#front
"""

CCM = """\
hierarchy: {order: [default], merge: first}
overrides:
  default: {a: 1}
ccm:
  fail_on_error: true
  pre_message: before
  resources:
    - page:
        - /srv/a: {ensure: absent, size: 0x10, ratio: 1.5, public: true, pause: 5m}
    - job: [{first: {}}, {second: {require: job#first}}]
"""

PIECES = [
    *"{}[]:,-#&*!|>'\"%@`?<~\t\r\n \0",
    "{{",
    "}}",
    "${",
    "<<: ",
    "*l",
    "&l ",
    "- ",
    ": ",
    "!!int ",
    "---\n",
]
PIECES += ["null", "true", "[]", "{}", "9" * 30, "\N{COMBINING ACUTE ACCENT}", "\ufeff", "\x85", "名"]


def _flip(content, draw):
    at = draw(st.integers(0, len(content) - 1))
    return content[:at] + bytes([content[at] ^ (1 << draw(st.integers(0, 7)))]) + content[at + 1 :]


def _delete(content, draw):
    start = draw(st.integers(0, len(content) - 1))
    return content[:start] + content[start + draw(st.integers(1, 20)) :]


def _insert(content, draw):
    at = draw(st.integers(0, len(content)))
    return content[:at] + draw(st.sampled_from(PIECES)).encode() + content[at:]


def _duplicate_line(content, draw):
    lines = content.splitlines(keepends=True)
    at = draw(st.integers(0, len(lines) - 1))
    return b"".join([*lines[: at + 1], *lines[at:]])


def _indent_line(content, draw):
    lines = content.splitlines(keepends=True)
    at = draw(st.integers(0, len(lines) - 1))
    lines[at] = draw(st.sampled_from([b" ", b"  ", b"\t"])) + lines[at]
    return b"".join(lines)


def _dedent_line(content, draw):
    lines = content.splitlines(keepends=True)
    at = draw(st.integers(0, len(lines) - 1))
    lines[at] = lines[at].lstrip(b" ") or b"\n"
    return b"".join(lines)


def _swap_words(content, draw):
    words = content.split(b" ")
    first, second = (draw(st.integers(0, len(words) - 1)) for _ in range(2))
    words[first], words[second] = words[second], words[first]
    return b" ".join(words)


MUTATIONS = [_flip, _delete, _insert, _duplicate_line, _indent_line, _dedent_line, _swap_words]


@st.composite
def mutants(draw):
    content = draw(st.sampled_from([NATIVE, CCM])).encode()
    for _ in range(draw(st.integers(1, 4))):
        if len(content) > 1:
            content = draw(st.sampled_from(MUTATIONS))(content, draw)
    return content


@pytest.fixture(scope="module")
def path():
    with tempfile.TemporaryDirectory() as directory:
        yield Path(directory) / "site.yaml"


@pytest.mark.parametrize(("text", "refs"), [(NATIVE, 4), (CCM, 3)])
def test_the_manifests_to_be_mutated_are_good(read, text, refs):
    reading = read(text)
    assert reading.diagnostics == []
    assert len(reading.manifest.resources) == refs


@settings(max_examples=400)
@given(content=mutants())
def test_a_mutated_manifest_never_ends_in_a_traceback(path, content):
    path.write_bytes(content)
    manifest, diagnostics = read_manifests([str(path)], KINDS)
    lines = content.count(b"\n") + 1
    for found in diagnostics:
        assert found.message
        assert 1 <= found.place.line <= lines
        assert found.place.column >= 1
        assert all(1 <= place.line <= lines for _, place in found.notes)
    report = render(diagnostics, color=False)
    assert all(char.isprintable() or char == "\n" for char in report)
    assert not diagnostics or report.endswith(" in 1 file\n")
    refs = [resource.ref for resource in manifest.resources]
    assert len(set(refs)) == len(refs)
    assert all(manifest.locate(index) == each.declared.place for index, each in enumerate(manifest.resources))


@settings(max_examples=100)
@given(content=st.binary(max_size=200))
def test_any_bytes_end_in_a_manifest_or_in_diagnostics(path, content):
    path.write_bytes(content)
    manifest, diagnostics = read_manifests([str(path)], KINDS)
    assert diagnostics or manifest.resources == []
    assert render(diagnostics, color=True)
