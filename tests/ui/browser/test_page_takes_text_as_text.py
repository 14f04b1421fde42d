"""Names and contents come from strangers. On the page they are text: nothing of them runs or becomes part of it."""

import json

import pytest
from live_pages import file, served, write_manifest

ATTACK = '<img src=x onerror="window.ran=1"><script>window.ran=1</script>\'-->]]>'
HOSTILE = [
    ATTACK,
    "</script><script>window.ran = 1</script>",
    "</textarea></title><svg onload=window.ran=1>",
    "javascript:window.ran=1",
    "' onmouseover='window.ran=1' x='",
    '" autofocus onfocus="window.ran=1',
    "<%= window.ran = 1 %>",
    "__proto__",
    "constructor",
    "toString",
    "%00 \\x00 \\u0000 &#0;",
    "two & three &amp; four",
    "🧨 emoji 👩‍👩‍👧‍👦",
    "العربية עברית",
    "long " + "x" * 10_000,
]
TURNED = "harmless\u202egnp.exe\u202c\u200b"

TRAPS = """
window.violated = [];
addEventListener("securitypolicyviolation", (event) => violated.push(event.violatedDirective + " " + event.blockedURI));
window.alert = window.confirm = window.prompt = () => { window.ran = 1; };
"""


@pytest.fixture(scope="module")
def hostile_run(tmp_path_factory):
    """A run whose resources are called as strangers please: the address of its page, and a file of them."""
    directory = tmp_path_factory.mktemp("hostile")
    path = directory / "content"
    names = {name: {"command": "true"} for name in [*HOSTILE, TURNED]}
    manifest = write_manifest(directory / "site.yaml", file={path: file(ATTACK + "\n")}, exec=names)
    with served(manifest, "--state-dir", directory / "state") as url:
        yield url, path


@pytest.fixture
def page(tab, hostile_run):
    """The page of that run; at the end nothing of its names may have run."""
    tab.before_each_page(TRAPS)
    tab.visit(hostile_run[0])
    yield tab
    assert tab.evaluate("window.ran") is None
    assert tab.evaluate("violated") == []
    assert tab.evaluate("document.querySelectorAll('img, svg, iframe, object, embed').length") == 0
    assert tab.evaluate("document.scripts.length") == 1
    assert tab.evaluate("({}).state") is None


def test_a_hostile_name_is_shown_as_it_is_written(page):
    for name in HOSTILE:
        page.evaluate(f"location.hash = encodeURIComponent({json.dumps(f'exec#{name}')})")
        heading = json.dumps(f"exec\n{name}")
        page.wait(f"document.querySelector('#resource h2')?.innerText === {heading}")
        page.wait("document.querySelector('#resource dl dd pre')")
        assert page.text("#resource dl dd pre")[:3000] == name[:3000]


def test_a_hostile_name_is_found_and_listed_as_it_is_written(page):
    for name in HOSTILE[:9]:
        page.evaluate("document.getElementById('search').value = ''")
        page.click("#search")
        page.write(f"exec#{name}")
        page.wait(f"document.querySelector('#found button')?.innerText === {json.dumps(f'exec#{name}')}")


def test_what_turns_the_direction_of_text_is_made_visible(page):
    page.evaluate(f"location.hash = encodeURIComponent('exec#' + {json.dumps(TURNED)})")
    page.wait("document.querySelector('#resource h2')?.innerText.includes('harmless')")
    assert (
        page.text("#resource h2")
        == "exec\nharmless\u2039U+202E\u203agnp.exe\u2039U+202C\u203a\u2039U+200B\u203a"
    )


def test_hostile_contents_are_text_in_events_diffs_and_properties(page, hostile_run):
    path = hostile_run[1]
    page.select(f"file#{path}")
    path.write_text("<iframe src='javascript:window.ran=1'></iframe>\n")
    page.wait("document.querySelector('#resource .removed')")
    assert page.text("#resource .removed") == "-<iframe src='javascript:window.ran=1'></iframe>"
    assert page.text("#resource .diff .added") == f"+{ATTACK}"
    assert ATTACK in page.text("#resource dl")
