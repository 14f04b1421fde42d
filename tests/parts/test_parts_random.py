"""Whatever is in a file and whatever is declared: twice is once, any order is one order, and the rest stays."""

from __future__ import annotations

import json
import tomllib
from contextlib import nullcontext, suppress

import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from parts_worlds import applied, block, line, setting

from reactor.resource.plan import ResourceError
from reactor.resources.parts.compose import compose
from reactor.resources.parts.document import Document
from reactor.resources.parts.toml_text import written

quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
CONTENTS = st.sampled_from(
    [b"", b"a", b"#a", b"a = 1", b"a=2", b"  b = 3", b"[s]", b"[t]", b"\xff\0", "é".encode(), b"c\rd", b"x \\", b"  y", b"Match User a", b"\tz z"]
)  # fmt: skip
ENDS = st.sampled_from([b"\n", b"\r\n"])
FILES = st.builds(
    lambda bom, lines, last: bom + b"".join(content + end for content, end in lines) + last,
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.lists(st.tuples(CONTENTS, ENDS), max_size=12),
    CONTENTS,
)
PATTERNS = st.sampled_from([None, "^a", "^#?a", "=", "z", "EOF"])


@st.composite
def lines(draw):
    text = draw(st.sampled_from(["a", "a = 1", "#a", "new", "  y", "z z", "é"]))
    properties = {"ensure": "absent"}
    if draw(st.booleans()):
        match = draw(st.sampled_from([None, "^#?a", "a", "^ *y", "z"]))
        after = draw(PATTERNS)
        properties = {"insert_after": after}
        try:
            return line(
                text, match=match, replace=draw(st.sampled_from(["first", "last", "all"])), **properties
            )
        except ValueError:
            pass
    return line(text, path="/f", **properties)


BLOCKS = st.builds(
    lambda name, content: block(name, path="/f", content=content), st.sampled_from(["x", "y"]), st.sampled_from(["", "a", "p\nq", "[s]\n"])
)  # fmt: skip


@st.composite
def keyed(draw):
    name = draw(st.sampled_from(["ini", "systemd", "sshd", "keyvalue"]))
    sections = {
        "ini": [None, "s", "new"],
        "systemd": ["s", "t"],
        "sshd": [None, "Match User a"],
        "keyvalue": [None],
    }
    section = draw(st.sampled_from(sections[name]))
    key = draw(st.sampled_from(["a", "b", "c", "new"]))
    if draw(st.integers(0, 3)) == 0:
        return setting(key, "/f", format=name, section=section, ensure="absent")
    text = st.text("ab =#;\"'[]:é\\", max_size=6)
    try:
        return setting(
            key,
            "/f",
            format=name,
            section=section,
            value=draw(st.one_of(text, st.lists(text, min_size=1, max_size=3))),
        )
    except ValueError:
        assume(False)


@quick
@given(FILES, st.one_of(lines(), BLOCKS, keyed()))
def test_twice_is_once(data, part):
    can_go_on = data.endswith(b"\\") or b"\\\n" in data or b"\\\r\n" in data
    with suppress(ResourceError) if can_go_on and part.kind == "setting" else nullcontext():
        applied(part, data)


@quick
@given(
    FILES,
    st.lists(st.one_of(lines(), BLOCKS, keyed()), min_size=2, max_size=5, unique_by=lambda part: part.ref),
    st.randoms(),
)
def test_parts_compose_in_any_order_to_the_same_file(data, parts, random):
    document = Document.of(data, "/f")
    found = compose(document, parts)
    shuffled = parts.copy()
    random.shuffle(shuffled)
    again = compose(document, shuffled)
    assert (again.after.data, again.refusals.keys()) == (found.after.data, found.refusals.keys())
    for part in parts:
        if part.ref not in found.refusals:
            assert part.edit(found.after) is None


@quick
@given(FILES, st.sampled_from(["EOF", "^a", "^#?a", "^z"]))
def test_a_new_line_leaves_every_byte_of_the_rest(data, after):
    assume(b"\n" in data and b"wanted" not in data)
    result = applied(line(path="/f", insert_after=after), data)
    start = result.index(b"wanted")
    rests = [
        result[:start] + result[start + len(b"wanted") + len(end) :]
        for end in (b"\n", b"\r\n")
        if result[start + 6 :].startswith(end)
    ]
    rests += [result[:start].removesuffix(end) for end in (b"\n", b"\r\n") if result.endswith(b"wanted")]
    assert data in rests
    assert applied(line(path="/f", ensure="absent"), result) == data


