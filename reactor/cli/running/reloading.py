"""Reloads the manifest when one of its files changes, or on request, and passes a valid version to the running engine."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import trio

from reactor.cli.messages import show_diagnostics
from reactor.cli.running.loaded_files import (
    Generation,
    LoadedFiles,
    replaced_program,
    unloadable,
    unreadable,
)
from reactor.console.run_header import warning_record
from reactor.engine.engine import Engine, NextGeneration
from reactor.engine.events import Cause, ReloadRejected, WatcherChanged
from reactor.graph.graph import Graph
from reactor.loading import all_located, is_elsewhere, shown, with_site
from reactor.manifest.directories import is_directory
from reactor.manifest.inputs import SecretReader
from reactor.resource.diagnostic import ManifestError, in_one_line
from reactor.resource.gc_control import gc_paused
from reactor.resource.mount_health import fragile_mounts
from reactor.resource.plan import ResourceError
from reactor.resource.threads import in_thread
from reactor.resource.watch import ChangedPaths, PathWatch, WatchState

if TYPE_CHECKING:
    from reactor.console.display import Display
    from reactor.manifest.notify_channels import Channel

_Result = TypeVar("_Result")

SETTLE = 0.01
"""Seconds to wait after a change: an editor replaces a file in several steps."""
REFETCH_INTERVAL = 60.0
"""Seconds between two requests for a manifest or data at a URL. Unchanged content is not sent again."""
LINK_INTERVAL = 30.0
"""Mean of the seconds between two looks at sources with events, such as those in NATS: an event may be lost."""
FACTS_INTERVAL = 10.0
"""Seconds between two checks of the facts that a manifest uses, and two attempts to read what can't be read or trusted."""


async def _read(work: Callable[[], _Result]) -> _Result:
    """Call ``work``, which only reads, in a thread. It may wait for a URL, so the end of the run abandons it."""
    return await in_thread(work, abandon_on_cancel=True, gives_way=True)


