"""The interface of a role to the loader: its source, and the parameters that it gets."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, Self

from pydantic import PrivateAttr

from reactor.resource.composite import Composite


class RemoteRole(NamedTuple):
    """A role that is fetched: from git if it has a ``revision``, else an archive.

    ``checksum`` is the SHA-256 of the archive in hexadecimal; ``signers`` are public keys of OpenSSH, of which one
    must have signed it. ``path`` is the directory of the role in the repository or archive.
    """

    url: str
    revision: str | None = None
    checksum: str | None = None
    signers: tuple[str, ...] = ()
    path: str = ""


class RoleResource(Composite):
    """A composite whose manifest is a role: it sees its parameters and its own data, and nothing of the caller.

    The loader sets `manifest_path` with `found_in`, and `exports` to the values under ``outputs`` of the role.
    """

    parameters: dict[str, Any] | None = None
    """The values of the parameters that the role declares."""

    _directory: str = PrivateAttr(default="")
    _exports: Mapping[str, Any] = PrivateAttr(default_factory=dict)

    @classmethod
    def is_label(cls, properties: Collection[str]) -> bool:  # noqa: ARG003 - always
        """True: the source says which role it is."""
        return True

    @property
    @abstractmethod
    def remote(self) -> RemoteRole | None:
        """Where the role is fetched from; None if it is a local directory."""

    @property
    @abstractmethod
    def local_directory(self) -> str:
        """The absolute path of the local directory of the role."""

    def found_in(self, directory: str) -> None:
        """Use the role in this directory."""
        self._directory = directory

    @property
    def manifest_path(self) -> str:
        """The absolute path of the manifest of the role."""
        return f"{self._directory or self.local_directory}/manifest.yaml"

    @property
    def given_parameters(self) -> Any:
        """The values of the parameters, which may be `Unknown`."""
        return self._given.get("parameters", self.parameters or {})

    def export(self, values: Mapping[str, Any]) -> None:
        """Set the values that expressions of other resources may use."""
        self._exports = values

    def has_same_inputs(self, other: Self) -> bool:
        """Whether both manifests can be applied, or neither, and have the same outputs."""
        return super().has_same_inputs(other) and self._exports == other._exports

    async def outputs(self) -> Mapping[str, Any]:
        """The outputs of the role, and the refs of its members."""
        return {**await super().outputs(), **self._exports}
