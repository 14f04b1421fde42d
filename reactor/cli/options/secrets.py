"""Options for what is secret: a command line can be read by every user of the host while it runs, a file can't."""

from __future__ import annotations

from typing import Any

import click

from reactor.cli.messages import hinted, warn
from reactor.cli.options.files import read_given
from reactor.resource.redaction import register_secret

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
    is_given = value is not None and value != ()
    if file is None:
        if is_given:
            warn(
                f"every user of this host can see what {flag} is while this runs; use {flag}-file FILE, or - for stdin"
            )
            register_secret([value, _values_of_pairs(value)])
        return value
    if is_given:
        raise hinted(click.UsageError(f"{flag} and {flag}-file are given"), "choose one of them")
    text = read_given(f"{flag}-file", file).replace("\r\n", "\n")
    found = tuple(line for line in text.splitlines() if line) if value == () else text.removesuffix("\n")
    register_secret([found, _values_of_pairs(found)])
    return found


def _values_of_pairs(value: Given) -> list[str]:
    return [pair.partition("=")[2] for pair in value] if isinstance(value, tuple) else []
