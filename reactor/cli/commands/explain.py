"""``reactor explain``: explains what an error code means, and how to fix the error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NoReturn

import click

from reactor.cli.commands.kinds import folded
from reactor.cli.completion_candidates import complete_code
from reactor.cli.messages import fail
from reactor.cli.options.common import Format, format_option
from reactor.cli.values import json_text

if TYPE_CHECKING:
    from reactor.error_codes import Explanation


@click.command(short_help="Explain an error code.")
@click.argument("code", required=False, shell_complete=complete_code)
@format_option("one JSON document")
def explain(code: str | None, form: Format) -> None:
    """Explain the error CODE, such as R0107: its meaning, an example, and how to fix it. Without CODE, list all codes.

    Errors show their code as error[R0107], and as "code" in JSON.

    Exit codes: 0 done; 1 unknown code; 2 bad usage.

    \b
    Examples:
      reactor explain R0107
      reactor explain | grep -i template
      reactor explain R0204 --format json
    """
    from reactor.error_codes import catalogue

    codes = catalogue()
    if code is not None:
        found = codes.get(_canonical(code)) or _unknown(code, codes)
        click.echo(json_text(found._asdict()) if form == "json" else "\n".join(_lines(found)))
    elif form == "json":
        click.echo(json_text({name: each._asdict() for name, each in codes.items()}))
    else:
        for name, each in codes.items():
            click.echo(f"{name}  {each.title}")


def _canonical(code: str) -> str:
    """The code as it is in the catalogue, for ``error[R0107]``, as copied from a message, or lower case."""
    return code.strip().removeprefix("error").strip("[]:").upper()


def _unknown(code: str, codes: Iterable[str]) -> NoReturn:
    from reactor.suggestions import did_you_mean

    hint = did_you_mean(_canonical(code), codes) or "'reactor explain' lists all codes"
    fail("R0705", f"there is no error code {code!r}", hint, 1)


def _lines(found: Explanation) -> Iterator[str]:
    yield from folded(f"{found.code}: {found.title}")
    yield ""
    yield from folded(found.meaning)
    yield ""
    yield "Example:"
    yield from (f"  {line}" for line in found.example.rstrip("\n").split("\n"))
    yield ""
    yield from folded(f"Fix: {found.fix}", 2)
