"""The kinds line and block: what they make of a file, byte by byte."""

from __future__ import annotations

import re

import pytest
from parts_worlds import applied, block, line

from reactor.resource.plan import ResourceError
from reactor.resources.parts import Block, Line

PORT = {"line": "Port 22", "match": "^#?Port "}


@pytest.mark.parametrize(
    ("part", "before", "after"),
    [
        pytest.param(line(), b"a\n", b"a\nwanted\n", id="at the end"),
        pytest.param(line(), b"", b"wanted\n", id="empty file"),
        pytest.param(line(), b"a", b"a\nwanted", id="no final newline stays so"),
        pytest.param(line(), b"a\r\nb\r\n", b"a\r\nb\r\nwanted\r\n", id="CRLF"),
        pytest.param(line(), b"a\r\nb", b"a\r\nb\r\nwanted", id="CRLF, no final newline"),
        pytest.param(line(), b"a\nb\r\nc\n", b"a\nb\r\nc\nwanted\n", id="mixed ends: that of the line above"),
        pytest.param(line(), b"wanted\r\n", b"wanted\r\n", id="there already, with CRLF"),
        pytest.param(line(), b"\xef\xbb\xbfwanted\n", b"\xef\xbb\xbfwanted\n", id="there, behind a byte order mark"),
        pytest.param(line(insert_before="BOF"), b"\xef\xbb\xbfa\n", b"\xef\xbb\xbfwanted\na\n", id="behind the mark"),
        pytest.param(line(), b"\xff\xfe"[:1] + b"\0\n", b"\xff\0\nwanted\n", id="bytes that are no text"),
        pytest.param(line(), b" wanted\nwanted \n", b" wanted\nwanted \nwanted\n", id="blanks count"),
        pytest.param(line(), b"a\rwanted\n", b"a\rwanted\nwanted\n", id="a bare carriage return ends no line"),
        pytest.param(line(insert_after="^a"), b"a\na\nb\n", b"a\na\nwanted\nb\n", id="after the last match"),
        pytest.param(line(insert_before="^b"), b"a\nb\nb\n", b"a\nwanted\nb\nb\n", id="before the first match"),
        pytest.param(line(insert_after="^x"), b"a\n", b"a\nwanted\n", id="no line to go after: at the end"),
        pytest.param(line(insert_after="EOF"), b"EOF\na\n", b"EOF\na\nwanted\n", id="EOF is the end"),
        pytest.param(line(**PORT), b"#Port 1\nx\nPort 2\ny", b"#Port 1\nx\nPort 22\ny", id="the last match"),
        pytest.param(line(replace="first", **PORT), b"#Port 1\nPort 2\n", b"Port 22\nPort 2\n", id="the first match"),
        pytest.param(line(replace="all", **PORT), b"#Port 1\nPort 2", b"Port 22\nPort 22", id="all matches"),
        pytest.param(line(**PORT), b"a\n", b"a\nPort 22\n", id="no match"),
        pytest.param(line(**PORT), b"Port 22\nPort 1\r\n", b"Port 22\nPort 22\r\n", id="a later match counts"),
        pytest.param(line(ensure="absent"), b"a\nwanted\nb\nwanted", b"a\nb", id="removed, twice"),
        pytest.param(line(ensure="absent"), b"wanted", b"", id="the only line removed"),
        pytest.param(line(ensure="absent"), b"a\n", b"a\n", id="not there"),
        pytest.param(line(ensure="absent", match="^w"), b"wanted\nw\r\nv\n", b"v\n", id="removed by pattern"),
        pytest.param(line("é", match="^."), "è\n".encode(), "é\n".encode(), id="a pattern with letters"),
        pytest.param(block(content="a\nb\n"), b"x\r\ny", b"x\r\ny\r\n# BEGIN reactor: ours\r\na\r\nb\r\n# END reactor: ours", id="block, CRLF"),
        pytest.param(block(content="a"), b"", b"# BEGIN reactor: ours\na\n# END reactor: ours\n", id="block in an empty file"),
        pytest.param(block(content="a\nb"), b"x\n# BEGIN reactor: ours\nold\n# END reactor: ours\ny\n", b"x\n# BEGIN reactor: ours\na\nb\n# END reactor: ours\ny\n", id="block changed"),
        pytest.param(block(content=""), b"# BEGIN reactor: ours\nold\n# END reactor: ours", b"# BEGIN reactor: ours\n# END reactor: ours", id="block emptied"),
        pytest.param(block(ensure="absent"), b"x\n# BEGIN reactor: ours\nold\n# END reactor: ours", b"x", id="block removed"),
        pytest.param(block(content="a", insert_before="BOF"), b"x\n", b"# BEGIN reactor: ours\na\n# END reactor: ours\nx\n", id="block on top"),
        pytest.param(block(path="/x.xml", content="<a/>"), b"", b"<!-- BEGIN reactor: ours -->\n<a/>\n<!-- END reactor: ours -->\n", id="marker of XML"),
        pytest.param(block(content="a", marker="-- {mark} {name}"), b"", b"-- BEGIN ours\na\n-- END ours\n", id="own marker"),
        pytest.param(block(content="a"), b"# BEGIN reactor: theirs\nz\n# END reactor: theirs\n", b"# BEGIN reactor: theirs\nz\n# END reactor: theirs\n# BEGIN reactor: ours\na\n# END reactor: ours\n", id="beside another block"),
        pytest.param(line(insert_after="^a$"), b"# BEGIN x\na\n# END x\nb\n", b"# BEGIN x\na\n# END x\nwanted\nb\n", id="never into a block"),
        pytest.param(block("{mark}", content="a"), b"", b"# BEGIN reactor: {mark}\na\n# END reactor: {mark}\n", id="a name like a word of the marker"),
    ],
)  # fmt: skip
def test_only_the_part_is_changed(part, before, after):
    assert applied(part, before) == after


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("# BEGIN reactor: ours\na\n", "in line 1 and '# END reactor: ours' nowhere"),
        ("# END reactor: ours\n# BEGIN reactor: ours\n", "in line 2 and '# END reactor: ours' in line 1"),
        ("# BEGIN reactor: ours\n# BEGIN reactor: ours\n# END reactor: ours\n", "in line 1 and 2 and"),
    ],
)
@pytest.mark.parametrize("properties", [{"content": "x"}, {"ensure": "absent"}])
def test_lost_and_doubled_markers_are_an_error(content, words, properties):
    with pytest.raises(ResourceError, match=re.escape(words)) as failed:
        applied(block(**properties), content)
    assert failed.value.hint is not None
    assert "by hand" in failed.value.hint


