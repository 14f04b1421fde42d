"""Every format is well formed whatever the names are, says what the graph says, and is the same each time."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path as FilePath
from xml.etree import ElementTree as ET

import pytest
from graph_samples import Path, Thing, graph_of
from hypothesis import given, settings
from hypothesis import strategies as st

from reactor.errors import Place
from reactor.graph.export import FORMATS, export
from reactor.graph.export.colours import STATES
from reactor.graph.export.png import GraphvizError
from reactor.resource.declared import Form, declare

SVG = "{http://www.w3.org/2000/svg}"

NASTY = [
    "</script><script>alert(1)</script>",
    "<!-- x --><style>*{}</style>]]>",
    "\"double\" and 'single' and `back`",
    "a: b, c; {d} [e] (f) |g|",
    "back\\slash \\N \\n and one at the end \\",
    "&amp; & &#35; #quot;",
    "two\nlines\tand a tab",
    "bell \x07 and nul \x00 and \x9f \ufffe",
    "größe 字 \N{PILE OF POO}",
    "%%{init: {}}%% --> end",
    "$style $$ ${data}",
    "x" * 500,
]
"""Names that mean something to one of the formats."""


def luminance(colour):
    """The relative luminance of WCAG 2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("state", STATES)
def test_the_word_of_each_state_has_the_contrast_that_wcag_asks_for(state):
    appearance = STATES[state]
    assert contrast(appearance.border, appearance.fill) >= 4.5
    assert contrast(appearance.border, "#f6f7f9") >= 4.5
    assert contrast(appearance.dark_border, appearance.dark_fill) >= 4.5
    assert contrast(appearance.dark_border, "#1b1f26") >= 4.5


def site():
    return graph_of(
        Thing(name="nginx", alias="server", text="1.2"),
        Path(name="/etc/nginx", require="thing#server"),
        Path(name="/etc/nginx/nginx.conf", require="thing#nginx"),
        Thing(name="reload", subscribe="path#/etc/nginx/nginx.conf", after="thing#motd"),
        Thing(name="motd"),
    )


TEXTS = [form for form in FORMATS if form != "png"]

SITE_STATES = {
    "thing#nginx": "ok",
    "path#/etc/nginx": "changed",
    "thing#reload": "failed",
    "thing#motd": "odd",
}


def nasty():
    names = [Thing(name=name, alias=f"alias {name}", text=name) for name in NASTY]
    return graph_of(*names, Thing(name="end", require=[thing.ref for thing in names]))


def text(graph, form, states=None):
    exported = export(graph, form, states)
    assert isinstance(exported, str)
    return exported


# ---- all formats ----


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("states", [None, SITE_STATES])
def test_the_same_graph_gives_the_same_bytes(form, states):
    assert export(site(), form, states) == export(site(), form, states)


def test_the_hash_seed_changes_nothing():
    code = """if True:
        import sys
        from test_graph_export import SITE_STATES, TEXTS, site, text
        sys.stdout.buffer.write("".join(text(site(), form, SITE_STATES) for form in TEXTS).encode())
    """
    here = str(FilePath(__file__).parent)
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([here, *sys.path])},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert outputs == {"".join(text(site(), form, SITE_STATES) for form in TEXTS).encode()}


@pytest.mark.parametrize("form", FORMATS)
def test_an_empty_graph_can_be_exported(form):
    assert export(graph_of(), form)


@pytest.mark.parametrize("form", TEXTS)
def test_text_formats_can_be_written_as_utf_8(form):
    assert text(nasty(), form, {}).encode()


def test_another_format_is_not_known():
    with pytest.raises(KeyError):
        export(site(), "pdf")


# ---- DOT ----


