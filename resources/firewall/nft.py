"""Runs nft."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from reactor import ResourceError
from reactor.resources.firewall.ruleset import Line, removal
from reactor.resources.process import ENVIRONMENT, Command, Completed, missing_rights, run

_ERROR: Final = re.compile(r"^/dev/stdin:(\d+):\d+-\d+: Error: (.*)$", re.MULTILINE)
_HINT: Final = "see nft(8), and try a rule with: nft --check"
_INSTALL: Final = "install the package nftables, or require the resource that does: require: package#nftables"


async def apply(lines: Sequence[Line]) -> None:
    """Replace the table in one transaction: if one rule is refused, nothing changes. Raises ResourceError."""
    _judge(await _nft("-f", "-", text=text_of(lines)), lines)


async def check(lines: Sequence[Line]) -> None:
    """Raise the ResourceError that `apply` would raise. Changes nothing."""
    _judge(await _nft("--check", "-f", "-", text=text_of(lines)), lines)


async def remove(table: str) -> None:
    """Remove the table in one transaction. Raises ResourceError."""
    await apply([Line(text) for text in removal(table).splitlines()])


async def listing(table: str) -> str | None:
    """The table in the syntax of nft, without what counts packets; None if it does not exist. Raises ResourceError."""
    listed = await _nft("--stateless", "list", "table", "inet", table)
    return listed.stdout if listed.exit_code == 0 else None


def text_of(lines: Sequence[Line]) -> str:
    """The content of the file."""
    return "".join(f"{line.text}\n" for line in lines)


async def _nft(*arguments: str, text: str = "") -> Completed:
    command = Command(("nft", *arguments), "/", ENVIRONMENT, input=text.encode())
    try:
        return await run(command)
    except ResourceError as error:
        if error.missing is None:
            raise
        raise ResourceError("nft is not installed", _INSTALL, missing=error.missing) from error


def _judge(completed: Completed, lines: Sequence[Line]) -> None:
    """Raise the ResourceError of a refused file, with the rule that is refused if nft names its line."""
    if completed.exit_code == 0:
        return
    if match := _ERROR.search(completed.stderr):
        line = lines[min(int(match[1]), len(lines)) - 1]
        place = "" if line.rule is None else f"rule {line.rule + 1}, "
        raise ResourceError(
            f"nft refuses {place}`{line.text.strip()}`: {match[2]}", missing_rights() or _HINT
        )
    words = completed.stderr.strip().partition("\n")[0] or f"exit code {completed.exit_code}"
    raise ResourceError(f"nft failed: {words}", missing_rights() or _HINT)
