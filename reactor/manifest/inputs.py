"""The inputs of a manifest: all data that affects its evaluation, besides its own text."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from reactor.language.expression.scope import TextMap
from reactor.manifest.expression_context import DataDigest, ExpressionContext
from reactor.manifest.expression_functions import ExpressionFunctions
from reactor.manifest.source import base_of
from reactor.named_tuple import NamedTuple

if TYPE_CHECKING:
    from reactor.manifest.bound_items import BoundItems
    from reactor.manifest.loops import KnownOutputs
    from reactor.manifest.source import Source
    from reactor.resource.network_value import Network
    from reactor.resource.role import RemoteRole


@runtime_checkable
class HostFacts(Protocol):
    """Facts that are gathered when they are first read, and may change."""

    @property
    def is_used(self) -> bool:
        """Whether any fact was read."""

    @property
    def is_lacking(self) -> bool:
        """Whether a fact was read that only a fact file could have, and the fact files did not answer."""

    @property
    def notes(self) -> list[str]:
        """The facts that could not be gathered, and why."""

    def watch_paths(self) -> list[str]:
        """Return the paths to watch: a change there may change facts."""

    def refreshed(self) -> set[str]:
        """Refresh the facts, and return the keys of those that changed."""


class SecretReader(Protocol):
    """Reads the secrets that a manifest declares: `reactor.secrets.store.SecretStore`."""

    def begin_load(self) -> None:
        """Forget the sources that the load before did not use, and start another one."""

    def value(self, name: str, source: Any, base: str, reads: set[str]) -> Any:
        """Return the value of a secret, and add the files that it depends on to ``reads``. Raises SecretError."""

    def refresh(self) -> bool:
        """Ask the sources that are due again, and return whether a value has changed. May block."""

    def states(self) -> Mapping[str, tuple[bool, str]]:
        """Return for each source that is asked at an interval whether its value is known, and a sentence about it."""

    def seconds_left(self) -> float | None:
        """Return the time until a source is due; None if no source is asked at an interval."""


class Roles(Protocol):
    """Finds the roles that come from elsewhere."""

    locks_all: bool
    """Whether the roles of resources that this host does not manage are wanted too."""

    def find(self, wanted: RemoteRole, directory: str) -> str:
        """Return the directory of a role. ``directory`` is that of the manifest that the user named.

        Raises ReactorError.
        """

    def lock_path(self, directory: str) -> str:
        """Return the path of the lock file of the manifests in ``directory``."""


_NOTHING: Mapping[str, Any] = MappingProxyType({})

_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
"""Numbers of bytes, to compare facts with: ``Facts.memory.virtual.total > 2 * GiB``."""


class Inputs(NamedTuple):
    """``facts`` about the host are gathered when they are first read; ``environ`` is the environment.

    ``data`` overrides the data of the file ``site``, which override the data of the manifest. ``secrets`` are the
    paths in ``data`` that are secret; ``remarks`` are warnings about ``data``. ``moment`` is the frozen time of one
    load, None until a manifest is loaded. ``files`` are the files that these inputs were read from. ``cache`` is the
    directory of downloaded manifests, None for the default. ``roles`` finds roles from elsewhere. ``parameters`` are
    those of a role that is loaded alone, as by its tests. ``secret_reader`` reads secrets; None leaves all unknown.
    ``known_outputs`` are kept by a run; None if nothing runs.
    ``context`` names the settings of the network that manifests and data are read from. ``network`` gives the values
    that expressions read from it; without one, such an expression is an error.
    ``applied_notify``: manifests that the manifest of the run applies may declare channels for notifications.
    ``unsaved`` has the texts of manifests that an editor shows instead of the files, by absolute path. ``bound`` has
    what its last check made of them; a manifest that was loaded with it must not run.
    """

    facts: Mapping[str, Any] = _NOTHING
    environ: Mapping[str, str] = _NOTHING
    data: Mapping[str, Any] = _NOTHING
    files: tuple[str, ...] = ()
    cache: str | None = None
    site: str | None = None
    secrets: frozenset[tuple[str, ...]] = frozenset()
    remarks: tuple[str, ...] = ()
    moment: datetime | None = None
    roles: Roles | None = None
    parameters: Mapping[str, Any] = _NOTHING
    unsaved: Mapping[str, str] = _NOTHING
    secret_reader: SecretReader | None = None
    context: str = ""
    network: Network | None = None
    known_outputs: KnownOutputs | None = None
    bound: BoundItems | None = None
    applied_notify: bool = False

    def loaded_now(self) -> Self:
        """Return the same inputs with the clock frozen now, for one load of the manifest and its children."""
        return self._replace(moment=datetime.now(UTC))

    def expression_context(
        self,
        source: Source,
        data: dict[str, Any],
        secrets: frozenset[tuple[str, ...]],
        *,
        strict: bool,
        declared: Mapping[str, Any] = _NOTHING,
    ) -> ExpressionContext:
        """Return the context of the manifest ``source`` with this ``data``, of which the paths ``secrets`` are secret.

        ``declared`` are the secrets that the manifest declares: the root ``Secrets``. When ``strict``, a missing key is
        an error; else it is nil or empty, as in CCM.
        """
        environ = self.environ if strict else TextMap(self.environ)
        names = {"Facts": self.facts, "Data": data, "Environ": environ, "Secrets": declared, **_UNITS}
        of_data, of_secrets = (("Data", *path) for path in secrets), (("Secrets", name) for name in declared)
        functions = ExpressionFunctions(
            base_of(source.file),
            names,
            frozenset((*of_data, *of_secrets)),
            strict=strict,
            moment=self.moment,
            network=self.network,
        )
        return ExpressionContext(source, functions, DataDigest(data))

    @property
    def fact_paths(self) -> list[str]:
        """The paths to watch for changes of the facts that were read; empty if none was read."""
        return self.facts.watch_paths() if isinstance(self.facts, HostFacts) and self.facts.is_used else []

    @property
    def are_lacking_facts(self) -> bool:
        """Whether a fact that was read may exist, and is not known, because the fact files did not answer."""
        return isinstance(self.facts, HostFacts) and self.facts.is_lacking

    def facts_changed(self) -> bool:
        """Whether a fact that was read has changed. Takes some milliseconds."""
        return isinstance(self.facts, HostFacts) and bool(self.facts.refreshed())

    @property
    def notes(self) -> list[str]:
        """Remarks to show to the user, including those about facts that could not be gathered."""
        facts = self.facts.notes if isinstance(self.facts, HostFacts) else ()
        return [*self.remarks, *facts, *(() if self.network is None else self.network.warnings())]


NO_INPUTS = Inputs()
"""Inputs without facts, environment or outside data."""
