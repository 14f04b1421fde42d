"""The errors, warnings and notices of commands on stderr, and the end of a command after an error."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn, TypeVar

import click

from reactor.cli import exitcodes
from reactor.errors import ReactorError
from reactor.resource.escaping import escaped

if TYPE_CHECKING:
    from reactor.resource.diagnostic import Diagnostic

_Error = TypeVar("_Error", bound=click.ClickException)


class EndedByErrorsError(click.exceptions.Exit):
    """The end of the command after its errors were shown. ``problems`` are these errors, one line each."""

    def __init__(self, exit_code: int, problems: Sequence[str]) -> None:
        super().__init__(exit_code)
        self.problems = problems


def fail(code: str, message: str, hint: str | None, exit_code: int = exitcodes.BAD_USAGE) -> NoReturn:
    """End the command with an error: its code, the message, and a hint on how to fix it."""
    _print_line(f"error[{code}]", message)
    if hint:
        _print_line("hint", hint)
    raise EndedByErrorsError(exit_code, [f"{message} (hint: {hint})" if hint else message])


def fail_for(
    error: ReactorError, exit_code: int = exitcodes.BAD_USAGE, *, hint: str | None = None
) -> NoReturn:
    """End the command because of ``error``. ``hint`` replaces the hint of the error."""
    fail(error.code, error.message, hint or error.hint, exit_code)


def with_hint(error: _Error, hint: str | None) -> _Error:
    """``error`` with a hint on how to fix it, if there is one."""
    if hint:
        error.add_note(hint)
    return error


@contextmanager
def reporting_errors(*, bad_usage: int) -> Iterator[None]:
    """End the command as `fail` does for errors of Click and of the operating system."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise  # click shows the help as its message
    except click.UsageError as error:
        fail(_code(error), _sentence(error), _hint(error), bad_usage)
    except click.ClickException as error:
        fail("R0703", error.format_message(), None, error.exit_code)
    except BrokenPipeError:
        raise  # click ends quietly
    except OSError as error:
        _fail_for_lost_output(error, 1)
        if error.errno == errno.EMFILE:
            raise  # the process ends with the limit in words
        if isinstance(error, FileNotFoundError) and error.filename is None:  # raised by os.getcwd
            fail(
                "R0704",
                "the current directory was removed",
                "go to another one, or name files by their whole paths",
                1,
            )
        fail("R0704", str(error), None, 1)


@contextmanager
def reporting_refusals() -> Iterator[None]:
    """End the command with an error if the active run or the operating system refuses a request."""
    from reactor.control.protocol import RefusedError

    try:
        yield
    except RefusedError as error:
        fail_for(error)
    except BrokenPipeError:
        raise  # click ends quietly
    except OSError as error:
        _fail_for_lost_output(error, exitcodes.BAD_USAGE)
        fail_for(RefusedError.from_os_error(error))


def _fail_for_lost_output(error: OSError, exit_code: int) -> None:
    """End the command if the error is that of writing its output, which names no file."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is click.echo.__code__:
            words = f"the output can't be written: {error.strerror}"
            fail("R0704", words, "see where standard output leads, such as to a full disk", exit_code)
        trace = trace.tb_next


def notice(message: str, hint: str | None) -> None:
    """Show a message that is neither an error nor the result of the command, with a hint."""
    click.echo(escaped(message), err=True)
    if hint:
        _print_line("hint", hint)


def warn(message: str) -> None:
    """Show a warning."""
    _print_line("warning", message)


def show_warnings(warnings: Iterable[str]) -> None:
    """Show warnings of the loader, with the line of each that has a place."""
    from reactor.console.style import wants_colour
    from reactor.manifest.report import excerpts
    from reactor.resource.diagnostic import placed

    coloured = wants_colour(sys.stderr)
    excerpt = excerpts(color=coloured)
    for warning in warnings:
        warn(warning)
        if (place := placed(warning)[0]) is not None:
            click.echo("".join(f"{line}\n" for line in excerpt(place)), err=True, nl=False, color=coloured)


def _print_line(what: str, text: str) -> None:
    from reactor.suggestions import folded_list

    shown = "\n".join(map(escaped, text.split("\n")))
    click.echo(folded_list(f"{what}: ", shown, _width()), err=True)


def _width() -> int | None:
    """The width of the terminal that shows the messages; None if there is none."""
    return (os.get_terminal_size(sys.stderr.fileno()).columns or None) if sys.stderr.isatty() else None


def _code(error: click.UsageError) -> str:
    if isinstance(error, (click.NoSuchOption, click.NoSuchCommand)):
        return "R0701"
    return "R0702" if type(error) is click.BadParameter else "R0703"


def _sentence(error: click.UsageError) -> str:
    """The message of Click in the form of our own messages: without the capital and the full stop."""
    text = error.message if isinstance(error, click.NoSuchOption) else error.format_message()
    text = " ".join(text.split())  # Click lists choices on lines of their own
    text = text.replace("is not a valid integer range", "is not a whole number")
    return f"{text[:1].lower()}{text[1:].removesuffix('.')}"


def _hint(error: click.UsageError) -> str | None:
    if notes := getattr(error, "__notes__", None):
        return "; ".join(notes)
    if isinstance(error, click.NoSuchOption):
        from reactor.cli.foreign_words import option_for, sentence_for

        if option := option_for(error):
            return f"did you mean {option}?"
        if sentence := sentence_for(error):
            return sentence
        if error.possibilities:
            return f"did you mean {' or '.join(error.possibilities)}?"
    return f"'{error.ctx.command_path} --help' shows its usage" if error.ctx else None


@contextmanager
def reporting_manifest_errors(*, as_json: bool, exit_code: int) -> Iterator[None]:
    """Show the problems of an invalid manifest, and end the command with ``exit_code``."""
    from reactor.resource.diagnostic import ManifestError, in_one_line

    try:
        yield
    except ManifestError as error:
        show_diagnostics(error.diagnostics, as_json=as_json, texts=error.texts)
        problems = [in_one_line(each, "") for each in error.diagnostics]
        raise EndedByErrorsError(exit_code, problems) from error


def show_diagnostics(
    diagnostics: Sequence[Diagnostic], *, as_json: bool, texts: Mapping[str, str] | None
) -> None:
    """Show the problems on stderr, and with ``as_json`` also on stdout.

    ``texts`` has the texts of sources that are not files, by name.
    """
    from reactor.console.style import wants_colour

    coloured = wants_colour(sys.stderr)
    records, text = diagnostics_shown(diagnostics, coloured=coloured, texts=texts)
    if as_json:
        click.echo(records, nl=False)
    click.echo(text, err=True, nl=False, color=coloured)


def diagnostics_shown(
    diagnostics: Sequence[Diagnostic], *, coloured: bool, texts: Mapping[str, str] | None
) -> tuple[str, str]:
    """The problems as lines of JSON, and as text for people."""
    from reactor.console.jsonlines import diagnostic_record, line
    from reactor.manifest.report import render
    from reactor.resource.redaction import redact

    records = "".join(line(diagnostic_record(each)) for each in diagnostics)
    return records, redact(render(diagnostics, color=coloured, texts=texts, width=_width())).rstrip(
        "\n"
    ) + "\n"