def test_utf_16_is_refused():
    with pytest.raises(ResourceError, match="is UTF-16"):
        applied(line(), "a\n".encode("utf-16"))


def test_a_pattern_takes_linear_time():
    applied(line("aab", match="^(a|a)*b$"), b"a" * 100_000)


@pytest.mark.parametrize(
    ("kind", "properties", "words"),
    [
        (Line, {"line": "a\nb"}, "it must be one line"),
        (Line, {"line": "a\rb"}, "it must be one line"),
        (Line, {"name": "a\nb"}, "the name is the line, and must be one line"),
        (Line, {"line": ""}, "the line is empty"),
        (Line, {"match": "^b"}, "match does not match the line 'a', so every run would add it again"),
        (Line, {"match": "("}, "is not a regular expression"),
        (Line, {"match": "(?=a)"}, "look-around"),
        (Line, {"replace": "all"}, "replace is only valid with match"),
        (Line, {"insert_after": "a", "insert_before": "b"}, "mutually exclusive"),
        (Line, {"ensure": "absent", "line": "a", "match": "a"}, "mutually exclusive"),
        (Line, {"ensure": "absent", "insert_after": "a"}, "insert_after is only valid with"),
        (Line, {"ensure": "absent", "match": "a", "replace": "all"}, "replace is only valid with"),
        (Line, {"ensure": "absent", "create": True}, "create is only valid with"),
        (Line, {"mode": "0644"}, "mode is only valid with 'create: true'"),
        (Line, {"validate": "true"}, "does not name the file to validate"),
        (Block, {}, "content is required"),
        (Block, {"ensure": "absent", "content": "a"}, "content is only valid with"),
        (Block, {"content": "a", "marker": "# {name}"}, "{mark} is missing"),
        (Block, {"content": "# END reactor: a"}, "the content has a line that is a marker"),
        (Block, {"content": "a\rb"}, "carriage return"),
    ],
)
def test_contradictory_properties_are_an_error(kind, properties, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        kind(**{"name": "a", "path": "/f", **properties})
