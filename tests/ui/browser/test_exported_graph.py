"""The exported graph in a browser: folds open by click and key."""

import pytest
from chromium import Tab
from live_pages import file, write_manifest
from processes_of_cli import finish, spawned


@pytest.fixture
def page(wire, tmp_path):
    """The graph of 120 files and a chain of commands."""
    files = {tmp_path / "conf.d" / f"{number}.conf": file("x") for number in range(120)}
    commands = {"one": {"command": "true"}, "two": {"command": "true", "require": "exec#one"}}
    manifest = write_manifest(tmp_path / "site.yaml", file=files, exec=commands)
    target = tmp_path / "graph.html"
    with spawned("graph", "-o", target, manifest) as process:
        assert finish(process).code == 0
    tab = Tab(wire)
    tab.open(target.as_uri())
    tab.wait("document.querySelector('#unfold')?.innerText === 'Open all'")
    yield tab
    assert tab.complaints() == []
    tab.close()


SHOWN = "getComputedStyle(document.querySelector('.whole')).visibility"


def test_a_click_opens_a_fold_and_a_button_folds_all(page):
    assert page.evaluate(SHOWN) == "hidden"
    box = page.evaluate(
        "(() => { const b = [...document.querySelectorAll('.overview [role=button]')]"
        ".find((each) => each.textContent.includes('120')).getBoundingClientRect();"
        " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
    )
    page.press_at(*box)
    page.wait("document.querySelectorAll('.whole .near').length === 120")
    assert page.evaluate(SHOWN) == "visible"
    page.click("#unfold")
    page.wait(f"{SHOWN} === 'hidden'")


def test_a_key_opens_a_fold_and_the_search_opens_all(page):
    page.evaluate("document.querySelector('.overview .vertex').focus()")
    page.key("Enter")
    page.wait(f"{SHOWN} === 'visible'")
    page.click("#unfold")
    page.click("#search")
    page.write("exec#two")
    page.key("Enter")
    page.wait(f"{SHOWN} === 'visible' && document.querySelector('#details h2')?.innerText === 'exec#two'")


def test_edges_have_their_heads_while_folded_and_while_open(page):
    """Both pictures and the legend point at the first marker of a name, and a marker inherits what hides its picture."""
    heads = "getComputedStyle(document.querySelector('#head-require path')).visibility"
    assert page.evaluate(heads) == "visible"
    page.click("#unfold")
    page.wait(f"{SHOWN} === 'visible'")
    assert page.evaluate(heads) == "visible"
