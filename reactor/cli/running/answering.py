"""Answers one-shot runs that ask this run: makes a full check for each, and shows it as the one-shot run would.

Only one that would have the same result is answered. See `reactor.cli.asking` for the other side.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import trio

from reactor.cli import exitcodes
from reactor.cli.asking import (
    differing_variables,
    has_environment_file,
    inputs_of,
    mounts,
    process_facts,
    real_paths,
)
from reactor.cli.messages import diagnostics_shown
from reactor.cli.running.loaded_files import Generation
from reactor.cli.running.reloading import Reloader
from reactor.console.display import Format, Look, RunText, program_message
from reactor.console.run_header import message_record
from reactor.console.style import is_coloured
from reactor.control.full_checks import PartQueue
from reactor.control.pause_controller import PauseController
from reactor.engine.engine import Engine
from reactor.engine.events import Ended, Event
from reactor.engine.full_check import FullCheck, RunEndedError
from reactor.journal.records import lean
from reactor.manifest.read_environ import ReadEnviron
from reactor.named_tuple import NamedTuple
from reactor.resource.diagnostic import ManifestError

_OF_SANDBOX = ("/run/systemd/", "/run/credentials/", "/proc/")
"""Where systemd mounts something for itself in each sandbox. What is in /proc depends on the namespaces only."""
_CLOSED = "/systemd/inaccessible/"
"""What systemd mounts over a path that a service may not use."""


class StartRecord(NamedTuple):
    """What this run was started with, as far as it decides the result; see `reactor.cli.asking`."""

    inputs: Mapping[str, Any]
    process: Mapping[str, Any]

    @classmethod
    def of(cls, manifests: tuple[str, ...], parameters: Mapping[str, Any]) -> StartRecord:
        """The record of the command that starts now."""
        inputs: Mapping[str, Any] = json.loads(json.dumps(inputs_of(manifests, parameters)))
        return cls(inputs, process_facts())

    def differences(self, request: Mapping[str, Any], generation: Generation) -> list[str]:
        """What differs between this run and the one that asks, in words; nothing if the result is the same."""
        theirs = request["inputs"]
        found = [name for name in {**self.inputs, **theirs} if self.inputs.get(name) != theirs.get(name)]
        if not found and real_paths(self.inputs) != request["real_paths"]:
            found.append("the files that the paths lead to")
        found += [
            f"the {name}" for name, value in self.process.items() if request["process"].get(name) != value
        ]
        if not same_files(mounts(), request["mounts"]):
            found.append("the mounts")
        environ = generation.inputs.environ
        read = environ.read if isinstance(environ, ReadEnviron) else {*os.environ, *request["environ"]}
        found += differing_variables(os.environ, request["environ"], read)
        if "--no-read-env" not in theirs and (request["has_environment_file"] or has_environment_file()):
            found.append("the file .env (leave it out with --no-read-env)")
        reader = generation.inputs.secret_reader
        if reader is not None and reader.seconds_left() is not None:
            found.append("the answers of commands or Vault that are asked for secrets")
        return found


def same_files(ours: Sequence[Sequence[str]], theirs: Sequence[Sequence[str]]) -> bool:
    """Whether the same files are at every path, by the mounts that two processes see.

    The sandbox of a service mounts parts of the host once more, to close them: what it forbids fails with an error.
    """
    first, second = _View(ours), _View(theirs)
    return all(first.lookup(path) == second.lookup(path) for path in {**first.mounted, **second.mounted})


class _View:
    """The device and the directory that are mounted at each path."""

    def __init__(self, mounts: Sequence[Sequence[str]]) -> None:
        self.mounted = {
            path: (device, root)
            for device, root, path in mounts
            if not f"{path}/".startswith(_OF_SANDBOX) and _CLOSED not in root
        }

    def lookup(self, path: str) -> tuple[str, str]:
        """The device that the path is on, and where on it."""
        above = path
        while above not in self.mounted and above != "/":
            above = os.path.dirname(above)
        device, root = self.mounted.get(above, ("", "/"))
        return device, root.rstrip("/") + path[len(above.rstrip("/")) :]


class _RefusedError(Exception):
    """A run of its own could have another result."""


class RunAnswering:
    """Makes the full checks in one run, one after the other. It is a sink of the events of the run."""

    def __init__(self, start: StartRecord, reloader: Reloader) -> None:
        self._start = start
        self._reloader = reloader
        self._turn = trio.Lock()
        self._under_way: FullCheck | None = None
        self._engine: Engine | None = None
        self._pauses: Callable[[], PauseController | None] = lambda: None

    def attach(self, engine: Engine, pauses: Callable[[], PauseController | None]) -> None:
        """Use ``engine``, and the pauses that ``pauses`` returns."""
        self._engine, self._pauses = engine, pauses

    def __call__(self, event: Event) -> None:
        """Take one event of the run."""
        if self._under_way is not None:
            self._under_way.take(event)

    async def answer(self, request: dict[str, Any], parts: PartQueue) -> None:
        """Implements `reactor.control.full_checks.Answering`. If the run ends first, the answer has no exit code."""
        if self._engine is not None:
            async with self._turn:
                with suppress(RunEndedError):
                    parts.put(await self._answer(self._engine, request, parts))
        parts.close()

    async def _answer(self, engine: Engine, request: dict[str, Any], parts: PartQueue) -> dict[str, Any]:
        """Return the last part."""
        try:
            self._require_same_inputs(request)
            shown = _shown(request, parts)
            ended = await self._check(engine, request, shown)
            if isinstance(ended, ManifestError):
                return self._reject(request, parts, ended)
            self._require_same_inputs(request)
        except _RefusedError as refusal:
            return {"refused": str(refusal)}
        shown.summarize(ended)
        message = self._reloader.generation.post_message
        if message and exitcodes.is_all_well(ended):
            shown.show(message, message_record(message))
        return {"exit": exitcodes.run_code(ended, once=True, detailed=request["detailed_exitcodes"])}

    async def _check(self, engine: Engine, request: dict[str, Any], shown: RunText) -> Ended | ManifestError:
        emit = shown if request["diff"] else lambda event: shown(lean(event))
        check = FullCheck(engine, emit)
        has_begun = False

        def begin() -> None:
            nonlocal has_begun
            self._require_same_inputs(request)
            has_begun = True
            self._show_header(shown)
            check.begin()
            self._under_way = check

        try:
            await check.renew()
            if (error := await self._reloader.bring_up_to_date(begin)) is not None:
                return error
            if not has_begun:
                raise RunEndedError
            return await check.ended()
        finally:
            self._under_way = None

    def _require_same_inputs(self, request: dict[str, Any]) -> None:
        """Raise _RefusedError if a run of its own would be another one. An evaluation may have read more variables."""
        if found := self._start.differences(request, self._reloader.generation):
            raise _RefusedError(f"these differ: {', '.join(found)}")

    def _show_header(self, shown: RunText) -> None:
        generation = self._reloader.generation
        for warning in generation.warnings:
            shown.warn(warning)
        if generation.pre_message:
            shown.show(generation.pre_message, message_record(generation.pre_message))
        if generation.left_out:
            shown.show(*generation.left_out)
        if (pauses := self._pauses()) is not None:
            for event in pauses.paused():
                shown(event)

    def _reject(self, request: dict[str, Any], parts: PartQueue, error: ManifestError) -> dict[str, Any]:
        coloured = is_coloured(request["environ"], is_terminal=request["stderr"]["is_terminal"])
        records, text = diagnostics_shown(error.diagnostics, coloured=coloured, texts=error.texts)
        parts.put({"out": records if request["format"] == "json" else "", "err": text})
        return {"exit": exitcodes.bad_usage_code(detailed=request["detailed_exitcodes"])}


def _shown(request: Mapping[str, Any], parts: PartQueue) -> RunText:
    stdout, form = request["stdout"], request["format"]
    is_terminal = stdout["is_terminal"]
    look = Look(is_terminal, is_coloured(request["environ"], is_terminal=is_terminal), stdout["width"])
    chosen: Format = "json" if form == "json" else "text"
    return RunText(
        chosen,
        look,
        lambda text: parts.put({"out": text}),
        lambda message: parts.put({"err": program_message(message)}),
        continuous=False,
    )
