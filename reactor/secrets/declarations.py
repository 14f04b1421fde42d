"""The sources of secrets that a manifest can declare under ``secrets``."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from reactor.resource.diagnostic import InvalidPropertiesError, PropertyProblem
from reactor.resource.property_types import Duration, Flag, FrozenModel


def _does_not_fit(name: str, kinds: str, found: str) -> InvalidPropertiesError:
    return InvalidPropertiesError(
        [PropertyProblem((name,), f"{name} goes with {kinds}, not with {found}", "remove it")]
    )


Text = Annotated[str, Field(min_length=1)]

KINDS = ("file", "age", "sops", "command", "credential", "systemd_creds", "vault", "fleet")
"""The properties that name a source. A secret has exactly one of them."""
ASKED = frozenset(("command", "vault"))
"""The sources that no event announces changes of: they are asked at an interval."""


class Vault(FrozenModel):
    """A secret in a key-value engine of Vault or OpenBao."""

    path: Text
    """The path of the secret, as in ``vault kv get``: the mount, then the rest."""
    field: Text | None = None
    """The field to take. Without it, the secret is a map of all fields."""
    address: Text | None = None
    """The URL of the server; by default the variable VAULT_ADDR."""
    version: Literal[1, 2] | None = None
    """The version of the engine; by default, the server is asked."""
    namespace: Text | None = None
    """The namespace; by default the variable VAULT_NAMESPACE."""
    token_file: Text | None = None
    """A file with the token; by default the variable VAULT_TOKEN, then ``~/.vault-token``."""
    role_id: Text | None = None
    """The role for a login by AppRole, which is used instead of a token."""
    secret_id_file: Text | None = None
    """A file with the secret id of the role; by default the variable VAULT_SECRET_ID."""
    login_mount: Text = "approle"
    """The mount of AppRole."""
    ca_file: Text | None = None
    """A file with the certificates to trust, in PEM; by default the variable VAULT_CACERT, then those of the host."""


class Source(FrozenModel):
    """One secret: exactly one property names its source."""

    file: Text | None = None
    """A file in clear, such as one below ``/run/secrets``."""
    age: Text | None = None
    """A file that is encrypted with age."""
    sops: Text | None = None
    """A file that is encrypted by SOPS with age keys."""
    command: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    """A command, as a list, that prints the secret. It runs without a shell."""
    credential: Text | None = None
    """The name of a credential that systemd passes to the service, in ``$CREDENTIALS_DIRECTORY``."""
    systemd_creds: Text | None = None
    """A file that is encrypted by ``systemd-creds encrypt``."""
    vault: Vault | None = None
    """A secret in Vault or OpenBao."""
    fleet: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$")] | None = None
    """The name of a secret that ``reactor fleet secret set`` has given to this host."""
    identity: Text | None = None
    """The file with the keys for ``age`` and ``sops``."""
    format: Literal["yaml", "json", "dotenv", "ini", "binary"] | None = None
    """The format of a file of ``sops``; by default, its name says which."""
    every: Annotated[Duration, Field(ge=1)] = 300.0
    """The interval at which ``command`` and ``vault`` are asked again."""
    timeout: Annotated[Duration, Field(gt=0)] = 10.0
    """How long ``command`` and ``vault`` may take."""
    trim: Flag | None = None
    """Whether newlines at the end are removed. By default only those of ``command`` are, as a shell does."""

    @model_validator(mode="after")
    def _names_one_source(self) -> Self:
        found = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(found) != 1:
            which = " and ".join(found) or "none"
            message = f"a secret has exactly one source, and this one has {which}"
            raise InvalidPropertiesError([PropertyProblem((), message, f"name one of {', '.join(KINDS)}")])
        for name, kinds in (("identity", ("age", "sops")), ("format", ("sops",))):
            if getattr(self, name) is not None and found[0] not in kinds:
                raise _does_not_fit(name, " or ".join(kinds), found[0])
        for name in ("every", "timeout"):
            if name in self.model_fields_set and found[0] not in ASKED:
                raise _does_not_fit(name, "command or vault", found[0])
        return self

    @property
    def kind(self) -> str:
        """The property that names the source."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def is_asked(self) -> bool:
        """Whether the source is asked at an interval, because no event announces a change."""
        return self.kind in ASKED

    @property
    def shown(self) -> str:
        """The source for messages. The arguments of a command are left out: they may hold a secret."""
        if self.vault is not None:
            return f"vault {self.vault.path}"
        if self.command is not None:
            return f"command {self.command[0]}"
        return f"{self.kind} {getattr(self, self.kind)}"
