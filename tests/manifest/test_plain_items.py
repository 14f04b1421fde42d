"""A long text is read without the parser where that is the same: values, offsets of all nodes, and errors.

For more documents, or with another seed: ``REACTOR_YAML_DOCUMENTS=1000000 REACTOR_YAML_SEED=7 pytest -s THIS_FILE``.
"""

import os
import random

import pytest

from reactor.manifest import plain_items, shortened_text, yaml_tree
from reactor.manifest.nodes import Mapping
from reactor.manifest.source import Problems, Source
from reactor.manifest.yaml_tree import parsed

DOCUMENTS = int(os.environ.get("REACTOR_YAML_DOCUMENTS", "1500"))
SEED = int(os.environ.get("REACTOR_YAML_SEED", "21"))

HEADS = (
    *(
        "resources:\n",
        "resources:\n  - file:\n",
        "",
        "# comment\n",
        "a: 1\nb:\n",
        "---\n",
        "%YAML 1.1\n---\n",
        "x:\n- a\n",
    ),
    *(
        "x: |\n",
        "x: >-\n  a\n\n",
        "x: 'a\n",
        'x: "a\n',
        "x: [a,\n",
        "x: {a: b}\ny:\n",
        "x: &r\n",
        "x: &a 1\ny: *a\nz:\n",
    ),
    *(
        "? a\n: ",
        "? a\n",
        "- - ",
        "-\n",
        "- a\n-",
        "a: b\n  c\n",
        "a: b\n  # c\n",
        "\n",
        "x: !!seq\n",
        "x: !t\n",
        "x:\n - [a, *b]\n",
    ),
    *(
        "\ufeffa:\n",
        "\u00e9:\n",
        "a: \u2028\nb:\n",
        "a: \x85\nb:\n",
        "  \n",
        "\t\n",
        "x: |2\n",
        "x:\n  - a: 'b\n\n    c'\n",
        "a:   \n",
    ),
)
TAILS = (
    *(
        "",
        "z: 1\n",
        "# end\n",
        "...\n",
        "---\na: 1\n",
        "      more text\n",
        "          more text\n",
        "\n\n",
        "\t\n",
        "- x\n",
        "  - x\n",
    ),
    *(
        "a",
        "'",
        '"',
        "}",
        "  z: 1\n",
        "\x00",
        "z: *r\n",
        "z: *nowhere\n",
        "z: &x [*x]\n",
        "resources: 1\n",
        "  :\n",
        "z:\n  <<: {a: 1}\n",
    ),
)
SCALARS = (
    *("a", "/etc/a.conf", "0644", "1.10", "true", "null", "~", "yes", "on", "0x1F", "1_000", "1:30", ".inf", "-.5", "+1", "0o7", "012"),
    *("=", "<<", "2001-01-01", "2001-01-01T00:00:00Z", "12:30:45", "1e3", "1.", ".", "..", "...", "---", "-", "- a", "-a", "?", "? a", "?a"),
    *(":", ":a", "a:", "a:b", "a: b", "a :b", "a : b", "a::b", "a#b", "a #b", "a # b", "#a", "a b", "a  b", "a ", " a", "a\t", "\ta", "a\tb"),
    *("'a'", "''", "'it''s'", "'a", "a'", "'a' b", "'a'b", "' a '", "'a: b'", "'a # b'", "'\t'", '"a"', '""', '"a', 'a"', '"a\\nb"', '"\\t"'),
    *('"\\""', '"\\\\"', '"\\\\n"', '"\\x41"', '"\\u00e9"', '"\\ud83d\\ude00"', '"\\q"', '"\\/"', '"a" b', '"a: b"', '"\t"', '"a\\', '"\\\\\\""'),
    *("[a]", "{a: b}", "[", "]", "{", "}", "{{ a }}", "'{{ a }}'", "a{{b}}", "a,b", "a, b", "a]", ",a", "&a b", "*a", "!a b", "!!str 1", "|", ">", "|-"),
    *("%a", "@a", "`a", "a%", "a@b", "a`", "$a", "(a)", "^a", "a;b", "\\a", "é", "aé", "'é'", '"é"', "a\xa0b", "\xa0a", "日本", "\U0001f600", "'\U0001f600'"),
    *("\ufeff", "a\ufeff", "a\x85b", "'\u2028'", '"\u2029"', "a\x7f", "a\x07", "'\x00'", "a\rb", "a\r", "'a\r'", "9" * 1100, "x" * 1100, "'" + "x" * 1022 + "'"),
    *("NULL", "False", "nan", ".NaN", "-0", "0", "00", "1e", "1.2.3", "0b1", "n", "y", "None", "a\n            b", "'a\n            b'", "a\n\n"),
    *("\uffff", "x" * 1024, "x" * 1023),
)  # fmt: skip
NAMES = ("/f{n}", "f{n}", "/d/e f{n}", "'f{n}'", '"f{n}"', "f{n}")
KEYS = ("content", "mode", "owner", "a b", "'q'", '"r"')
HOSTILE = " \n\t:-#'\"\\[]{},&*!|>%@`?~<=.0aé\x85\u2028\ufeff\x00\r"