def test_dot_styles_the_kinds_of_edges_apart_and_explains_them():
    lines = text(site(), "dot").splitlines()
    assert '  "thing#nginx" -> "path#/etc/nginx" [style=solid];' in lines
    assert '  "path#/etc/nginx" -> "path#/etc/nginx/nginx.conf" [style=dashed];' in lines
    assert '  "path#/etc/nginx/nginx.conf" -> "thing#reload" [style=bold, penwidth=2.4];' in lines
    assert '  "thing#motd" -> "thing#reload" [style=dotted];' in lines
    assert {kind for kind in ("require", "automatic", "subscribe", "after") if f'label="{kind}"' in "\n".join(lines)} == {
        "require", "automatic", "subscribe", "after"
    }  # fmt: skip


def test_dot_leaves_out_what_follows():
    assert '"thing#nginx" -> "path#/etc/nginx/nginx.conf"' not in text(site(), "dot")


def test_dot_writes_the_state_into_the_vertex():
    lines = text(site(), "dot", SITE_STATES).splitlines()
    labels = {
        line.split(" [")[0].strip(): re.search(r"\[([a-z ]+)\]\"", line)[1]
        for line in lines
        if "fillcolor" in line
    }
    assert labels == {
        '"thing#nginx"': "ok",
        '"path#/etc/nginx"': "changed",
        '"path#/etc/nginx/nginx.conf"': "unknown",
        '"thing#reload"': "failed",
        '"thing#motd"': "unknown",
    }


@pytest.mark.parametrize("graph", [site(), nasty(), graph_of()])
def test_graphviz_accepts_the_dot_and_draws_every_vertex(graph):
    drawn = subprocess.run(
        ["dot", "-Tsvg"], input=text(graph, "dot", {}).encode(), capture_output=True, check=True
    )
    assert drawn.stderr == b""
    groups = ET.fromstring(drawn.stdout).iter(f"{SVG}g")
    vertices = [group for group in groups if group.get("class") == "node"]
    legend = [group for group in vertices if group.find(f"{SVG}title").text.startswith("legend ")]
    assert len(vertices) - len(legend) == len(graph.refs)


def test_graphviz_shows_names_as_they_are():
    name = 'a "b" \\n \\N &amp; <c> \\'
    drawn = subprocess.run(
        ["dot", "-Tsvg"],
        input=text(graph_of(Thing(name=name)), "dot").encode(),
        capture_output=True,
        check=True,
    )
    shown = [element.text for element in ET.fromstring(drawn.stdout).iter(f"{SVG}text")]
    assert [line.replace("\N{NO-BREAK SPACE}", " ") for line in shown] == ["thing", name]


# ---- PNG ----


def test_png_is_drawn_by_graphviz():
    assert export(site(), "png", SITE_STATES).startswith(b"\x89PNG\r\n")


def test_png_without_graphviz_says_what_to_install_and_what_else_there_is(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GraphvizError, match=r"install the package graphviz .* svg or html"):
        export(site(), "png")


def test_a_failing_graphviz_is_an_error_with_its_words(monkeypatch, tmp_path):
    dot = tmp_path / "dot"
    dot.write_text("#!/bin/sh\ncat >/dev/null\necho out of paper >&2\nexit 3\n")
    dot.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(GraphvizError, match="out of paper"):
        export(site(), "png")


# ---- Mermaid ----

MERMAID = """\
flowchart LR
  v0["thing<br/>nginx"]
  v1["path<br/>/etc/nginx"]
  v2["path<br/>/etc/nginx/nginx.conf"]
  v3["thing<br/>reload"]
  v4["thing<br/>motd"]
  v0 --> v1
  v1 -.-> v2
  v2 ==> v3
  v4 -.-> v3
  subgraph legend
    v5(( )) -->|"require"| v6(( ))
    v7(( )) ==>|"subscribe"| v8(( ))
    v9(( )) -.->|"automatic"| v10(( ))
    v11(( )) -.->|"after"| v12(( ))
  end
  linkStyle 1,6 stroke-dasharray:7 4
  linkStyle 3,7 stroke-dasharray:1.5 4
"""


def test_mermaid_is_written_as_documented():
    assert text(site(), "mermaid") == MERMAID


