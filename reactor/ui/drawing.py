"""Keeps the layouts of the current graph. A separate process computes each layout once for each edition."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from json.encoder import encode_basestring_ascii as quote

import trio

from reactor.engine.engine import Engine
from reactor.errors import ReactorError
from reactor.graph.build import with_reversals
from reactor.graph.graph import Edge, Graph
from reactor.resource.threads import in_thread
from reactor.resource.time_slice import TimeSlice

TIMEOUT = 120.0
"""Seconds that the layout may take. 2,000 resources take less than one."""

KEPT = 8
"""The most layouts that are kept: browsers may have different folds open."""

Opened = frozenset[str] | None
"""The names of the open folds; None for a layout without folds."""

_PROGRAM = "reactor.ui.graph_json"


class DrawingError(ReactorError):
    """The graph can't be drawn; the message says why."""

    code = "R0606"


class Drawing:
    """The graph of a run and its layouts. ``graph`` is the first one of the run.

    ``edition`` counts the changes of the graph: a reload, or a resource that is undone after it left the manifest.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._drawn: dict[Opened, tuple[int, str]] = {}
        self._lock = trio.Lock()
        self.edition = 1

    def adopt(self, graph: Graph) -> None:
        """Use ``graph`` from now on."""
        self._graph = graph

    def changed(self) -> None:
        """Mark all layouts as out of date."""
        self.edition += 1

    def edges(self, engine: Engine) -> list[Edge]:
        """The current edges, also of resources that are being undone. This may take long: call it in a thread."""
        undoing = [*engine.reversals.pending.values()]
        return (with_reversals(self._graph, undoing) if undoing else self._graph).edges

    async def picture(self, engine: Engine, opened: Opened = None) -> tuple[int, str]:
        """The edition, and its layout from `reactor.ui.graph_json`. Concurrent callers share one computation.

        ``opened`` are the names of the open folds; with None, nothing is folded. Raises DrawingError.
        """
        async with self._lock:
            while (drawn := self._drawn.get(opened)) is None or drawn[0] != self.edition:
                edition = self.edition
                text = await _draw(await self._description(engine, opened))
                self._drawn.pop(opened, None)
                while len(self._drawn) >= KEPT:
                    del self._drawn[next(iter(self._drawn))]
                self._drawn[opened] = edition, text
            return drawn

    async def _description(self, engine: Engine, opened: Opened) -> str:
        """The input of the layout as JSON, without the edges of resources that were removed meanwhile."""
        edges, time_slice, vertex_table = (
            await in_thread(self.edges, engine),
            TimeSlice(),
            engine.vertex_table,
        )
        number: dict[str, int] = {}
        vertices, pairs = [], []
        for vertex in sorted(vertex_table.present):
            await time_slice.step()
            resource = vertex_table.resources[vertex]
            number[resource.ref] = len(number)
            manifest = resource.declared.place.file if resource.declared.place else ""
            shown = map(quote, (resource.ref, resource.kind, resource.name, manifest))
            vertices.append(f"[{','.join(shown)}]")
        for edge in edges:
            await time_slice.step()
            if edge.first in number and edge.second in number:
                pairs.append(f'[{number[edge.first]},{number[edge.second]},"{edge.kind}"]')
        parts = f'"vertices":[{",".join(vertices)}],"edges":[{",".join(pairs)}]'
        return f'{{{parts},"opened":{json.dumps(None if opened is None else sorted(opened))}}}'


async def _draw(description: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        with trio.fail_after(TIMEOUT):
            done = await trio.run_process(
                [sys.executable, "-P", "-m", _PROGRAM],
                stdin=description.encode(),
                capture_stdout=True,
                capture_stderr=True,
                env=environment,
                start_new_session=True,
            )
    except trio.TooSlowError:
        raise DrawingError(f"drawing the graph took longer than {TIMEOUT:g} s") from None
    except OSError as error:
        raise DrawingError(f"drawing the graph failed: {error}") from error
    except subprocess.CalledProcessError as error:
        last_line = error.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise DrawingError(f"drawing the graph failed: {last_line or error}") from error
    return done.stdout.decode()