class Writer:
    """Writes a document of one or more lists of items, most of which are plain."""

    def __init__(self, choose):
        self._choose = choose
        self._odd = choose.choice((0, 0.005, 0.01, 0.05, 0.3))
        self._is_usual = choose.random() < 0.6
        self._dash = " " * choose.choice((0, 2, 4, 6, 6, 6))
        self._margin = self._dash + " " * choose.choice((3, 4, 4) if self._is_usual else (4, 2, 5))

    def _is_odd(self):
        return self._choose.random() < self._odd

    def _scalar(self, usual):
        return self._choose.choice(SCALARS) if self._is_odd() else usual

    def _item(self, number):
        choose = self._choose
        lines = [f"{self._dash}- {self._scalar(choose.choice(NAMES).format(n=number))}:"]
        for key in choose.sample(KEYS, choose.randint(1, 2)):
            value = choose.choice(
                ('"a\\nb\\n"', "root", "'x: y'", "0644", "true", "a b", f"c{number}", '"\\"\\\\"')
            )
            lines.append(f"{self._margin}{self._scalar(key)}: {self._scalar(value)}")
        if self._is_odd():
            lines.append(
                choose.choice(
                    ("", "# c", f"{self._margin}# c", lines[-1], f"{self._margin}", "    x", lines[0] + " x")
                )
            )
        return "\n".join(lines) + "\n"

    def document(self):
        choose = self._choose
        text = choose.choice(
            ("", "---\n", "resources:\n", "a: b\nresources: # c\n") if self._is_usual else HEADS
        )
        for number in range(choose.choice((1, 1, 2))):
            text += f"list{number}:\n" if number and self._is_usual else ""
            text += "".join(map(self._item, range(choose.randint(3, 16))))
            text += choose.choice(TAILS) if choose.random() < 0.15 else ""
        for _ in range(choose.choice((0, 0, 0, 1, 2)) if self._odd else 0):
            at = choose.randrange(len(text) + 1)
            text = text[:at] + choose.choice(HOSTILE) + text[at + choose.randint(0, 2) :]
        return text


def shown(node):
    """A value with all its offsets."""
    if not hasattr(node, "at"):
        return type(node).__name__, node if isinstance(node, str | int | bool | None) else repr(node)
    inside = node.values() if isinstance(node, Mapping) else node
    keys = [*node] if isinstance(node, Mapping) else None
    return type(node).__name__, node.at, keys, [*node._marks], dict(node.raws), [*map(shown, inside)]


def seen(text):
    """All that comes of parsing a text."""
    problems = Problems(Source("site.yaml", text))
    root, is_separable = parsed(problems)
    return shown(root), is_separable, problems.sorted()


@pytest.fixture
def always(monkeypatch):
    """Look for the shortest runs in all texts; return what was found."""
    found = []
    original = shortened_text.root_of
    monkeypatch.setattr(shortened_text, "root_of", lambda *of: found.append(original(*of)) or found[-1])
    monkeypatch.setattr(plain_items, "_FEWEST", 1)
    monkeypatch.setattr(yaml_tree, "_LONG", 0)
    return found


def items(body):
    return "resources:\n  - file:\n" + "".join(f"      - /f{n}:\n{body.format(n=n)}" for n in range(2000))


PLAIN = '          content: "line {n}\\n"\n          mode: 0644\n'


@pytest.mark.parametrize(
    ("text", "is_used"),
    [
        (items(PLAIN), True),
        (items(PLAIN) + "      - /g: {content: x}\n  - user:\n      - ada:\n", True),
        (items(PLAIN) + "z: 1\nz: 2\n", False),
        (items(PLAIN) + "z: &a 1\n", False),
        ("text: |\n" + items(PLAIN).replace("resources", "  resources"), False),
        (items(PLAIN + "          mode: 0600\n"), False),
        (items("          content: [a]\n"), False),
        (items(PLAIN).replace("line 7\\", "line \u2028"), False),
    ],
)
def test_only_long_lists_of_plain_items_are_read_without_the_parser(monkeypatch, text, is_used):
    found = []
    original = shortened_text.root_of
    monkeypatch.setattr(shortened_text, "root_of", lambda *of: found.append(original(*of)) or found[-1])
    mine = seen(text)
    assert [root is not None for root in found] == [is_used]
    monkeypatch.setattr(yaml_tree, "_LONG", 10**9)
    assert mine == seen(text)


def test_whatever_the_text_is_it_means_what_the_parser_says(monkeypatch, always):
    choose = random.Random(SEED)
    used = 0
    for number in range(DOCUMENTS):
        text = Writer(choose).document()
        monkeypatch.setattr(plain_items, "_PIECE", choose.choice((100, 300, 16384)))
        monkeypatch.setattr(plain_items, "_WINDOW", 4 * plain_items._PIECE)
        monkeypatch.setattr(yaml_tree, "_LONG", 0)
        mine = seen(text)
        used += always.pop() is not None
        monkeypatch.setattr(yaml_tree, "_LONG", 10**9)
        assert mine == seen(text), f"document {number} of seed {SEED}: {text!r}"
    assert 0.15 * DOCUMENTS < used < 0.75 * DOCUMENTS