class Reloader:
    """Keeps a run on the latest valid manifest. An invalid version changes nothing; all its problems are shown.

    ``load`` reads the manifests ``names``, or raises ManifestError. It is called in a thread, so checks go on meanwhile.
    ``generation`` is the version in force, at first that of the start; ``read_at`` is when reading it began, in
    nanoseconds since 1970.
    ``on_new_graph`` is called with each graph just before it comes into force.
    """

    _engine: Engine
    _display: Display

    def __init__(
        self, names: Sequence[str], generation: Generation, load: Callable[[], Generation], read_at: int
    ) -> None:
        self.on_new_channels: Callable[[Mapping[str, Channel]], None] | None = None
        self.on_new_graph: Callable[[Graph], None] | None = None
        self.on_new_shares: Callable[[Mapping[str, Any]], None] | None = None
        self._names = names
        self._directories = {os.path.abspath(name) for name in names if is_directory(name)}
        self.generation, self._files = generation, generation.files  # of the newest version, valid or not
        self._load = load
        self._read_at = read_at
        self._watched: dict[str, int] = {}
        self._wanted = trio.Event()
        self._is_renewed = trio.Event()
        self._loading = trio.Lock()
        self._is_requested, self._is_asked = False, True
        self._is_tried_again = False  # a directory above a file announces no new mode
        self._problems: tuple[str, ...] = ()
        self.rejected: Collection[str] = ()  # the manifests, if their newest version can't be used
        self._secret_states: dict[str, tuple[bool, str]] = {}
        self._loaded_files = LoadedFiles(generation.files, generation.inputs)

    def request(self, *, again: bool = False) -> None:
        """Request a reload. Several requests may cause one reload. ``again`` shows no problems that were shown already."""
        self._is_requested |= not again
        self._wanted.set()

    def attach(self, engine: Engine, display: Display) -> None:
        """Reload when the engine requests it and, if it watches, when a file of the manifest changes.

        ``display`` shows the warnings of a new version that the version before did not have.
        """
        self._engine, self._display = engine, display
        engine.manifest_follower.renew = self._reload_exclusively
        engine.manifest_follower.origin = self
        self._follow(self.generation.files)

    def may_have(self, ref: str) -> bool:
        """Whether the run has the resource ``ref``, also to undo it, or a loop that may make it."""
        return self.generation.graph.may_have(ref) or self._engine.vertex_table.find(ref) is not None

    def concerns(self, paths: Iterable[str]) -> bool:
        """Implements `reactor.engine.manifest_follower.Origin`."""
        return self._loaded_files.concerns(paths)

    async def changed(self) -> Collection[str]:
        """Implements `reactor.engine.manifest_follower.Origin`. Files on a mount that does not answer count as unchanged."""
        async with self._loading:
            return await self._changed()

    async def _changed(self) -> Collection[str]:
        files, answering = self._loaded_files, []
        for path in files.paths:
            with suppress(ResourceError):
                await fragile_mounts().ask(path)
                answering.append(path)
        read = partial(files.changed, answering)
        try:
            return await _read(read)
        except OSError:  # no thread can be started
            return read()

    async def bring_up_to_date(self, then: Callable[[], None]) -> ManifestError | None:
        """Load the manifest, unless the version in force is certainly the newest. Return why the newest can't be used.

        Else call ``then`` before a check of it starts, unless the run has ended. What differs is checked as `INITIAL`.
        """
        async with self._loading:
            facts = self.generation.inputs.fact_paths  # a run reads some of them only once
            if self.rejected or facts or any(map(is_elsewhere, self._named)) or await self._changed():
                return await self._renew(Cause.INITIAL, then)
            then()
            return None

    @property
    def _named(self) -> Sequence[str]:
        return *self._names, self.generation.inputs.site or ""

    async def run(self) -> None:
        """Reload on request, until cancelled."""
        if self.generation.options.watch:  # what a reload and its errors need, while files can be opened
            import reactor.cli.running.turns
            import reactor.manifest.report  # noqa: F401

        if (error := self.generation.rejected) is not None:
            self._reject(error, self._read_at)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._poll_facts)
            nursery.start_soon(self._poll_secrets)
            if urls := [each for each in self._named if is_elsewhere(each)]:
                nursery.start_soon(self._follow_urls, urls)
            await self._reload_on_request()

    async def _poll_facts(self) -> None:
        """Check at an interval whether a fact that the manifest uses has changed: not every fact has an event."""
        while True:
            inputs = self.generation.inputs
            if not inputs.fact_paths:
                await self._is_renewed.wait()
                continue
            await trio.sleep(FACTS_INTERVAL)
            with suppress(OSError):  # checked again after the interval
                if await _read(inputs.facts_changed):
                    self.request()

    async def _poll_secrets(self) -> None:
        """Ask commands and Vault for their secrets at an interval; a new value makes another version of the manifest."""
        while True:
            reader = self.generation.inputs.secret_reader
            self._show_secrets(reader)
            left = None if reader is None else reader.seconds_left()
            if reader is None or left is None:
                await self._is_renewed.wait()
                continue
            with trio.move_on_after(left):
                await self._is_renewed.wait()
                continue
            with suppress(OSError):
                if await _read(reader.refresh):
                    self.request()

    def _show_secrets(self, reader: SecretReader | None) -> None:
        """Emit an event for each source of secrets whose state has changed: the status shows it."""
        now = {} if reader is None else dict(reader.states())
        for name, (is_known, reason) in now.items():
            asks_again = self._engine.options.watch or not is_known
            if asks_again and self._secret_states.get(name) != (is_known, reason):
                self._emit_state(name, WatchState.POLLING if is_known else WatchState.DOWN, reason)
        for name in self._secret_states.keys() - now.keys():
            self._emit_state(name, WatchState.ARMED, "the manifest no longer declares it")
        self._secret_states = now

    def _emit_state(self, secret: str, state: WatchState, reason: str) -> None:
        self._engine.emit(WatcherChanged(time.time(), f"secret {secret}", state, reason))

    async def _follow_urls(self, urls: Sequence[str]) -> None:
        """Look at the manifests and data at URLs: at events, and at an interval since not every network has events."""
        from reactor.cli.running.url_events import UrlEvents  # most manifests are files

        events = UrlEvents(urls, self.generation.inputs.context, self._display.warn)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(events.run)
            while True:
                await events.wait(LINK_INTERVAL if events.are_all_links else REFETCH_INTERVAL)
                warnings: list[str] = []
                with suppress(ManifestError, OSError):
                    newest = await _read(partial(self._fetched, warnings.append))
                    async with self._loading:  # a version that is loaded now may be the newest
                        known, tried = {*self.generation.files}, {*map(os.path.abspath, self._files)}
                    if not newest <= known:
                        self.request(again=newest <= tried)
                events.show(warnings)

    def _fetched(self, warn: Callable[[str], None]) -> set[str]:
        """Download the newest versions of the files at URLs; return their paths on this host."""
        inputs = self.generation.inputs
        site = with_site(inputs, warn).site
        return {os.path.abspath(each) for each in (*all_located(self._names, inputs, warn), site) if each}

    async def _reload_on_request(self) -> None:
        while True:
            with trio.move_on_after(FACTS_INTERVAL if self._is_tried_again else math.inf):
                await self._wanted.wait()
            await trio.sleep(SETTLE)
            self._is_asked, self._is_requested = self._is_requested, False
            self._wanted = trio.Event()
            await self._reload_exclusively()

    async def _reload_exclusively(self) -> bool:
        """Reload, one at a time. An edit and an `apply` may both cause a reload, and the version read last must win."""
        async with self._loading:
            return await self._renew(Cause.INTENT, lambda: None) is None

    async def _renew(self, cause: Cause, then: Callable[[], None]) -> ManifestError | None:
        """Load the manifest, and put it into force if it is valid and the run goes on. Return why it is not valid."""
        if (problem := replaced_program()) is not None:
            return self._reject(problem, time.time_ns(), plainly=True)
        from reactor.cli.running.turns import taking_turns

        # The collector would look at all that is loaded, which the engine exempts at the end.
        with gc_paused(), taking_turns():
            return await self._renew_now(cause, then)

    async def _renew_now(self, cause: Cause, then: Callable[[], None]) -> ManifestError | None:
        read_at = time.time_ns()
        try:
            generation, prepared = await self._loaded()
        except ManifestError as error:
            return error if self._engine.is_over else self._reject(error, read_at)
        if self._engine.is_over:  # it ended while this version was loaded
            return None
        self.rejected = ()
        before, self.generation, self._read_at = self.generation, generation, read_at
        self._is_tried_again, self._problems, self._files = False, (), generation.files
        self._is_renewed.set()
        self._is_renewed = trio.Event()
        self._follow(generation.files)
        if self.on_new_channels is not None and generation.channels != before.channels:
            self.on_new_channels(generation.channels)
        if self.on_new_shares is not None:
            self.on_new_shares(generation.shares)
        if self.on_new_graph is not None:
            self.on_new_graph(generation.graph)
        self._show_new_warnings(generation, before)
        self._engine.reload(generation.graph, generation.options, prepared, cause)
        then()
        return None

    def _reject(self, error: ManifestError, read_at: int, *, plainly: bool = False) -> ManifestError:
        """Show the problems of a version that began to be read at ``read_at``, ``plainly`` with what is imported already."""
        error.__traceback__ = None  # its frames hold what was loaded, in a cycle
        self._read_at, self.rejected, self._files = read_at, self._names, tuple(error.files)
        self._follow((*self._watched, *error.files))
        self._is_tried_again = any(each.code in ("R0101", "R0401") for each in error.diagnostics)
        problems = tuple(in_one_line(each, shown(self._names)) for each in error.diagnostics)
        if problems == self._problems and not self._is_asked:
            return error
        self._problems = problems
        if plainly:
            self._display.show(problems[0], warning_record(problems[0]))
        else:
            show_diagnostics(error.diagnostics, as_json=False, texts=error.texts)
        self._engine.emit(ReloadRejected(time.time(), problems))
        return error

    def _show_new_warnings(self, generation: Generation, before: Generation) -> None:
        for warning in (each for each in generation.warnings if each not in before.warnings):
            self._display.warn(warning)
        if generation.left_out not in (None, before.left_out):
            self._display.show(*generation.left_out)

    async def _loaded(self) -> tuple[Generation, NextGeneration]:
        """The present version of the manifest, compared with the one in force. Raises ManifestError."""
        try:
            generation = await _read(self._load_again)
            prepared = await _read(partial(self._engine.prepare, generation.graph))
        except (OSError, MemoryError) as error:
            raise unloadable(error) from error
        return generation, prepared

    def _load_again(self) -> Generation:
        if any(Path(name).is_fifo() for name in self._names):
            raise unreadable("the manifest is a pipe, which can't be read again", "use a file instead")
        before = self._loaded_files.stamps()
        try:
            generation = self._load()
        except ManifestError as error:
            self._loaded_files = LoadedFiles({*error.files, *before}, self.generation.inputs, before)
            raise
        self._loaded_files = LoadedFiles(generation.files, generation.inputs, before)
        return generation

    def _follow(self, files: Iterable[str]) -> None:
        """Watch ``files`` and no others. After an invalid version, the files of the last valid one are watched, too."""
        engine = self._engine
        if not engine.options.watch:
            return
        wanted = {*map(os.path.abspath, files)}
        for path in self._watched.keys() - wanted:
            engine.watch_manager.unlisten(self._watched.pop(path))
        for path in sorted(wanted - self._watched.keys()):
            check, below = partial(self._on_event, path), None
            on_event = check
            if path in self._directories:
                on_event, below = partial(self._on_directory_event, path), ChangedPaths()
            self._watched[path] = engine.watch_manager.listen(
                PathWatch(path, below, is_input=True), on_event, check
            )

    def _on_directory_event(self, directory: str) -> None:
        """Reload if a manifest was added to a directory of manifests, or removed. Each manifest has a watch of its own."""
        if self._loaded_files.is_changed(directory):
            self.request()

    def _on_event(self, path: str) -> None:
        """Reload if ``path`` was changed after it was read: lost events, or a new watch, do not say that it was."""
        if self._loaded_files.may_have_changed(path, since=self._read_at):
            self.request(again=not self._loaded_files.is_changed(path))
