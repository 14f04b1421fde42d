"""Formats events from the journal, given in their JSON form, as lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from reactor.console.open_problems import name_some, what_differs
from reactor.console.style import Style, in_words
from reactor.number_format import date_and_time, seconds
from reactor.resource.escaping import escaped

_WIDTHS = (19, 12, 40)
"""Widths of the columns on a terminal: time, result, resource. The last column has no fixed width."""

_HEADINGS = ("time", "result", "resource", "")

_WARNINGS = {"eventslost", "auditfound", "flapping", "recordslost", "reloadrejected", "watcherchanged"}

Record = dict[str, Any]


def headline(style: Style) -> str:
    """The line with the headings of the columns."""
    return style("bold", "  ".join(_padded(_HEADINGS)).rstrip())


def entry_line(record: Record, style: Style, *, aligned: bool) -> str:
    """One event as one line; ``aligned`` in columns, for a terminal."""
    word = in_words(str(record.get("result") or _WORDS.get(record["event"], record["event"])))
    subject = escaped(record.get("ref") or _subject(record))
    cells = (date_and_time(record["time"]), word, subject, escaped(description(record)))
    shown = list(_padded(cells) if aligned else cells)
    shown[1] = style(_role(record, word), shown[1])
    return "  ".join(filter(None, shown)).rstrip()


def description(record: Record) -> str:
    """The details of the event as text: the first line of an error, the changes, the resources that block it."""
    if (words := _DESCRIBED.get(record["event"])) is not None:
        return words(record)
    return str(record.get("reason") or "")


def _checked(record: Record) -> str:
    why = ", ".join((*record["causes"], seconds(record["duration"])))
    error, done = (record["error"] or "").partition("\n")[0], ", ".join(record["actions"])
    what = f"{error}, after it {done}" if error and done else error or done
    return f"{what} ({why})".lstrip()


def _reloaded(record: Record) -> str:
    return what_differs(**{key: record[key] for key in ("changed", "added", "gone", "kept")})


def _lost(record: Record) -> str:
    """Only the journal gives numbers; a record without one tells what a host could not send to its fleet."""
    why = "because the disk was too slow" if "id" in record else "before they were sent"
    return f"{record['count']} events were lost {why}"


_DESCRIBED: dict[str, Callable[[Record], str]] = {
    "checked": _checked,
    "blocked": lambda record: f"by {name_some(record['culprits'])}",
    "ensured": lambda record: ", ".join(record["culprits"]) or "as noted in the session",
    "unblocked": lambda _: "all resources that it requires are ok again",
    "auditfound": lambda _: "the audit found drift that no event had reported",
    "flapping": lambda record: ", ".join(f"{did} {n} times" for did, n in record["actions"].items()),
    "reloaded": _reloaded,
    "reloadrejected": lambda record: "; ".join(record["problems"]),
    "recordslost": _lost,
    "reversing": lambda _: "it was removed from the manifest",
    "reversed": lambda _: "it is as it was before the first change",
    "paused": lambda record: f"until {date_and_time(record['until'])}: {record['reason']}",
    "watcherchanged": lambda record: f"{record['state']}: {record['reason']}",
}

_WORDS = {
    "watcherchanged": "watching",
    "eventslost": "events lost",
    "auditfound": "audit",
    "reloadrejected": "rejected",
    "recordslost": "records lost",
}


def _subject(record: Record) -> str:
    return f"watcher {record['watcher']}" if "watcher" in record else ""


def _role(record: Record, word: str) -> str:
    if record.get("result") or word == "blocked":
        return word
    return "warning" if record["event"] in _WARNINGS else "dim"


def _padded(cells: Iterable[str]) -> Iterable[str]:
    widths = (*_WIDTHS, 0)
    return (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
