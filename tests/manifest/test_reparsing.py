"""The tree of a text that has changed a little is the tree of the new text."""

from __future__ import annotations

import random

import pytest

from reactor.manifest import reparsing
from reactor.manifest.nodes import Mapping
from reactor.manifest.reparsing import Reparser
from reactor.manifest.source import Problems, Source
from reactor.manifest.yaml_tree import parse

TEXT = """\
# first
data:
  web: {port: 80, name: "a: b"}
  list:
  - 1
  - 0x10
  text: |
    one
      # two

  empty:
defaults:
  file:
    owner: root
resources:
  - file:
      - /a:
          ensure: present
          content: |+
            x

          # c
      - /b: {mode: 0644}
      - /c:
          require:
            - file#/a
            - 'x
              y'
  - exec:
    - run: {command: "a
        b"}
    - last:
        timeout: 5
# the end
settings:
  jobs: 1
"""
PIECES = [
    "x", "1", ": ", ":", "\n", "  ", "    ", "- ", "-", "#", " # c", "'", '"', "[", "]", "{", "}", "|", ">", "&a ", "*a", "!x ",
    "<<: {a: 1}", "? ", "---\n", "...\n", "%YAML 1.1\n", "\t", "data:\n", "x: 1\n", "      - /d: {a: b}\n", "  - user:\n", "@",
    "\u2028", "\x85", "\x07", "\U0001f600", "\ufeff", "null", "~",
]  # fmt: skip


def shown(node):
    """A value with all its offsets."""
    if not hasattr(node, "at"):
        return type(node).__name__, node if isinstance(node, str | int | float | bool | None) else repr(node)
    inside = node.values() if isinstance(node, Mapping) else node
    keys = [*node] if isinstance(node, Mapping) else None
    return type(node).__name__, node.at, keys, [*node._marks], dict(node.raws), [*map(shown, inside)]


def checked(reparser, text):
    """Parse a text again, and compare."""
    again, fresh = Problems(Source("m.yaml", text)), Problems(Source("m.yaml", text))
    found = reparser.parse(again)
    assert shown(found) == shown(parse(fresh))
    assert again.sorted() == fresh.sorted()


def edits(seed, base, count):
    """Random texts, each made of the one before or of ``base``."""
    chance, text = random.Random(seed), base
    for step in range(count):
        start = chance.randrange(len(text) + 1)
        end = start + chance.choice((0, 0, 0, 1, 2, 30))
        text = base if step % 9 == 0 else text[:start] + chance.choice(("", *PIECES)) + text[end:]
        yield text


@pytest.mark.parametrize("seed", range(6))
def test_the_tree_of_a_changed_text_is_that_of_the_new_text(seed):
    reparser = Reparser()
    for text in edits(seed, TEXT, 150):
        checked(reparser, text)


@pytest.mark.parametrize(
    ("base", "texts"),
    [
        ("{\na: 1,\nb: 2\n}\n", ["{\na: 12,\nb: 2\n}\n"]),
        ('r:\n  - a: "x\ny"\n', ['r:\n  - a: "x"\ny"\n']),
        ("r:\n  - f:\n      - a: b\n      - c: d\n", ["r:\n  - f:\n      - a: b\n      - c: d\n   x"]),
        ("a: 1\nb: 2\n", ["a: 1\na: 2\n", "a: 1\nbc: 2\n", "#\na: 1\nb: 2\n", "a: 1\n b: 2\n", "a: 1\n"]),
        ("r:\n- a: 1\n- b: 2\ns: 3\n", ["r:\n- a: 1\n- b: 22\ns: 3\n", "r:\n- a: 1\n- b: |\ns: 3\n"]),
        ("r:\n  - a: &x 1\n  - b: 2\n", ["r:\n  - a: &x 1\n  - b: *x\n", "r:\n  - a: 1\n  - b: 2\n"]),
        ("%TAG ! tag:x,1:\n---\na: 1\nb: 2\n", ["%TAG ! tag:x,1:\n---\na: !y 1\nb: 2\n"]),
        ("a: 1\nb: 2\n", ["a: 1\n\ufeffb: 2\n", "a: 1\n? b\n"]),
        ("r:\n  - a: 1\n  - b: 2\n", ["r:\n  - ?     a\n  - b: 2\n"]),
        ("", ["a: 1\n", "", "a: 1\nb: 2"]),
    ],
)  # fmt: skip
def test_where_a_part_means_something_else_alone_the_whole_is_parsed(base, texts):
    reparser = Reparser()
    for text in texts:
        checked(reparser, base)
        checked(reparser, text)


@pytest.mark.parametrize(
    ("old", "new", "most"),
    [("mode: 0644", "mode: 06440", 60), ("owner: root", "owner: r", 60), ("timeout: 5", "timeout: 55", 60)],
)
def test_only_the_part_around_a_change_is_parsed(monkeypatch, old, new, most):
    sizes = []

    def counting(problems, **options):
        sizes.append(len(problems.source.text))
        return parsed(problems, **options)

    parsed = reparsing.parsed
    monkeypatch.setattr(reparsing, "parsed", counting)
    reparser = Reparser()
    checked(reparser, TEXT)
    assert sizes == [len(TEXT)]
    checked(reparser, TEXT.replace(old, new))
    assert all(size < most for size in sizes[1:])
    assert sizes[1:]
