"""Values from files that options name: contents, tokens, secrets.

Other users can read a command line while it runs; a file they cannot. What root uses must not come from a file that others
could change.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from reactor.cli.messages import warn, with_hint
from reactor.trust.inputs import open_input
from reactor.trust.rule import DistrustedError


def read_option_file(flag: str, file: str, hint: str = "") -> str:
    """The text of ``file``, which ``flag`` has named, or of stdin if it is ``-``, as it is.

    Raises UsageError when it can't be read, when others could change it, and, with ``hint``, when it is no text.
    """
    try:
        if file == "-":
            return sys.stdin.buffer.read().decode()
        with open(file, "rb", opener=open_input) as stream:
            return stream.read().decode()
    except DistrustedError as error:
        raise with_hint(click.UsageError(f"{flag}: {error}"), error.hint) from error
    except OSError as error:
        raise click.UsageError(f"{flag}: {file}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise with_hint(click.UsageError(f"{flag}: {file} is not UTF-8 text"), hint) from None


FROM_FILE = "_from_file"
"""What the parameter of the option that names a file ends in."""

Given = str | tuple[str, ...] | None


def file_option(parameter: str, flag: str, *, repeatable: bool) -> click.Option:
    """The option beside ``flag`` that takes its value from a file; of a ``repeatable`` one, a value from each line."""
    what = "one on each line" if repeatable else "its last newline is left out"
    return click.Option(
        [parameter + FROM_FILE, f"{flag}-file"],
        metavar="FILE",
        help=f"The same from this file, or from stdin if it is -; {what}. Nobody sees it in the list of processes.",
    )


def secret_value(flag: str, value: Any, file: str | None) -> Any:
    """What was given on the command line, after a warning, or in ``file``. It is not shown from now on.

    Raises UsageError when it was given twice, or the file can't be read.
    """
    from reactor.resource.redaction import register_secret

    is_given = value is not None and value != ()
    if file is None:
        if is_given:
            warn(
                f"every user of this host can see what {flag} is while this runs; use {flag}-file FILE, or - for stdin"
            )
            register_secret([value, _values_of_pairs(value)])
        return value
    if is_given:
        raise with_hint(click.UsageError(f"{flag} and {flag}-file are given"), "choose one of them")
    text = read_option_file(f"{flag}-file", file).replace("\r\n", "\n")
    found = tuple(line for line in text.splitlines() if line) if value == () else text.removesuffix("\n")
    register_secret([found, _values_of_pairs(found)])
    return found


def _values_of_pairs(value: Given) -> list[str]:
    return [pair.partition("=")[2] for pair in value] if isinstance(value, tuple) else []