def test_mermaid_shows_states_as_words_and_classes():
    lines = text(site(), "mermaid", SITE_STATES).splitlines()
    assert '  v3["thing<br/>reload<br/>#91;failed#93;"]:::failed' in lines
    assert any(line.startswith("  classDef failed fill:") for line in lines)
    assert not any(line.startswith("  classDef blocked") for line in lines)


def test_mermaid_never_sees_a_special_character_of_a_name():
    labels = re.findall(r'^  v\d+\["(.*)"\]:::unknown$', text(nasty(), "mermaid", {}), re.MULTILINE)
    assert len(labels) == len(NASTY) + 1
    for label in labels:
        for line in label.split("<br/>"):
            assert re.fullmatch(r"([A-Za-z0-9_ /.,@+-]|#\d+;)*", line)


def test_mermaid_text_reads_as_the_name():
    [label] = re.findall(r'v0\["thing<br/>(.*)"\]', text(graph_of(Thing(name=NASTY[2])), "mermaid"))
    assert re.sub(r"#(\d+);", lambda found: chr(int(found[1])), label) == NASTY[2]


# ---- JSON ----


def test_json_holds_everything():
    resource = Thing(name="a", alias="b", text="c")
    form = Form(locate=lambda _: Place("site.yaml", 3, 5))
    declare(resource, resource.declared._replace(form=form))
    graph = graph_of(resource, Thing(name="d", require="thing#a"))
    assert json.loads(text(graph, "json", {"thing#a": "ok"})) == {
        "nodes": [
            {
                "ref": "thing#a",
                "kind": "thing",
                "name": "a",
                "alias": "b",
                "properties": {"name": "a", "alias": "b", "text": "c"},
                "place": {"file": "site.yaml", "line": 3, "column": 5},
                "state": "ok",
            },
            {
                "ref": "thing#d",
                "kind": "thing",
                "name": "d",
                "alias": None,
                "properties": {"name": "d", "require": ["thing#a"]},
                "place": None,
                "state": "unknown",
            },
        ],
        "edges": [{"from": "thing#a", "to": "thing#d", "kind": "require", "reason": "require in thing#d"}],
    }


def test_json_leaves_out_no_edge():
    edges = json.loads(text(site(), "json"))["edges"]
    assert ("thing#nginx", "path#/etc/nginx/nginx.conf") in {(edge["from"], edge["to"]) for edge in edges}
    assert {node["state"] for node in json.loads(text(site(), "json"))["nodes"]} == {None}


# ---- SVG ----


def svg_vertices(document):
    root = ET.fromstring(document)
    return {
        int(group.get("data-vertex")): group
        for group in root.iter(f"{SVG}g")
        if group.get("data-vertex") is not None
    }


@given(st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=4, unique=True))
@settings(max_examples=50)
def test_svg_is_well_formed_whatever_the_names(names):
    graph = graph_of(*(Thing(name=name) for name in names))
    assert len(svg_vertices(text(graph, "svg", {}))) == len(names)


@pytest.mark.parametrize("form", ["dot", "mermaid", "svg"])
def test_no_name_can_look_like_another_one(form):
    hidden = "\u202e\u200b\u2066\ufeff\xad"
    graph = graph_of(*(Thing(name=f"a{sign}txt.exe") for sign in hidden))
    assert not {*hidden} & {*text(graph, form)}


def test_svg_of_nasty_names_is_well_formed_and_holds_no_script():
    document = text(nasty(), "svg")
    assert len(svg_vertices(document)) == len(NASTY) + 1
    assert {element.tag.removeprefix(SVG) for element in ET.fromstring(document).iter()} == {
        "svg", "style", "defs", "marker", "path", "rect", "g", "title", "text"
    }  # fmt: skip


def test_svg_shortens_long_names_and_keeps_them_whole_in_the_title():
    [box] = svg_vertices(text(graph_of(Thing(name="x" * 500)), "svg")).values()
    assert box.find(f"{SVG}title").text == "thing#" + "x" * 500
    assert len(box.findall(f"{SVG}text")[-1].text) < 40