@quick
@given(FILES, st.sampled_from(["", "one", "one\ntwo\n"]))
def test_a_block_comes_and_goes_and_leaves_every_byte(data, content):
    assume(b"\n" in data)
    assert applied(block(ensure="absent"), applied(block(content=content), data)) == data


@quick
@given(
    st.lists(st.tuples(CONTENTS, ENDS), max_size=12),
    st.sampled_from(["ini", "keyvalue", "sshd"]),
    st.booleans(),
)
def test_a_setting_leaves_the_lines_of_other_keys(held, name, is_ended):
    assume(b"x \\" not in [content for content, _ in held])
    data = b"".join(content + end for content, end in held)
    data = data if is_ended else data.rstrip(b"\r\n")
    part = setting("new", "/f", format=name, value="value")
    result = applied(part, data)
    assert applied(setting("new", "/f", format=name, ensure="absent"), result) == data or not data.endswith(
        b"\n"
    )
    others = [each for each in result.split(b"\n") if b"new" not in each]
    assert b"\n".join(others).rstrip(b"\r\n") == data.rstrip(b"\r\n")


KEYS = st.text("ab.-é ", min_size=1, max_size=3)
LEAVES = st.one_of(
    st.booleans(),
    st.integers(-9, 99),
    st.sampled_from([0.5, 1e20]),
    st.text("ab'\"\\#:{}\n é,[]-", max_size=8),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=6,
)
DATA = st.dictionaries(KEYS, VALUES, max_size=4)
LOADS = {"json": json.loads, "yaml": yaml.safe_load, "toml": tomllib.loads}
PATHS = st.lists(KEYS, min_size=1, max_size=3)


def expected(data, keys, value):
    copy = json.loads(json.dumps(data))
    here = copy
    for key in keys[:-1]:
        here = here.setdefault(key, {})
    if value is None:
        here.pop(keys[-1], None)
    else:
        here[keys[-1]] = value
    return copy


def has_way(data, keys):
    """Whether only mappings are on the way, and whether the key is there."""
    for key in keys[:-1]:
        if not isinstance(data, dict):
            return False, False
        if key not in data:
            return True, False
        data = data[key]
    return isinstance(data, dict), isinstance(data, dict) and keys[-1] in data


def check(path, text, data, keys, value):
    is_open, is_there = has_way(data, keys)
    assume(is_open and (value is not None or is_there))
    properties = {"ensure": "absent"} if value is None else {"value": value}
    try:
        part = setting("title", path, key=tuple(keys), **properties)
    except ValueError:
        assume(False)
    result = applied(part, text)
    assert (LOADS[path](result.decode()) or {}) == expected(data, keys, value)


@quick
@given(DATA, PATHS, st.none() | VALUES, st.sampled_from([None, 1, 4, "\t"]), st.booleans())
def test_any_key_of_any_json_can_be_set(data, keys, value, indent, has_crlf):
    text = json.dumps(data, indent=indent)
    check("json", text.replace("\n", "\r\n") if has_crlf else text, data, keys, value)


@quick
@given(DATA, PATHS, st.none() | VALUES, st.sampled_from([None, False, True]), st.integers(2, 4))
def test_any_key_of_any_yaml_can_be_set(data, keys, value, flow, indent):
    text = yaml.safe_dump(data, default_flow_style=flow, indent=indent, allow_unicode=True, sort_keys=False)
    check("yaml", text, data, keys, value)


def tables(data, prefix=()):
    """The data as TOML, with a table for each mapping."""
    plain = {key: value for key, value in data.items() if not isinstance(value, dict)}
    text = "".join(
        f"{json.dumps(key, ensure_ascii=False)} = {written(value)} # c\n" for key, value in plain.items()
    )
    for key, value in data.items():
        if isinstance(value, dict):
            path = (*prefix, key)
            name = ".".join(json.dumps(each, ensure_ascii=False) for each in path)
            text += f"[{name}]\n{tables(value, path)}\n"
    return text


def is_table(data, keys):
    """Whether the keys lead to a table of its own, which is not changed as a whole."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return isinstance(data, dict)


@quick
@given(DATA, PATHS, st.none() | VALUES)
def test_any_key_of_any_toml_can_be_set(data, keys, value):
    text = tables(data)
    assert tomllib.loads(text) == data
    with suppress(ResourceError) if is_table(data, keys) else nullcontext():
        check("toml", text, data, keys, value)
