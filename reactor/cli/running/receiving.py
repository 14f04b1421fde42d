"""The host's side of a push: takes the bundle, puts it into force, runs it, and reports.

Nothing is switched before the bundle is complete on the disk and its manifest is valid here. Every step that fails ends
with a `pushed` event that says why, and leaves the bundle in force that was in force.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import click

from reactor.cli import exitcodes
from reactor.cli.options import CONTEXT_VARIABLE, DEFAULT_CONTEXT
from reactor.cli.options.inputs import Given, host_facts
from reactor.cli.options.network import RunNetwork
from reactor.cli.running.receive_proof import CHANNEL
from reactor.console.jsonlines import diagnostic_record, line
from reactor.engine.options import RunOptions
from reactor.errors import Place, ReactorError
from reactor.fleet.bundle.channel import Channel
from reactor.fleet.bundle.digest import MANIFEST
from reactor.fleet.bundle.errors import BundleError
from reactor.fleet.bundle.store import BundleStore
from reactor.fleet.push.request import Request
from reactor.journal.state_directory import Location, LockedError, StateDirectory, held_manifest, holder
from reactor.manifest.inputs import Inputs
from reactor.resource.diagnostic import ManifestError

if TYPE_CHECKING:
    from reactor.cli.running.receive_evidence import Evidence
    from reactor.loading import LoadedManifest

_FAILED = 1


class Result(NamedTuple):
    """The result of the push on this host: ``ok``, ``changed``, ``would_change``, ``failed`` or ``rejected``."""

    result: str
    changes: int = 0
    error: str | None = None
    hint: str | None = None
    code: str | None = None


def receive_push(request: Request, state: str, stream: IO[bytes]) -> int:
    """Do what ``request`` asks, with the bundle from ``stream``; return the exit code."""
    receiver = None
    try:
        StateDirectory.make(state)
        receiver = _Receiver(request, state, stream)
        result = receiver.receive()
    except BrokenPipeError:
        return _FAILED
    except ReactorError as error:
        result = Result("failed", error=error.message, hint=error.hint, code=error.code)
    except OSError as error:
        words = f"can't keep the bundle in {state}: {error.strerror or error}"
        result = Result(
            "failed", error=words, hint="make room or repair the disk, and push again", code="R0802"
        )
    pushed = _pushed(receiver.channel.current if receiver else None, result)
    emit(pushed)
    return 0 if result.result in ("ok", "changed", "would_change") else _FAILED


def _pushed(bundle: str | None, result: Result) -> dict[str, Any]:
    return {"event": "pushed", "time": time.time(), "bundle": bundle, **result._asdict()}


def emit(record: dict[str, Any]) -> None:
    """Write one event to stdout at once. Raises BrokenPipeError if the reader is gone."""
    sys.stdout.write(line(record))
    sys.stdout.flush()


class _Receiver:
    def __init__(self, request: Request, state: str, stream: IO[bytes]) -> None:
        self._request = request
        self._state = state
        self._stream = stream
        self._store = BundleStore(state)
        self.channel = Channel(self._store, CHANNEL)
        self._manifest = os.path.join(self.channel.current_path, MANIFEST)
        self._network = RunNetwork(os.environ.get(CONTEXT_VARIABLE) or DEFAULT_CONTEXT)
        self._network.state = state
        self._loaded: LoadedManifest | None = None
        self._ready: dict[str, Any] = {}

    def receive(self) -> Result:
        """Take the bundle and run it. Raises ReactorError and OSError; then nothing was switched."""
        with self._store.locked():
            follows = self._run_that_follows()
            digest = self._request.digest or self._bundle_before()
            needed = not self._store.has(digest)
            read_at = time.time_ns()
            self._announce(needed=needed)
            with ExitStack() as stack:
                place = stack.enter_context(self._taken(digest)) if needed else self._store.path_of(digest)
                facts = stack.enter_context(self._facts_file())
                manifest = os.path.join(place, MANIFEST)
                if rejected := self._problems(manifest, facts):
                    return rejected
                if self._request.noop:
                    return self._converged(manifest, facts)
                if needed:
                    self._store.keep(place, digest)
            if follows or self._request.stay:
                return self._stayed(digest, runs=follows)
            self._switch(digest)
            evidence = (
                None if needed or self._loaded is None else self._evidence(self._loaded, place, read_at)
            )
            result = self._converged(self._manifest, self.channel.facts_path, evidence)
            self._store.remove_unused()
            return result

    def _run_that_follows(self) -> bool:
        """Whether a run follows the bundle in force. Raises LockedError if a run of another manifest is active."""
        if self._request.noop or (found := holder(self._state)) is None:
            return False
        if held_manifest(self._state) == self._manifest:
            return True
        hint = "stop it, or let it run the bundle: reactor push --stay"
        raise LockedError(f"{found} uses the state directory {self._state}", hint)

    def _bundle_before(self) -> str:
        previous = self.channel.previous
        if previous is None:
            raise BundleError("this host has no previous bundle", "push the one you want")
        return previous

    def _announce(self, *, needed: bool) -> None:
        from reactor.resource.entry_points import installed_version

        version = installed_version()
        self._ready = {"event": "ready", "time": time.time(), "version": version, "need": needed}
        emit(self._ready)

    @contextmanager
    def _taken(self, digest: str) -> Iterator[str]:
        from reactor.fleet.bundle.limits import LIMITS

        size = self._request.size  # of a user who may run manifests here, so it may raise the limits
        with self._store.unpacked(self._stream, digest, size, LIMITS.raised_for(size)) as directory:
            yield directory

    @contextmanager
    def _facts_file(self) -> Iterator[str]:
        """The facts of the request as a file, for the time before they are in force."""
        with tempfile.NamedTemporaryFile(
            "w", dir=os.path.join(self._store.root, "tmp"), suffix=".json"
        ) as file:
            json.dump(self._request.facts, file)
            file.flush()
            yield file.name

    def _problems(self, manifest: str, facts: str) -> Result | None:
        """Validate the manifest on this host, with its facts. Shows all its problems."""
        from reactor.loading import load

        try:
            self._loaded = load((manifest,), self._inputs(facts))
        except ManifestError as error:
            for diagnostic in error.diagnostics:
                emit(_relative(diagnostic_record(diagnostic), os.path.dirname(manifest)))
            first = error.diagnostics[0]
            where = _in_bundle(first.place, os.path.dirname(manifest))
            return Result("rejected", error=f"{where}{first.message}", hint=first.hint, code=first.code)
        return None

    def _inputs(self, facts: str) -> Inputs:
        given = host_facts(Given(facts, ()))
        network = self._network
        return Inputs(given, os.environ, {}, (facts,), context=network.context, network=network)

    def _switch(self, digest: str) -> bool:
        """Put the bundle into force. Return whether anything changed."""
        if not self.channel.switch(digest, self._request.facts):
            return False
        record = {"bundle": digest, "previous": self.channel.previous}
        emit({"event": "switched", "time": time.time(), **record})
        return True

    def _evidence(self, loaded: LoadedManifest, place: str, read_at: int) -> Evidence | None:
        from reactor.cli.running.receive_evidence import Evidence

        return Evidence.before(loaded, place, self.channel.path, self._request.facts, read_at)

    def _converged(self, manifest: str, facts: str, evidence: Evidence | None = None) -> Result:
        """Run the manifest to convergence, or as a dry run, as `reactor run --converge-once --format json` does."""
        from reactor.cli.running.converge import ConvergeCommand
        from reactor.secrets.reader import RunSecrets

        options = RunOptions(watch=False, noop=self._request.noop, diff=self._request.diff)
        asked = ConvergeCommand(
            (manifest,), lambda: self._inputs(facts), (), (), None, options, "json", Location(self._state, chosen=True),
            exitcodes.BAD_USAGE, RunSecrets(), network=self._network,
        )  # fmt: skip
        try:
            ended, interruption = asked.converge(None, None)
        except click.exceptions.Exit:
            return Result("failed", error="the run did not start; its output says why")
        from reactor.engine.events import Result as Ended

        if exitcodes.run_code(ended, once=True, detailed=False) or interruption.left_work:
            broken = ended.counts[Ended.FAILED] + ended.counts[Ended.BLOCKED]
            return Result("failed", ended.changes, error=f"{broken} resources are not as desired")
        if would := ended.counts[Ended.WOULD_CHANGE]:
            return Result("would_change", would)
        result = Result("changed" if ended.changes else "ok", ended.changes)
        if evidence is not None and not ended.changes:
            report = {"ready": self._ready, "pushed": _pushed(self.channel.current, result)}
            evidence.write(self._store.root, self._state, self._manifest, ended, report)
        return result

    def _stayed(self, digest: str, *, runs: bool) -> Result:
        """Let the service follow the bundle, and wait until it has converged."""
        from reactor.cli.running.following import follow_start, follow_switch, install_service

        if runs:
            result = follow_switch(self._state, lambda: self._switch(digest), emit)
        else:
            self._switch(digest)
            install_service(self._manifest, self.channel.facts_path, self._state)
            result = follow_start(self._state, emit)
        self._store.remove_unused()
        return Result(*result)


def _relative(record: dict[str, Any], directory: str) -> dict[str, Any]:
    """The record with the name of the file within the bundle."""
    file = record["file"]
    return {**record, "file": os.path.relpath(file, directory) if file and os.path.isabs(file) else file}


def _in_bundle(place: Place | None, directory: str) -> str:
    """The position, with the name of the file within the bundle."""
    if place is None:
        return ""
    name = os.path.relpath(place.file, directory) if os.path.isabs(place.file) else place.file
    return f"{place._replace(file=name)}: "
