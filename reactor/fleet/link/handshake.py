"""Opens one connection: TCP, INFO, TLS, CONNECT, and the first PONG."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from typing import Any

import trio

from reactor.fleet.link import tls
from reactor.fleet.link.errors import (
    ExpiredError,
    ForeignServerError,
    IdentityError,
    LinkError,
    UnreachableError,
)
from reactor.fleet.link.identity import described, identity
from reactor.fleet.link.options import Options
from reactor.fleet.link.servers import Server
from reactor.fleet.link.tcp import CHUNK, open_tcp
from reactor.fleet.wire import commands
from reactor.fleet.wire.parser import Info, Operation, Parser, Pong, ProtocolError, ServerError

_LEAST_LIMIT, _MOST_LIMIT = 8 << 20, 64 << 20
_MOST_EARLY = 100


@dataclass
class Session:
    """An open connection. ``early``: the bytes received before the first PONG."""

    server: Server
    stream: trio.abc.Stream
    parser: Parser
    info: dict[str, Any]
    early: list[Operation]

    @property
    def certificate_ends(self) -> str | None:
        """When the certificate of the server expires, as `ssl` gives it; None without TLS."""
        if not isinstance(self.stream, trio.SSLStream):
            return None
        return str(self.stream.getpeercert()["notAfter"])


async def open_session(server: Server, options: Options, seconds: float) -> Session:
    """Connect to ``server`` within ``seconds``. Raises LinkError, and leaves no connection open."""
    stream: trio.abc.Stream | None = None
    session: Session | None = None
    try:
        with trio.fail_after(seconds):
            stream = await open_tcp(server.host, server.port)
            if options.tls_first:
                stream = await _secured(stream, server, options)
            parser = Parser()
            info = await _info(stream, parser)
            if not options.tls_first and _needs_tls(info, server, options):
                stream = await _secured(stream, server, options)
            session = Session(server, stream, parser, info, [])
            await _introduce(session, options)
            return session
    except BaseException as error:
        if stream is not None:
            with trio.CancelScope(shield=True):
                await trio.aclose_forcefully(stream)
        if isinstance(error, LinkError) or not isinstance(error, Exception):
            raise
        if isinstance(error, trio.TooSlowError) and session is not None:
            raise _silent(server, options) from error
        raise explained(error, server, options) from error


def _silent(server: Server, options: Options) -> LinkError:
    """The error of a server that has told of itself, and then says nothing: it lets who is refused wait for seconds."""
    words = f"the NATS server {server} gives {described(options, server)} no answer in time"
    return UnreachableError(
        words, "it may be about to refuse this: see its log, and whether it knows the accounts"
    )


def explained(error: BaseException, server: Server, options: Options) -> LinkError:
    """Convert an exception of a connection to a LinkError for people."""
    if isinstance(error, LinkError):
        return error
    if tls.failure_of(error) is not None:
        return tls.explained(error, server, options)
    if isinstance(error, ProtocolError):
        hint = "check the host and the port of the URL"
        return ForeignServerError(f"what listens at {server} is not a NATS server: {error}", hint)
    if isinstance(error, EOFError):
        return UnreachableError(
            f"the NATS server {server} closed the connection", "see the log of the server"
        )
    hint = "check that nats-server runs there, the URL, and firewalls between"
    if isinstance(error, socket.gaierror):
        hint = "check the name of the host"
    elif isinstance(error, trio.TooSlowError):
        hint += "; a server with `handshake_first` needs `tls_first` in the context"
    return UnreachableError(f"can't reach the NATS server {server}: {_reason(error)}", hint)


def refused(text: str, server: Server, options: Options) -> LinkError:
    """Convert an error of the server that ends the connection to a LinkError."""
    lower = text.lower()
    subject = described(options, server)
    where = f" in {options.origin}" if options.origin else ""
    if "expired" in lower:
        hint = f"{options.renewal}, and check the clock of this host{where and f'; they are named{where}'}"
        return ExpiredError(f"the NATS server {server} refuses {subject}: expired", hint)
    if "authorization" in lower or "authentication" in lower or "account" in lower:
        usual = f"check user, password, token or credentials{where}, and the users of the server"
        hint = options.remedy or usual
        return IdentityError(f"the NATS server {server} refuses {subject}: {text}", hint)
    if "secure connection" in lower or "tls" in lower:
        return tls.explained(EOFError(), server, options)
    return UnreachableError(
        f"the NATS server {server} ends the connection: {text}", "see the log of the server"
    )


async def _info(stream: trio.abc.Stream, parser: Parser) -> dict[str, Any]:
    """Return the INFO of the server. Refuses bytes after it: they would be trusted as if they came over TLS."""
    while True:
        for operation in parser.feed(await _received(stream)):
            if not isinstance(operation, Info) or parser.pending:
                raise ProtocolError("it does not begin with INFO alone")
            return operation.values


def _needs_tls(info: dict[str, Any], server: Server, options: Options) -> bool:
    wanted = server.secure or options.wants_tls
    offered = bool(info.get("tls_required") or info.get("tls_available"))
    if wanted and not offered:
        raise tls.no_tls(server, options)
    return wanted or bool(info.get("tls_required"))


async def _secured(stream: trio.abc.Stream, server: Server, options: Options) -> trio.abc.Stream:
    context = tls.client_context(options)
    secured = trio.SSLStream(stream, context, server_hostname=server.tls_name, https_compatible=True)
    try:
        await secured.do_handshake()
    except (trio.BrokenResourceError, OSError) as error:
        with trio.CancelScope(shield=True):
            await trio.aclose_forcefully(stream)
        raise tls.explained(error, server, options) from error
    return secured


async def _introduce(session: Session, options: Options) -> None:
    """Send CONNECT with the identity of the client, and wait for the first PONG."""
    session.parser.largest = _largest(session.info)
    await session.stream.send_all(commands.connect(_connect_fields(session, options)) + commands.PING)
    while True:
        pong = False
        for operation in session.parser.feed(await _received(session.stream)):
            match operation:
                case Pong():
                    pong = True
                case ServerError(text):
                    raise refused(text, session.server, options)
                case _:
                    session.early.append(operation)
        if pong:
            return
        if len(session.early) > _MOST_EARLY:
            raise ProtocolError("it sends messages before it knows the client")


def _connect_fields(session: Session, options: Options) -> dict[str, Any]:
    return {
        "verbose": False,
        "pedantic": False,
        "headers": True,
        "no_responders": True,
        "protocol": 1,
        "lang": "python-trio",
        "version": "1",
        "name": options.name,
        "tls_required": session.server.secure or options.wants_tls,
        **identity(options, session.server, session.info.get("nonce")),
    }


def _largest(info: dict[str, Any]) -> int:
    """Return the largest size of a message in bytes, as the server announces it, within bounds."""
    given = info.get("max_payload")
    return min(max(given if isinstance(given, int) else 0, _LEAST_LIMIT), _MOST_LIMIT)


async def _received(stream: trio.abc.Stream) -> bytes:
    data = await stream.receive_some(CHUNK)
    if not data:
        raise EOFError
    return bytes(data)


def _reason(error: BaseException) -> str:
    """Return the error message of the operating system for the original failure."""
    if isinstance(error, trio.TooSlowError):
        return "no answer in time"
    if isinstance(error, socket.gaierror):
        return error.strerror or "the name is unknown"
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, BaseExceptionGroup):
            inner = inner.exceptions[0]
        if isinstance(inner, OSError) and inner.errno is not None:
            return os.strerror(inner.errno)
        inner = inner.__cause__
    return str(error) or type(error).__name__
