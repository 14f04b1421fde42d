"""``reactor receive``: takes a bundle of ``reactor push`` on stdin, and runs it."""

from __future__ import annotations

import click

from reactor.cli.messages import fail_for
from reactor.cli.options.state_dir import state_dir_option


@click.command(short_help="Take a bundle of 'reactor push' from stdin, and run it.")
@state_dir_option
def receive(state_dir: str | None) -> None:
    """Take a bundle from stdin, check it, put it into force, and run it to convergence.

    'reactor push' runs this command on each host. The first line of stdin is the request, as JSON; the bundle follows
    when the answer asks for it. The output is events, as 'reactor run --format json' writes them. The last event,
    'pushed', has the result. A bundle that is damaged, or whose manifest is not valid on this host, never comes into
    force.

    Exit codes: 0 all resources are as desired; 1 a resource failed, or the bundle was refused; 2 bad usage.

    \b
    Examples:
      reactor push site/ web1 web2
      reactor receive --help
    """
    import sys

    from reactor.cli.options.state_dir import directory_of
    from reactor.cli.running.receiving import receive_push
    from reactor.fleet.push.errors import RequestFormError
    from reactor.fleet.push.request import Request

    try:
        request = Request.read(sys.stdin.buffer)
    except RequestFormError as error:
        fail_for(error)
    code = receive_push(request, directory_of(state_dir), sys.stdin.buffer)
    raise click.exceptions.Exit(code)
