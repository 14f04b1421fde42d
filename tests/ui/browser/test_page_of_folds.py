"""Resources of one directory or kind are one box where there are many; a click or a key opens it."""

import pytest
from live_pages import file, served, write_manifest

FOLDS = (
    "page.runState.folds.map(({ label, kind, members }) => [label, kind, members.length]).sort().join(' ')"
)


@pytest.fixture(scope="module")
def large_run(tmp_path_factory):
    """A run of 120 files in two directories, and a few commands: the address of its page, and the directory."""
    directory = tmp_path_factory.mktemp("large")
    paths = [directory / name / f"{number}.conf" for number in range(60) for name in ("a", "b")]
    for name in ("a", "b"):
        (directory / name).mkdir()
    commands = {f"job {number}": {"command": "true"} for number in range(4)}
    commands["bad"] = {"command": "false", "subscribe": f"file#{paths[0]}"}
    manifest = write_manifest(
        directory / "site.yaml", file={path: file("x") for path in paths}, exec=commands
    )
    with served(manifest, "--state-dir", directory / "state") as url:
        yield url, directory


@pytest.fixture
def page(tab, large_run):
    tab.visit(large_run[0])
    tab.wait("page.runState.folds.length === 3")
    return tab


def test_a_fold_names_its_directory_or_kind_and_counts_what_is_in_it(page, large_run):
    directory = large_run[1]
    assert page.evaluate(FOLDS) == f",exec,5 {directory}/a,file,60 {directory}/b,file,60"
    page.wait_for_state("exec#bad", "failed")
    labels = page.evaluate(
        "[...document.querySelectorAll('#folds button')].map((each) => each.ariaLabel).sort()"
    )
    assert labels[0] == "Open exec: 5 resources, 1 failed, 4 changed"
    assert page.evaluate("page.runState.vertices.length") == 125


def test_a_click_opens_a_fold_and_its_button_folds_it_again(page, large_run):
    page.press_at(*page.spot(f"file#{large_run[1]}/a/7.conf"))
    page.wait("page.runState.folds.length === 2 && page.runState.boxes.length === 62")
    assert page.evaluate("document.getElementById('resource').hidden")
    page.click("#opened button")
    page.wait("page.runState.folds.length === 3 && page.runState.boxes.length === 3")


def test_keys_open_one_fold_and_all(page):
    page.evaluate("document.querySelector('#folds button').focus()")
    page.key("Enter")
    page.wait("page.runState.folds.length === 2")
    page.evaluate("document.querySelector('#unfold').focus()")
    page.key("Enter")
    page.wait("page.runState.folds.length === 0 && page.runState.boxes.length === 125")
    page.key("Enter")
    page.wait("page.runState.folds.length === 3")


def test_a_resource_that_is_chosen_in_a_fold_lights_its_box_and_those_beside_it(page, large_run):
    page.select("exec#bad")
    page.wait("page.drawing.highlighted.size === 2")
    labels = page.evaluate("[...page.drawing.highlighted].map(({ label }) => label).sort()")
    assert labels == ["", f"{large_run[1]}/a"]


def test_from_afar_names_are_still_written(page):
    page.evaluate(
        """(() => {
          window.written = [];
          const fill = CanvasRenderingContext2D.prototype.fillText;
          CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
            written.push(text);
            return fill.call(this, text, ...place);
          };
        })()"""
    )
    for scale in (0.02, 0.1, 0.3, 0.5, 1):
        page.evaluate(f"written.length = 0; page.view.zoom({scale} / page.view.scale)")
        page.wait("written.length > 0 && !page.drawing.frame")
