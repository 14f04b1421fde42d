"""The text of a file that an option names. What root carries out must not come from a file that others could change."""

from __future__ import annotations

import sys

import click

from reactor.cli.messages import hinted
from reactor.trust.inputs import open_input
from reactor.trust.rule import DistrustedError


def read_given(flag: str, file: str, hint: str = "") -> str:
    """The text of ``file``, which ``flag`` has named, or of stdin if it is ``-``, as it is.

    Raises UsageError when it can't be read, when others could change it, and, with ``hint``, when it is no text.
    """
    try:
        if file == "-":
            return sys.stdin.buffer.read().decode()
        with open(file, "rb", opener=open_input) as stream:
            return stream.read().decode()
    except DistrustedError as error:
        raise hinted(click.UsageError(f"{flag}: {error}"), error.hint) from error
    except OSError as error:
        raise click.UsageError(f"{flag}: {file}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise hinted(click.UsageError(f"{flag}: {file} is not UTF-8 text"), hint) from None
