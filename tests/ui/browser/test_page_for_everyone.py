"""Keys, screen readers, narrow windows, light and dark."""

import sysconfig
from pathlib import Path

import pytest
from live_pages import served, write_manifest

from reactor.graph.export.colours import STATES

AXE = Path(sysconfig.get_path("purelib"), "axe_core_python/axe.min.js")
"""The script that looks for what keeps people out of a page."""

NAMES = {f"job {number}": {"command": "true"} for number in range(5)}


@pytest.fixture(scope="module")
def calm_run(tmp_path_factory):
    """A run of a few resources: the address of its page."""
    directory = tmp_path_factory.mktemp("calm")
    manifest = write_manifest(directory / "site.yaml", exec=NAMES)
    with served(manifest, "--state-dir", directory / "state") as url:
        yield url


@pytest.fixture
def page(tab, calm_run):
    tab.visit(calm_run)
    return tab


def test_keys_are_enough_to_find_open_and_leave_a_resource(page):
    page.key("/")
    page.wait("document.activeElement.id === 'search'")
    page.write("job")
    page.wait("document.querySelectorAll('#found button').length === 5")
    page.key("ArrowDown")
    page.key("ArrowDown")
    assert page.evaluate("document.activeElement.innerText") == "exec#job 1"
    page.key("ArrowUp")
    page.key("ArrowUp")
    assert page.evaluate("document.activeElement.id") == "search"
    page.key("ArrowDown")
    page.key("Enter")
    page.wait("document.querySelector('#resource h2')?.innerText === 'exec\\njob 0'")
    page.key("Escape")
    assert page.evaluate(
        "document.getElementById('found').hidden && document.getElementById('search').value === ''"
    )
    page.key("Escape")
    assert page.evaluate("document.getElementById('resource').hidden")


def test_whatever_can_be_used_has_a_name_for_screen_readers(page):
    page.select("exec#job 3")
    page.wait("document.querySelector('#resource dl')")
    page.click("#pause-all")
    page.order("Accessibility.enable")
    nodes = page.order("Accessibility.getFullAXTree")["nodes"]
    usable = [
        node
        for node in nodes
        if node.get("role", {}).get("value") in ("button", "textbox", "searchbox", "checkbox")
    ]
    assert len(usable) > 3
    assert [node for node in usable if not node.get("name", {}).get("value")] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(page, scheme):
    page.prefer(color_scheme=scheme)
    page.select("exec#job 1")
    page.wait("document.querySelector('#resource dl')")
    page.evaluate(f"{AXE.read_text()}; 0")
    assert page.evaluate("axe.run().then(({ violations }) => violations.map(({ id }) => id))") == []
    page.click("#pause-all")
    assert page.evaluate("axe.run().then(({ violations }) => violations.map(({ id }) => id))") == []


def test_nothing_sticks_out_of_the_window(page):
    page.select("exec#job 2")
    page.wait("document.querySelector('#resource dl')")
    for width in (320, 700, 1100, 1900):
        page.resize(width, 800)
        page.wait(f"innerWidth === {width} && document.documentElement.scrollWidth <= {width}")
        assert page.evaluate("document.getElementById('boxes').clientWidth") > 200


def test_states_have_the_colours_they_have_in_exported_pictures(page):
    for scheme in ("light", "dark"):
        page.prefer(color_scheme=scheme)
        exported = {
            state: {"fill": appearance.fill, "border": appearance.border}
            if scheme == "light"
            else {"fill": appearance.dark_fill, "border": appearance.dark_border}
            for state, appearance in STATES.items()
        }
        page.wait(f"page.drawing.appearances.get('ok').fill === '{exported['ok']['fill']}'")
        assert page.evaluate("Object.fromEntries(page.drawing.appearances)") == exported


def test_without_motion_the_view_is_there_at_once(page):
    page.prefer(reduced_motion="reduce")
    page.wait("matchMedia('(prefers-reduced-motion: reduce)').matches")
    page.evaluate("page.view.reveal(page.runState.vertices[0])")
    assert page.evaluate("page.view.glide") is None


def test_a_still_page_draws_nothing(page):
    page.wait("page.drawing.pulses.size === 0 && !page.drawing.frame")
    counted = page.evaluate(
        """(async () => {
          let drawn = 0;
          const clear = CanvasRenderingContext2D.prototype.clearRect;
          CanvasRenderingContext2D.prototype.clearRect = function (...box) { drawn += 1; return clear.apply(this, box); };
          for (let frame = 0; frame < 20; frame++) await new Promise(requestAnimationFrame);
          return drawn;
        })()"""
    )
    assert counted == 0
