"""The manifests of the channels of a host: which of them the run applies, their facts, and whether a release loads."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from reactor.cli.options import DEFAULT_CONTEXT
from reactor.cli.options.implicit_files import environment
from reactor.cli.running.loaded_files import replaced_program
from reactor.documents import parse_values
from reactor.errors import ReactorError
from reactor.facts.facts import Facts
from reactor.fleet.bundle.digest import MANIFEST
from reactor.fleet.bundle.errors import BundleError, NotNowError
from reactor.fleet.bundle.store import BundleStore
from reactor.fleet.host.ports import Identity
from reactor.fleet.host.root_manifest import RootManifest, conflicting_channels, text_of
from reactor.fleet.host.shared_values import SharedValues
from reactor.fleet.release.document import Release
from reactor.fleet.release.held import HeldReleases
from reactor.loading import load
from reactor.manifest.inputs import Inputs
from reactor.resource.diagnostic import Diagnostic, ManifestError

_LONGEST_FACT = 100

Fleet = Mapping[str, Any]
"""The facts ``Facts.fleet`` of one channel."""


class ChannelManifests:
    """The channels of a host in the state directory ``state``, in the order of its configuration.

    ``left_out`` has the channels whose release in force does not load on this host, with the reasons: the run goes on
    without them, until they have another release.
    """

    def __init__(self, identity: Identity, state: str) -> None:
        self.identity = identity
        self.state = state
        self.store = BundleStore(state)
        self.held = {name: HeldReleases(self.store, name) for name in identity.channels}
        self.root = RootManifest(self.store.root)
        self.shared = SharedValues(state)
        self.left_out: dict[str, str] = {}
        self.being_loaded: dict[str, str] = {}
        """Channel -> the release in force when the facts were last read. The loaded generation has these releases."""

    def inputs(self) -> Inputs:
        """The facts of this host, with the facts of the releases in force. Implements the inputs of a run."""
        in_force = {name: held.channel.facts for name, held in self.held.items()}
        fleets = {name: facts["fleet"] for name, facts in in_force.items() if _is_usable(facts)}
        self.being_loaded = {name: str(fleet.get("release")) for name, fleet in fleets.items()}
        files = tuple(self.held[name].channel.facts_path for name in fleets)
        return self._inputs(fleets)._replace(files=files)

    def begin(self) -> None:
        """Write the root manifest for the releases in force. Leave out channels that do not load. Raises OSError."""
        self.shared.prepare()
        with self.store.locked():
            found: dict[str, str] = {}
            self.left_out.clear()
            for name, held in self.held.items():
                if held.in_force is None:
                    continue
                try:
                    self._load({**found, name: held.channel.current_path})
                except BundleError as error:
                    self.left_out[name] = error.message
                else:
                    found[name] = held.channel.current_path
            self.root.write(list(found))

    def apply_also(self, channel: str) -> None:
        """Let the run apply a channel that has a release in force now. Raises OSError."""
        self.left_out.pop(channel, None)
        self.root.write(self.applied())

    def applied(self) -> list[str]:
        """The channels that the run applies, in order."""
        return [
            name
            for name, held in self.held.items()
            if held.in_force is not None and name not in self.left_out
        ]

    def validate(self, directory: str, release: Release) -> None:
        """Refuse a bundle that does not load on this host together with the other channels.

        Raises BundleError, and NotNowError where it could not be judged.
        """
        require_same_program()
        places = {
            name: directory if name == release.channel else held.channel.current_path
            for name, held in self.held.items()
            if name == release.channel or name in self.applied()
        }
        self._load(places, release)

    def is_target(self, expression: str) -> bool:
        """Evaluate an expression with the facts of this host. Raises ReactorError."""
        return bool(self.evaluate(expression))

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression of facts. Raises ReactorError."""
        from reactor.language.expression import parse_expression
        from reactor.manifest.source import Source

        source = Source("targets", expression)
        inputs = Inputs(Facts({}, parse=parse_values), {}, {}, ())
        context = inputs.expression_context(source, {}, frozenset(), strict=True)
        return parse_expression(expression).evaluate(context.scope)

    def _load(self, directories: Mapping[str, str], candidate: Release | None = None) -> None:
        """Load the manifests in ``directories`` as one run would. Raises BundleError with the first problem."""
        fleets = {}
        for name in directories:
            facts = self.held[name].channel.facts
            fleets[name] = facts["fleet"] if _is_usable(facts) else {}
            if candidate is not None and name == candidate.channel:
                fleets[name] = _facts_of(candidate)
        text = text_of({name: os.path.join(each, MANIFEST) for name, each in directories.items()})
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", dir=self.store.tmp) as root:
            root.write(text)
            root.flush()
            try:
                load((root.name,), self._inputs(fleets))
            except ManifestError as error:
                raise _refusal(error.diagnostics[0], directories) from error

    def _inputs(self, fleets: Mapping[str, Fleet]) -> Inputs:
        environ, _ = environment(read_file=False)
        facts = {"fleet": self._merged(fleets)}
        return Inputs(
            Facts(facts, parse=parse_values),
            environ,
            {},
            context=DEFAULT_CONTEXT,
            network=self.shared,
            applied_notify=True,
        )

    def _merged(self, fleets: Mapping[str, Fleet]) -> dict[str, Any]:
        """``Facts.fleet``: the facts of the only channel, and under ``channels`` the facts of each."""
        own: dict[str, Any] = {"id": self.identity.id, "groups": list(self.identity.groups)}
        if len(self.held) == 1:
            for fleet in fleets.values():
                own = {**fleet, **own}
        own["channels"] = {
            name: {key: fleet.get(key) for key in ("serial", "release")} for name, fleet in fleets.items()
        }
        return own


