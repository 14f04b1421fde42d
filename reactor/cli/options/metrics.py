"""The options of ``run`` that serve its metrics on a TCP port."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from reactor.cli.messages import fail, with_hint
from reactor.named_tuple import NamedTuple

if TYPE_CHECKING:
    from reactor.cli.running.companions import Companion
    from reactor.control.listen_address import Address
    from reactor.control.tcp_listener import MetricsPort

_SHORTEST_TOKEN = 16


class MetricsEndpoint(NamedTuple):
    """The address that serves metrics, and the token that clients must send; None for no token.

    ``compat``: metrics are also served under the names of another program.
    """

    address: Address
    token: str | None
    compat: str | None = None

    def companions(self) -> tuple[Companion, ...]:
        """What counts for the names of the other program."""
        if self.compat is None:
            return ()
        from reactor.metrics.ccm import CcmMetrics

        return (CcmMetrics(),)


metrics_compat_option = click.option(
    "--metrics-compat",
    type=click.Choice(["ccm"]),
    help="Serve metrics also under CCM's names, choria_ccm_*.",
)


def metrics_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options ``--metrics``, ``--metrics-token-file`` and ``--metrics-compat``; the command gets ``endpoint``.

    Apply this decorator below the options for trusted owners: the token is read when the command is called.
    """
    port = click.option(
        "--metrics",
        metavar="HOST:PORT",
        callback=address_of,
        help="Serve metrics for Prometheus at http://HOST:PORT/metrics, such as 127.0.0.1:9469.",
    )
    token = click.option(
        "--metrics-token-file",
        metavar="FILE",
        type=click.Path(),
        help="Require the bearer token in this file from clients of --metrics.",
    )

    @port
    @token
    @metrics_compat_option
    @wraps(command)
    def with_metrics(
        *args: Any,
        metrics: Address | None,
        metrics_token_file: str | None,
        metrics_compat: str | None,
        **options: Any,
    ) -> Any:
        endpoint = metrics_endpoint(metrics, metrics_token_file, metrics_compat)
        return command(*args, endpoint=endpoint, **options)

    return with_metrics


def metrics_endpoint(
    address: Address | None, token_file: str | None, compat: str | None = None
) -> MetricsEndpoint | None:
    """The endpoint from the options. Raises UsageError if the file has no token, or other users could change it."""
    if address is None:
        return None
    return MetricsEndpoint(address, None if token_file is None else _token(token_file), compat)


def check_metrics_options(context: click.Context) -> None:
    """Raise UsageError for options that contradict each other."""
    address, file = context.params.get("metrics"), context.params.get("metrics_token_file")
    if address is None:
        for name in ("metrics_token_file", "metrics_compat"):
            if context.params.get(name) is not None:
                error = click.UsageError(f"--{name.replace('_', '-')} needs --metrics", context)
                raise with_hint(error, "add --metrics HOST:PORT")
        return
    if context.params.get("converge_once"):
        error = click.UsageError("--metrics needs a continuous run", context)
        raise with_hint(error, "remove --converge-once")
    if file is None and not address.is_loopback:
        error = click.UsageError(f"everyone who can reach {address} could read the metrics", context)
        raise with_hint(error, "set a token with --metrics-token-file, or listen on 127.0.0.1")


@contextmanager
def metrics_listener(endpoint: MetricsEndpoint | None, bad_usage: int) -> Iterator[MetricsPort | None]:
    """Listen on the address of the metrics. Ends the command if that fails."""
    if endpoint is None:
        yield None
        return
    from reactor.control.tcp_listener import MetricsPort

    with reporting_listen_errors(endpoint.address, "--metrics", bad_usage):
        port = MetricsPort(endpoint.address, endpoint.token)
    with closing(port):
        yield port


@contextmanager
def reporting_listen_errors(address: Address, option: str, bad_usage: int) -> Iterator[None]:
    """End the command if listening on the ``address`` of ``option`` fails."""
    try:
        yield
    except OSError as error:
        text = f"can't listen on {address}: {error.strerror}"
        fail("R0704", text, f"name another address with {option}", bad_usage)


def address_of(_context: click.Context, _parameter: click.Parameter, value: str | None) -> Address | None:
    """The address in the value of an option. Raises BadParameter."""
    if value is None:
        return None
    from reactor.control.listen_address import AddressError, parse_address

    try:
        return parse_address(value)
    except AddressError as error:
        raise click.BadParameter(str(error)) from error


def _token(file: str) -> str:
    """The token in the file. Raises UsageError if there is none."""
    from reactor.cli.options.files import read_option_file

    token = read_option_file("--metrics-token-file", file).strip()
    if len(token) < _SHORTEST_TOKEN or not (token.isascii() and token.isprintable() and " " not in token):
        text = f"{file} has no token: it must be one line of {_SHORTEST_TOKEN} or more characters"
        raise with_hint(click.UsageError(text), f"'openssl rand -hex 32 >{file}' makes one")
    return token
