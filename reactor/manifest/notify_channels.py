"""The channels for notifications that a manifest can declare under ``notify``."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from reactor.resource.diagnostic import InvalidPropertiesError, PropertyProblem
from reactor.resource.property_types import Duration, FrozenModel

Text = Annotated[str, Field(min_length=1)]
Line = Annotated[str, Field(min_length=1, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""Text that may stand in a header field: without control characters, so also without line ends."""
Kind = Literal["failed", "recovered", "flapping", "drift"]
KINDS = ("webhook", "mail", "command")


class Webhook(FrozenModel):
    """An HTTP server that gets each message by POST."""

    waits_for_secrets: ClassVar[bool] = True

    url: Annotated[str, Field(pattern=r"^https?://[^\s]+$")]
    """The http or https URL. Redirects are not followed."""
    headers: dict[Line, Line] = Field(default_factory=dict)
    """Header fields, such as ``Authorization``."""
    body: Text | None = None
    """A template for the body, with expressions of ``Notification``; by default, the body is the JSON of it."""
    ca_file: Text | None = None
    """A file with the certificates to trust, in PEM; by default those of the host."""


class Mail(FrozenModel):
    """Mail over SMTP."""

    to: Annotated[tuple[Line, ...], Field(min_length=1)]
    """The addresses to send to."""
    sender: Annotated[Line, Field(alias="from")]
    """The address of the sender."""
    server: Line
    """The name of the mail server."""
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    """The port; by default 587, 465 with ``tls: implicit``, 25 with ``tls: none``."""
    tls: Literal["starttls", "implicit", "none"] = "starttls"
    """How the connection is encrypted. A server that does not offer it gets no mail."""
    user: Text | None = None
    """The user to log in as."""
    password: Text | None = None
    """The password of the user."""
    ca_file: Text | None = None
    """A file with the certificates to trust, in PEM; by default those of the host."""

    @model_validator(mode="after")
    def _keeps_the_password(self) -> Self:
        if self.password is not None and self.tls == "none":
            raise _refused(
                "password", "a password is not sent over a connection in clear", "use tls: starttls"
            )
        if (self.password is None) != (self.user is None):
            raise _refused("user", "user and password go together", "give both, or none")
        return self


class Channel(FrozenModel):
    """One channel: exactly one of ``webhook``, ``mail`` and ``command`` says how it sends."""

    waits_for_secrets: ClassVar[bool] = True

    webhook: Webhook | None = None
    """An HTTP server that gets each message by POST."""
    mail: Mail | None = None
    """Mail over SMTP."""
    command: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    """A command, as a list, that reads the JSON of the message from its standard input. It runs without a shell."""
    on: Annotated[tuple[Kind, ...], Field(min_length=1)] = ("failed", "recovered", "flapping", "drift")
    """What is sent."""
    group_wait: Annotated[Duration, Field(ge=0)] = 30.0
    """How long the first message waits for more."""
    group_interval: Annotated[Duration, Field(ge=1)] = 300.0
    """The least time between two messages."""
    repeat_interval: Annotated[Duration, Field(ge=60)] = 14400.0
    """How often a failure that lasts is sent again."""
    timeout: Annotated[Duration, Field(gt=0, le=300)] = 30.0
    """How long sending one message may take."""

    @model_validator(mode="after")
    def _sends_one_way(self) -> Self:
        found = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(found) != 1:
            message = f"a channel has exactly one of {', '.join(KINDS)}; this one has {' and '.join(found) or 'none'}"
            raise InvalidPropertiesError([PropertyProblem(tuple(found[1:2]), message, "keep one of them")])
        return self


def _refused(name: str, message: str, hint: str) -> InvalidPropertiesError:
    return InvalidPropertiesError([PropertyProblem((name,), message, hint)])