def require_same_program() -> None:
    """Raise NotNowError if this run would load parts of another version of reactor beside its own."""
    if (error := replaced_program()) is not None:
        problem = error.diagnostics[0]
        raise NotNowError(f"{problem.message}: {problem.hint}")


def _facts_of(release: Release) -> Fleet:
    return {"channel": release.channel, "serial": release.serial, "release": release.digest}


def _is_usable(facts: Any) -> bool:
    return isinstance(facts, dict) and isinstance(facts.get("fleet"), dict)


def _refusal(problem: Diagnostic, directories: Mapping[str, str]) -> BundleError:
    """The error for the first problem, with a place in the bundle, and the channels if it is about two of them."""
    involved = conflicting_channels(problem, directories)
    if len(involved) > 1:
        names = " and ".join(sorted(involved, key=list(directories).index))
        return BundleError(f"the channels {names} conflict on this host: {problem.message}", problem.hint)
    where = problem.place
    if where is not None and involved:
        where = where._replace(file=os.path.relpath(where.file, directories[involved[0]]))
    words = f"{where}: {problem.message}" if where else problem.message
    return BundleError(f"the manifest is not valid on this host: {words}", problem.hint)


def facts_of_any_host(channel: str | None) -> dict[str, Any]:
    """``Facts.fleet`` for a manifest that is loaded where no host of a fleet is: of a host that follows only ``channel``."""
    fleet = {"serial": 1, "release": f"sha256-{'0' * 64}"}
    name = channel or "channel"
    return {"id": "this-host", "groups": [], "channel": name, "channels": {name: fleet}, **fleet}


def declared_facts(expressions: Mapping[str, str], evaluate: Callable[[str], Any]) -> dict[str, Any]:
    """The facts for the summary: name -> value of its expression. Facts that can't be evaluated now are left out."""
    found: dict[str, Any] = {}
    for name, expression in expressions.items():
        try:
            value = evaluate(expression)
        except ReactorError:
            continue
        if isinstance(value, bool | int | float | str):
            found[name] = value[:_LONGEST_FACT] if isinstance(value, str) else value
    return found
