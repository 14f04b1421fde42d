"""The cells of all kinds: is the world right, does a second run change nothing, did the dry run tell the truth."""

from importlib.metadata import entry_points
from pathlib import Path

import pytest
from cell import Cell, differs
from matrix import MODULES, answers, cells
from questions import breaches

ENOUGH, ALL = 800, 2000


@pytest.mark.parametrize("module", MODULES)
def test_the_world_is_right_twice_and_was_foretold(module):
    found = [(str(each.cell), each.breaches) for each in answers(cells(module, whole=False)) if each.breaches]
    assert found == []


def test_there_are_enough_cells_of_every_kind():
    asked = [cell for module in MODULES for cell in cells(module, whole=False)]
    assert len(asked) >= ENOUGH
    assert {cell.kind for cell in asked} == entry_points(group="reactor.resources").names
    every = [cell for module in MODULES for cell in cells(module, whole=True)]
    assert len(every) >= ALL
    assert len({str(cell) for cell in every}) == len(every)


def a_cell(command, **more):
    def resources(place):
        return [{"exec": [{"go": {"command": command.replace("{place}", str(place)), "provider": "shell"}}]}]

    return Cell("exec", "to be caught", resources, lambda place: None, **more)


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (a_cell("true", always=True, fails=True), "it did not fail"),
        (a_cell("false"), "said would_change (Would have executed), and it was failed"),
        (a_cell("true"), "a second run: exec#go changed"),
    ],
)
def test_what_breaks_a_promise_is_reported(cell, words, tmp_path):
    assert any(words in each for each in breaches(cell, tmp_path / "scratch"))


def test_a_wrong_world_is_reported(tmp_path):
    cell = a_cell("true", always=True)
    wrong = Cell(cell.kind, cell.name, cell.resources, lambda place: differs("it", 1, 2), always=True)
    assert breaches(wrong, tmp_path / "scratch") == ["the world is not right: it is 1, not 2"]


def test_a_dry_run_that_changes_something_is_reported(tmp_path):
    mark = Path(tmp_path, "mark")

    def resources(place):
        return [{"exec": [{"go": {"command": "true", "onlyif": f"touch {mark}"}}]}]

    cell = Cell(
        "exec", "touching", resources, lambda place: None, look=lambda place: mark.exists(), always=True
    )
    assert breaches(cell, tmp_path / "scratch") == ["the dry run changed the host"]
