"""The output of a push for people: a line for each change and each host, and a table at the end.

Everything that comes from a host is escaped: a host must not control the terminal of the user.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from reactor.fleet.push.outcome import Outcome, Status
from reactor.number_format import counted
from reactor.resource.escaping import escaped

_WORDS = {
    Status.WOULD_CHANGE: "would change",
    Status.MISSING: "no reactor",
    Status.NOT_TRIED: "not tried",
}
_WORST_FIRST = (
    Status.FAILED, Status.REJECTED, Status.UNREACHABLE, Status.MISSING, Status.NOT_TRIED, Status.WOULD_CHANGE,
    Status.CHANGED, Status.OK,
)  # fmt: skip
_MOST_ERRORS = 3
_MOST_HOSTS = 5
_MOST_TEXT = 2000


def words_for(status: Status) -> str:
    """The status as people read it."""
    return _WORDS.get(status, str(status))


def clean(value: Any) -> str:
    """Text from a host, escaped and shortened to one line."""
    text = value if isinstance(value, str) else str(value)
    return escaped(text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}...")


def event_lines(host: str, record: dict[str, Any]) -> Iterator[str]:
    """The lines for one event of a host: changes, failures, diagnostics, and diffs; none for the others."""
    kind = record["event"]
    if kind == "checked" and (record.get("actions") or record.get("result") == "failed"):
        ref = clean(record.get("ref", ""))
        for action in _strings(record.get("actions")):
            yield f"{host}: {ref}: {clean(action)}"
        if record.get("result") == "failed":
            yield f"{host}: {ref}: failed: {clean(record.get('error'))}"
        for diff in _strings(record.get("diffs")):
            yield from (f"{host}:   {clean(line)}" for line in diff.removesuffix("\n").split("\n"))
    elif kind == "diagnostic":
        place = ":".join(clean(record.get(key)) for key in ("file", "line", "column") if record.get(key))
        yield f"{host}: {place + ': ' if place else ''}{clean(record.get('message'))}"
    elif kind == "warning":
        yield f"{host}: warning: {clean(record.get('text'))}"


def _strings(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def host_line(outcome: Outcome) -> str:
    """One line for a host that has ended."""
    about = [counted(outcome.changes, "change")] if outcome.changes else []
    about += [clean(outcome.error)] if outcome.error else []
    detail = f": {', '.join(about)}" if about else ""
    return f"{outcome.host}: {words_for(outcome.status)} ({outcome.duration:.1f} s){detail}"


def table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The lines at the end: the number of hosts with each outcome, and the hosts that are not as desired."""
    counts = {status: sum(each.status is status for each in outcomes) for status in _WORST_FIRST}
    parts = [f"{words_for(status)} {counts[status]}" for status in reversed(_WORST_FIRST) if counts[status]]
    yield f"{counted(len(outcomes), 'host')}: {', '.join(parts)}"
    yield from _errors(outcomes)


def _errors(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """The errors of most hosts first, each with its hosts; at most three."""
    groups: dict[tuple[str, str | None], list[Outcome]] = {}
    for each in outcomes:
        if each.error:
            key = each.error.replace(each.host, ""), each.hint and each.hint.replace(each.host, "")
            groups.setdefault(key, []).append(each)
    ordered = sorted(groups.values(), key=lambda group: -len(group))
    for group in ordered[:_MOST_ERRORS]:
        more = f" and {len(group) - _MOST_HOSTS} more" if len(group) > _MOST_HOSTS else ""
        yield f"  {', '.join(each.host for each in group[:_MOST_HOSTS])}{more}: {clean(group[0].error)}"
        if group[0].hint:
            yield f"    hint: {clean(group[0].hint)}"
    if len(ordered) > _MOST_ERRORS:
        yield f"  and {len(ordered) - _MOST_ERRORS} other errors"


def outcome_record(outcome: Outcome) -> dict[str, Any]:
    """The event for a host that has ended."""
    record = outcome._asdict()
    return {"host": record.pop("host"), "event": "hostended", "result": record.pop("status"), **record}


def ended_record(outcomes: Sequence[Outcome], code: int) -> dict[str, Any]:
    """The last event of a push."""
    counts = {str(status): sum(each.status is status for each in outcomes) for status in Status}
    return {"event": "pushended", "counts": counts, "code": code}
