"""A '{{' without its '}}' is plain text. Before a name of the manifest it is a mistake, and a warning says so."""

from __future__ import annotations

import re

import pytest

HEAD = "data: {port: 80}\nresources:\n  - file:\n"


def warned(program):
    return [re.fullmatch(r".*/site.yaml:(\d+:\d+): (.*)", each).groups() for each in program.warnings]


@pytest.mark.parametrize(
    ("content", "opener"),
    [
        ("{{ Data.port }", "{{"),
        ("a {{Data.port", "{{"),
        ("${ Data.port", "${"),
        ("{{ Data.port }} {{ Facts.x }", "{{"),
        ("{{ 1 + {{ Data.port", "{{"),
    ],
)
def test_an_expression_that_is_not_closed_is_warned_of_at_its_place(site, content, opener):
    text = HEAD + f'      - /a: {{{{own}}, content: "{content}"}}\n'
    [(place, words)] = warned(site(text))
    shift = site.filled(text).splitlines()[3].index("content: ") + len('content: "')
    assert place == f"4:{shift + content.rindex(opener) + 1}"
    closer = {"{{": "}}", "${": "}"}[opener]
    assert words == f"'{opener}' begins no expression, because '{closer}' is missing, and stays as it is"


def test_each_item_of_a_list_is_warned_of(site):
    items = "".join(f'      - /{name}: {{{{own}}, content: "{{{{ Data.port }}"}}\n' for name in "abc")
    assert [place.split(":")[0] for place, _ in warned(site(HEAD + items))] == ["4", "5", "6"]


def test_a_loop_is_warned_of_once(site):
    item = '      - "/{{ item }}": {{own}, for_each: [a, b], content: "{{ item }"}\n'
    assert len(warned(site(HEAD + item))) == 1


@pytest.mark.parametrize(
    "content", ["{{ unfinished", "$HOME ${x", "{{1}, {2} }", "{ Data.port", "{{ '{{' }} Data"]
)
def test_what_is_no_name_of_the_manifest_is_plain_text(site, content):
    assert site(HEAD + f'      - /a: {{{{own}}, content: "{content}"}}\n').warnings == ()