def test_svg_has_an_edge_for_each_that_is_drawn_and_a_legend():
    root = ET.fromstring(text(site(), "svg"))
    paths = [path for path in root.iter(f"{SVG}path") if path.get("data-from")]
    drawn = {(path.get("data-from"), path.get("data-to"), path.get("class")) for path in paths}
    assert drawn == {
        ("0", "1", "edge require"),
        ("1", "2", "edge automatic"),
        ("2", "3", "edge subscribe"),
        ("4", "3", "edge after"),
    }
    legend = [label.text for label in root.iter(f"{SVG}text") if label.get("class") == "legend"]
    assert legend == ["require", "subscribe", "automatic", "after"]


def test_svg_reports_every_state_by_word_and_by_look():
    graph = graph_of(*(Thing(name=state) for state in STATES))
    document = text(graph, "svg", {f"thing#{state}": state for state in STATES})
    shown = [
        (box.get("class"), next(t.text for t in box.findall(f"{SVG}text") if t.get("class") == "state"))
        for box in svg_vertices(document).values()
    ]
    assert shown == [(f"vertex {state}", state.replace("_", " ")) for state in STATES]
    for state in STATES:
        assert document.count(f".vertex.{state} rect {{ fill:") == 2  # by day and by night


# ---- HTML ----


class Page(HTMLParser):
    """The elements of a page, and the text of its scripts."""

    def __init__(self, source):
        super().__init__()
        self.elements = []
        self.scripts = []
        self.inside = None
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

        self.inside = tag

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts[-1] += data


def test_html_holds_the_data_whatever_the_names():
    page = Page(text(nasty(), "html"))
    assert len(page.scripts) == 2
    data = json.loads(page.scripts[0])
    assert [node["name"] for node in data["nodes"]] == [*NASTY, "end"]
    assert [node["properties"]["text"] for node in data["nodes"][:-1]] == NASTY
    assert data["edges"][3] == {
        "from": 3,
        "to": len(NASTY),
        "kind": "require",
        "reason": "require in thing#end",
    }


def test_html_loads_nothing_and_allows_only_its_own_script():
    page = Page(text(nasty(), "html"))
    assert not [
        attrs for _, attrs in page.elements if attrs.keys() & {"src", "href", "xlink:href", "onclick"}
    ]
    [policy] = [attrs["content"] for _, attrs in page.elements if "http-equiv" in attrs]
    digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def test_html_of_many_resources_shows_those_of_one_directory_as_one_box():
    things = [Thing(name="failing"), *(Path(name=f"/srv/{number}") for number in range(120))]
    page = export(graph_of(*things), "html", {"path#/srv/7": "failed"})
    overview = page.partition('<div class="overview">')[2].partition("</svg>")[0]
    assert overview.count("data-vertex") == 2
    assert ">path \N{MULTIPLICATION SIGN} 120<" in overview
    assert ">/srv<" in overview
    assert 'class="vertex failed"' in overview
    assert page.partition('<div class="whole">')[2].partition("</svg>")[0].count("data-vertex") == 121


def test_html_of_few_resources_has_one_picture():
    assert '<div class="overview">' not in export(site(), "html")


def test_html_has_a_box_for_each_resource_and_a_legend():
    page = Page(text(site(), "html", SITE_STATES))
    assert [attrs["data-vertex"] for _, attrs in page.elements if "data-vertex" in attrs] == list("01234")
    assert sum(attrs.get("class") == "legend" for _, attrs in page.elements) == 4 + 4


def test_html_says_how_many_edges_it_does_not_draw():
    assert "follow from others: 1." in text(site(), "html")
    assert "follow from others" not in text(graph_of(Thing(name="a")), "html")


def test_html_cuts_very_long_texts():
    page = Page(text(graph_of(Thing(name="a", text="y" * 100_000)), "html"))
    shown = json.loads(page.scripts[0])["nodes"][0]["properties"]["text"]
    assert shown == "y" * 4000 + "… (96000 characters more)"
