"""``reactor lsp``: the language server for editors."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from reactor.cli.messages import with_hint
from reactor.cli.options.inputs import external_option, readonly_inputs_options

if TYPE_CHECKING:
    from reactor.manifest.inputs import Inputs

_EXTRA = "pip install 'reactor-converge[lsp]'"


@click.command(short_help="Serve an editor with the Language Server Protocol.")
@click.option(
    "--stdio",
    is_flag=True,
    expose_value=False,
    help="Has no effect. VS Code and other editors always add it.",
)
@external_option
@readonly_inputs_options
def lsp(external: tuple[str, ...], inputs: Callable[[], Inputs]) -> None:
    """Serve an editor over stdin and stdout, with the Language Server Protocol.

    The editor starts this command. It gets the problems that 'reactor validate' finds in the open text, completion of
    kinds, properties, values, references and expressions, docs, go to definition, and renaming of resources.

    It runs no command of a manifest, fetches nothing and changes nothing. It needs the extra 'lsp':
    pip install 'reactor-converge[lsp]'

    Exit codes: 0 the editor ended it; 2 bad usage or invalid data.

    \b
    Examples:
      reactor lsp < /dev/null
      reactor lsp --external 'service#*' < /dev/null
    """
    if find_spec("pygls") is None:
        raise with_hint(click.UsageError("the library pygls is not installed"), _EXTRA)
    from reactor.loading import is_elsewhere

    known = inputs()
    if known.site is not None and is_elsewhere(known.site):
        hint = "download it, and name the file with --hiera"
        raise with_hint(click.UsageError("data from a URL can't be used here: nothing is fetched"), hint)
    from reactor.lsp.server import ManifestServer

    # The protocol has descriptors of its own: pygls closes them, and a stray print() must not get between the messages.
    with (
        os.fdopen(os.dup(0), "rb") as stdin,
        os.fdopen(os.dup(1), "wb") as stdout,
        redirect_stdout(sys.stderr),
    ):
        ManifestServer(known, external).start_io(stdin, stdout)
