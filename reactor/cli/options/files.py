"""Values from files that options name: contents, tokens, secrets.

While a command runs, other users can read its command line, but not its files. Root must not use a value from a file
that another user could change.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from reactor.cli.messages import warn, with_hint
from reactor.trust.inputs import open_input
from reactor.trust.rule import DistrustedError


def read_option_file(flag: str, file: str, hint: str = "") -> str:
    """The text of ``file``, the value of the option ``flag``; of stdin if it is ``-``.

    Raises UsageError if the file can't be read, if other users could change it, or, with ``hint``, if it is not UTF-8.
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
"""The suffix of the parameter for the option that names a file."""

Given = str | tuple[str, ...] | None


def file_option(parameter: str, flag: str, *, repeatable: bool) -> click.Option:
    """The option ``FLAG-file``: reads the value of ``flag`` from a file; if ``repeatable``, a value from each line."""
    form = "one value on each line" if repeatable else "the last newline is removed"
    return click.Option(
        [parameter + FROM_FILE, f"{flag}-file"],
        metavar="FILE",
        help=f"Read the value from FILE, or from stdin if FILE is -; {form}. Keeps it out of the list of processes.",
    )


def secret_value(flag: str, value: Any, file: str | None) -> Any:
    """The value of ``flag``, from the command line (with a warning) or from ``file``. It is redacted in all outputs.

    Raises UsageError if both are given, or the file can't be read.
    """
    from reactor.resource.redaction import register_secret

    is_given = value is not None and value != ()
    if file is None:
        if is_given:
            warn(
                f"every user of this host can read the value of {flag} while this runs; use {flag}-file FILE, or - for stdin"
            )
            register_secret([value, _values_of_pairs(value)])
        return value
    if is_given:
        raise with_hint(
            click.UsageError(f"{flag} and {flag}-file can't be used together"), "choose one of them"
        )
    text = read_option_file(f"{flag}-file", file).replace("\r\n", "\n")
    found = tuple(line for line in text.splitlines() if line) if value == () else text.removesuffix("\n")
    register_secret([found, _values_of_pairs(found)])
    return found


def _values_of_pairs(value: Given) -> list[str]:
    return [pair.partition("=")[2] for pair in value] if isinstance(value, tuple) else []
