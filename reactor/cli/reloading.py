"""Loads the manifest anew when a file of it changes, or when asked to, and hands a valid one to the running engine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import trio

from reactor.cli.loaded_files import LoadedFiles
from reactor.cli.manifests import report
from reactor.engine.engine import Engine
from reactor.engine.events import ReloadRejected
from reactor.engine.options import RunOptions
from reactor.graph.graph import Graph
from reactor.loading import all_located, is_elsewhere, shown, with_site
from reactor.manifest.directories import is_directory
from reactor.manifest.inputs import NO_INPUTS, Inputs
from reactor.resource.diagnostic import Diagnostic, ManifestError
from reactor.resource.mount_health import fragile_mounts
from reactor.resource.plan import ResourceError
from reactor.resource.threads import in_thread
from reactor.resource.watch import ChangedPaths, PathWatch

if TYPE_CHECKING:
    from reactor.console.display import Display

_Result = TypeVar("_Result")

SETTLE = 0.01
"""Seconds to wait after a change: an editor that replaces a file does so in several steps."""

REFETCH_INTERVAL = 60.0
"""Seconds between two looks at the URL of a manifest or of data; what is unchanged is not sent again."""

CLOCK_TICK_NS = 20_000_000
"""By so much the time of a change may be behind the clock that we read."""

FACTS_INTERVAL = 10.0
"""Seconds between two looks at the facts that a manifest uses."""


class Generation(NamedTuple):
    """A valid version of the manifest: what to run and how, and the files and facts it was made of.

    People are to know its ``warnings``, and, as programs are, what of it is ``left_out``, if anything is.
    """

    graph: Graph
    options: RunOptions
    files: tuple[str, ...] = ()
    inputs: Inputs = NO_INPUTS
    warnings: tuple[str, ...] = ()
    left_out: tuple[str, dict[str, Any]] | None = None


async def _read(work: Callable[[], _Result]) -> _Result:
    """Call something that only reads, and may take long when a URL does not answer: no run ends later for that."""
    return await in_thread(work, abandon_on_cancel=True)


class Reloader:
    """Keeps a run on the latest valid manifest. An invalid one changes nothing, and is told with all its problems.

    ``load`` reads the manifests called ``names``, or raises ManifestError; it is called in a thread, so that checks go on
    meanwhile. ``generation`` is the version the run starts with, and ``read_at`` is when reading it began, in
    nanoseconds since 1970. ``adopted`` is told each graph that is just about to come into force.
    """

    _engine: Engine
    _display: Display

    def __init__(
        self, names: Sequence[str], generation: Generation, load: Callable[[], Generation], read_at: int
    ) -> None:
        self.adopted: Callable[[Graph], None] | None = None
        self._names = names
        self._directories = {os.path.abspath(name) for name in names if is_directory(name)}
        self._generation = generation
        self._load = load
        self._read_at = read_at
        self._listening: dict[str, int] = {}
        self._wanted = trio.Event()
        self._loading = trio.Lock()
        self._loaded_files = LoadedFiles(generation.files, generation.inputs)

    def request(self) -> None:
        """Ask for a reload; several requests may be one."""
        self._wanted.set()

    def attach(self, engine: Engine, display: Display) -> None:
        """Reload when the engine asks for it, and if it watches, when the manifest or what it pulls in changes.

        ``display`` shows what there is to know of a version, where that is not what the last one said.
        """
        self._engine, self._display = engine, display
        engine.manifest_follower.renew = self._renew_in_turn
        engine.manifest_follower.origin = self
        self._follow(self._generation.files)

    def concerns(self, paths: Iterable[str]) -> bool:
        """As `reactor.engine.manifest_follower.Origin` has it."""
        return self._loaded_files.concerns(paths)

    async def changed(self) -> Collection[str]:
        """As `reactor.engine.manifest_follower.Origin` has it. What is on a mount that does not answer has not changed."""
        async with self._loading:
            files, answering = self._loaded_files, []
            for path in files.paths:
                with suppress(ResourceError):
                    await fragile_mounts().ask(path)
                    answering.append(path)
            look = partial(files.changed, answering)
            try:
                return await _read(look)
            except OSError:  # there is no thread
                return look()

    async def run(self) -> None:
        """Reload on request, until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._follow_facts)
            if any(map(is_elsewhere, (*self._names, self._generation.inputs.site or ""))):
                nursery.start_soon(self._refetch)
            await self._reload_on_request()

    async def _follow_facts(self) -> None:
        """Not every fact has an event: ask now and then whether one that the manifest uses has changed."""
        while True:
            await trio.sleep(FACTS_INTERVAL)
            inputs = self._generation.inputs
            if not inputs.fact_paths:
                continue
            with suppress(OSError):  # then it is asked again
                if await _read(inputs.facts_changed):
                    self.request()

    async def _refetch(self) -> None:
        """Nobody tells of a new version behind a URL: ask now and then."""
        while True:
            await trio.sleep(REFETCH_INTERVAL)
            with suppress(ManifestError, OSError):
                if not await _read(self._fetched) <= {*self._generation.files}:
                    self.request()

    def _fetched(self) -> set[str]:
        """Where the newest of what is behind a URL is on this host."""
        inputs = self._generation.inputs
        site = with_site(inputs, lambda _: None).site
        manifests = all_located(self._names, inputs, lambda _: None)
        return {os.path.abspath(each) for each in (*manifests, site) if each}

    async def _reload_on_request(self) -> None:
        while True:
            await self._wanted.wait()
            await trio.sleep(SETTLE)
            self._wanted = trio.Event()
            await self._renew_in_turn()

    async def _renew_in_turn(self) -> bool:
        """An edit and an `apply` may ask at the same time: what was read first must not come into force last."""
        async with self._loading:
            return await self._renew()

    async def _renew(self) -> bool:
        """Load the manifest, and put it into force if it is valid; return whether it is."""
        read_at = time.time_ns()
        try:
            generation = await self._loaded()
        except ManifestError as error:
            self._read_at = read_at
            self._follow((*self._listening, *error.files))
            problems = tuple(
                f"{each.place or shown(self._names)}: {each.message}" for each in error.diagnostics
            )
            report(error.diagnostics, as_json=False, texts=error.texts)
            self._engine.emit(ReloadRejected(time.time(), problems))
            return False
        before, self._generation, self._read_at = self._generation, generation, read_at
        self._follow(generation.files)
        if self.adopted is not None:
            self.adopted(generation.graph)
        self._introduce(generation, before)
        self._engine.reload(generation.graph, generation.options)
        return True

    def _introduce(self, generation: Generation, before: Generation) -> None:
        for warning in generation.warnings:
            if warning not in before.warnings:
                self._display.warn(warning)
        if generation.left_out not in (None, before.left_out):
            self._display.say(*generation.left_out)

    async def _loaded(self) -> Generation:
        """Raises ManifestError, also for what could be read when the run began and can't be now."""
        try:
            generation = await _read(self._load_again)
            await _read(partial(self._engine.prepare, generation.graph))
        except OSError as error:
            hint = "once there is room again, touch the manifest, or send SIGHUP"
            raise _refusal(f"can't load the manifest: {error.strerror}", hint) from error
        return generation

    def _load_again(self) -> Generation:
        if any(Path(name).is_fifo() for name in self._names):
            raise _refusal("the manifest is a pipe, which can be read only once", "put a file in its place")
        before_reading = self._loaded_files.stamps()
        try:
            generation = self._load()
        except ManifestError as error:
            known = {*error.files, *before_reading}
            self._loaded_files = LoadedFiles(known, self._generation.inputs, before_reading)
            raise
        self._loaded_files = LoadedFiles(generation.files, generation.inputs, before_reading)
        return generation

    def _follow(self, files: Iterable[str]) -> None:
        """Listen to ``files`` and to no others. After an invalid version, those of the last valid one are kept too."""
        engine = self._engine
        if not engine.options.watch:
            return
        wanted = {*map(os.path.abspath, files)}
        for path in self._listening.keys() - wanted:
            engine.watch_manager.unlisten(self._listening.pop(path))
        for path in sorted(wanted - self._listening.keys()):
            look, hear, below = partial(self._look, path), self.request, None
            if path in self._directories:
                hear, below = partial(self._hear_in, path), ChangedPaths()
            self._listening[path] = engine.watch_manager.listen(
                PathWatch(path, below, is_input=True), hear, look
            )

    def _hear_in(self, directory: str) -> None:
        """Something happened in a directory of manifests. Of what one holds, and of other files, is heard elsewhere."""
        if self._loaded_files.is_changed(directory):
            self.request()

    def _look(self, path: str) -> None:
        """See whether ``path`` was changed after it was read, and before we could hear of it.

        One on a mount that does not answer is looked at when it does: its watch tells.
        """
        if fragile_mounts().unresponsive_reason(path) is not None:
            return
        with suppress(OSError):
            changed = max(os.stat(path).st_ctime_ns, os.lstat(path).st_ctime_ns)
            if changed > self._read_at - CLOCK_TICK_NS:
                self.request()


def _refusal(message: str, hint: str) -> ManifestError:
    return ManifestError([Diagnostic("R0101", message, None, hint)])
