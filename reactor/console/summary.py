"""The summary at the end of a run: the number of each result, and the resources that are not as desired."""

from __future__ import annotations

import io
from collections import Counter
from typing import Literal

from reactor.console.open_problems import OpenProblem, OpenProblems
from reactor.console.style import Style, in_words, result_line
from reactor.engine.events import Ended, Result
from reactor.number_format import how_it_went
from reactor.resource.escaping import escaped

_LISTED = 20
"""The most problems that the summary lists. The lines above it have listed all of them."""

_ALWAYS_SHOWN = (Result.OK, Result.CHANGED)

_MORE = "..."

_UNBOUNDED = 1000
"""A width in columns that is larger than any of these tables."""

_COLOURS = {
    "ok": "green",
    "changed": "yellow",
    "would change": "cyan",
    "failed": "bold red",
    "blocked": "magenta",
    "skipped": "dim",
    _MORE: "",
}


def plain_summary(ended: Ended, open_problems: OpenProblems, style: Style) -> str:
    """The summary for a pipe: results on one line, then one line for each problem."""
    lines = [result_line(_results(ended), _how_it_went(ended), style)]
    lines += [f"{style(word, f'{word:7}')}  {what}" for word, what in _problems(open_problems)]
    return "".join(f"{line}\n" for line in lines)


def table_summary(ended: Ended, open_problems: OpenProblems, width: int, *, coloured: bool) -> str:
    """The summary for a terminal of ``width`` columns, as tables. If the table of results is too wide, it is one line.

    The lines above have shown each failure, so only the names are repeated.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    out = io.StringIO()
    colour_system: Literal["standard"] | None = "standard" if coloured else None
    console = Console(file=out, width=width, force_terminal=True, color_system=colour_system, highlight=False)
    results = Table(box=box.ROUNDED)
    for word, _ in _results(ended):
        results.add_column(Text(word, _COLOURS[word]), justify="right")
    results.add_row(*(str(count) for _, count in _results(ended)))
    line = Text("  ").join(
        Text.assemble((word, _COLOURS[word]), f" {count}") for word, count in _results(ended)
    )
    needed = console.measure(results, options=console.options.update(max_width=_UNBOUNDED)).maximum
    console.print(results if needed <= width else line)
    console.print(Text(_how_it_went(ended)))
    problems = Table.grid(padding=(0, 2))
    for word, what in _problems(open_problems, only_names=True):
        problems.add_row(Text(word, _COLOURS[word]), Text(what, overflow="fold"))
    if problems.row_count:
        console.print(problems)
    return out.getvalue()


def _results(ended: Ended) -> list[tuple[str, int]]:
    shown = [result for result in Result if ended.counts[result] or result in _ALWAYS_SHOWN]
    return [(in_words(result), ended.counts[result]) for result in shown]


def _how_it_went(ended: Ended) -> str:
    return how_it_went(ended.reason, ended.changes, ended.duration)


def _problems(open_problems: OpenProblems, *, only_names: bool = False) -> list[tuple[str, str]]:
    """The problems as pairs for the list: each failed and blocked resource, and the skipped resources by reason."""
    lasting = [
        (ref, problem)
        for ref, problem in open_problems.problems.items()
        if problem.result is not Result.SKIPPED
    ]
    lasting.sort(key=lambda item: item[1].result is Result.BLOCKED)
    shown = [
        (str(problem.result), escaped(ref if only_names else _describe(ref, problem)))
        for ref, problem in lasting[:_LISTED]
    ]
    if len(lasting) > _LISTED:
        shown.append((_MORE, f"and {len(lasting) - _LISTED} more"))
    skipped = Counter(t.reason for t in open_problems.problems.values() if t.result is Result.SKIPPED)
    return shown + [("skipped", escaped(f"{count}: {reason}")) for reason, count in skipped.items()]


def _describe(ref: str, problem: OpenProblem) -> str:
    first_line = problem.reason.partition("\n")[0]
    return f"{ref}  {first_line}" if problem.result is Result.BLOCKED else f"{ref}: {first_line}"
