"""Asks the three questions about a cell: is the world right, does a second run change nothing, was the dry run true."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import trio
from cell import Cell

from reactor import ManifestError, RunOptions, load
from reactor.engine.events import Result
from reactor.resource.backup_store import state_directory_for
from reactor.testing.story import converge_once


class End(NamedTuple):
    """How a resource stands after a run, and what was said of it."""

    result: Result
    said: str

    def __str__(self) -> str:
        return f"{self.result} ({self.said})" if self.said else str(self.result)


Ends = Mapping[str, End]
"""By ref."""

CHANGES_NOTHING = {Result.OK, Result.SKIPPED}
TRUE_AFTER = {
    Result.WOULD_CHANGE: {Result.CHANGED},
    Result.FAILED: {Result.FAILED},
    Result.BLOCKED: {Result.BLOCKED},
    Result.OK: {Result.OK},
    Result.SKIPPED: {Result.SKIPPED},
}
"""What may happen to a resource for a dry run to have told the truth of it."""
CANT_TELL = "Can't tell before"


def breaches(cell: Cell, scratch: Path) -> list[str]:
    """What is not as it should be about the cell; ``scratch`` is a directory that is made for it, and removed."""
    place = scratch / "place"
    place.mkdir(parents=True)
    try:
        with state_directory_for(str(scratch / "state")):
            return list(_breaches(cell, place, scratch / "manifest.yaml"))
    except ManifestError as error:
        return [f"the manifest is refused: {'; '.join(each.message for each in error.diagnostics)}"]
    finally:
        cell.clean(place)
        shutil.rmtree(scratch)


def _breaches(cell: Cell, place: Path, manifest: Path) -> Iterator[str]:
    cell.state(place)
    manifest.write_text(json.dumps({"resources": list(cell.resources(place))}))
    if cell.drift is not None:
        if failed := failures(run(manifest)):
            yield f"it failed before the drift: {failed}"
            return
        cell.drift(place)
    before = cell.look(place)
    foretold = run(manifest, noop=True)
    if cell.look(place) != before:
        yield "the dry run changed the host"
    happened = run(manifest)
    yield from untruths(foretold, happened, cell.unforeseeable)
    failed = failures(happened)
    if bool(failed) is not cell.fails:
        yield f"it failed: {failed}" if failed else "it did not fail"
    if failed:
        return
    if fault := cell.wrong(place):
        yield f"the world is not right: {fault}"
    for ref, end in run(manifest).items():
        if end.result not in CHANGES_NOTHING and not cell.always:
            yield f"a second run: {ref} {end}"


def run(manifest: Path, *, noop: bool = False) -> Ends:
    """Converge once, as a process of its own would: nothing is kept from one to the next."""

    async def converge() -> Ends:
        _, story = await converge_once(graph=load(str(manifest)).graph, options=RunOptions(noop=noop))
        ends = {}
        for vertex in story.engine.vertex_table.present:
            ref = story.engine.vertex_table.refs[vertex]
            checks = story.checks(ref)
            said = "; ".join((*checks[-1].actions, checks[-1].error or "")).strip("; ") if checks else ""
            ends[ref] = End(story.result(ref), said)
        return ends

    return trio.run(converge)


def failures(ends: Ends) -> str:
    """The resources that did not get there."""
    return ", ".join(f"{ref} {end}" for ref, end in ends.items() if end.result is Result.FAILED)


def untruths(foretold: Ends, happened: Ends, unforeseeable: str) -> Iterator[str]:
    """Where a dry run said something else than what happened."""
    for ref, end in happened.items():
        told = foretold[ref]
        if end.result in TRUE_AFTER[told.result] or told.said.startswith(CANT_TELL):
            continue
        if unforeseeable and (told.result, end.result) == (Result.WOULD_CHANGE, Result.FAILED):
            continue
        yield f"the dry run of {ref} said {told}, and it was {end}"
