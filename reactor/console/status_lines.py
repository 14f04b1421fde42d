"""Formats the status of a run as text, from the JSON of the control socket."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reactor.console.open_problems import name_some
from reactor.console.style import STATE_COLUMN, Style, in_words
from reactor.number_format import clock, counted, date_and_time, seconds
from reactor.resource.escaping import escaped

_INDENT = "    "
_ORDER = ("failed", "blocked", "waiting", "skipped", "unknown", "would_change", "changed", "ok")


def status_text(answer: dict[str, Any], style: Style, now: float, *, aligned: bool = False) -> str:
    """The run, then the resources, the worst first, then the counts. If no run is active: the end of the last run.

    ``aligned`` puts the states in a column before the names, for a terminal.
    """
    is_live = bool(answer["run"])
    resources = sorted(answer["resources"], key=lambda record: _ORDER.index(record["state"]))
    lines = [
        *(_run(answer["run"], style, now) if answer["run"] else _last_run(answer, style, now)),
        *_watchers(answer["watchers"], style),
        *(
            line
            for record in resources
            for line in (
                _heading(record, style, now, is_live=is_live, aligned=aligned),
                *_details(record, style, now, indent=STATE_COLUMN + 2 if aligned else len(_INDENT)),
            )
        ),
        *([_counts(answer, style)] if answer["counts"] else []),
    ]
    return "".join(f"{line}\n" for line in lines)


def _run(run: dict[str, Any], style: Style, now: float) -> Iterable[str]:
    parts = [escaped(run["manifest"]), f"pid {run['pid']}", f"up {seconds(_up(run, now))}"]
    if run["generation"] > 1:
        parts.append(f"generation {run['generation']}")
    if run["mode"] == "noop":
        parts.append("noop")
    yield "  ".join(parts)
    if moved := run.get("clock_moved"):
        how = f"set {'forward' if moved > 0 else 'back'} by {seconds(abs(moved))} since the start"
        yield f"clock  {style('warning', how)}  what is said of times before that is by the old clock"
    if (rejected := run["rejected"]) is not None:
        since = f"since {clock(rejected['time'], now)}; the last valid one stays in force"
        yield f"manifest  {style('failed', 'rejected')}  {since}"
        yield from _problems(rejected)
    if refusal := run.get("journal"):
        yield f"journal  {style('warning', 'not written')}  {escaped(refusal)}; why and events lack what happens"


def _up(run: dict[str, Any], now: float) -> float:
    """The seconds since the start of the run, also if the clock was set; a run of an older version does not say them."""
    return float(run.get("up", max(now - run["started"], 0.0)))


def _last_run(answer: dict[str, Any], style: Style, now: float) -> Iterable[str]:
    which = "last run"
    if (refused := answer.get("refused")) is not None:
        what = f"at {clock(refused['time'], now)}: it did not begin"
        yield f"last run of {escaped(refused['manifest'])}  {style('failed', 'rejected')}  {what}"
        yield from _problems(refused)
        which = "run before"
    if (ended := answer["ended"]) is not None:
        skipped = ended.get("skipped", 0)
        unseen = f"; {skipped} skipped, and shown as before it" if skipped else ""
        yield f"at the end of the {which}, {clock(ended['time'], now)} ({escaped(ended['reason'])}){unseen}"
    elif answer["counts"]:
        yield f"at the end of the {which}"


def _problems(rejected: dict[str, Any]) -> Iterable[str]:
    return (f"{_INDENT}{escaped(line)}" for text in rejected["problems"] for line in text.splitlines())


def _watchers(watchers: list[dict[str, Any]], style: Style) -> Iterable[str]:
    for watcher in watchers:
        if watcher["state"] != "armed":
            word = style("warning", watcher["state"])
            yield f"watcher {watcher['watcher']}  {word}  {escaped(watcher['reason'])}"


def _heading(record: dict[str, Any], style: Style, now: float, *, is_live: bool, aligned: bool) -> str:
    ref = escaped(record["ref"])
    word = in_words(record["state"])
    shown = style(word, word) if word != "unknown" else word
    cells = (shown + " " * (STATE_COLUMN - len(word)), ref) if aligned else (ref, shown)
    return f"{'  '.join(cells)}  {'; '.join(_state_details(record, now, is_live=is_live))}".rstrip()


def _details(record: dict[str, Any], style: Style, now: float, indent: int) -> Iterable[str]:
    """The problems of a resource and its pause, one line each."""
    margin = " " * indent
    for line in (record["error"] or "").splitlines():
        yield f"{margin}{escaped(line)}"
    if record["hint"]:
        yield f"{margin}{style('bold', 'hint:')} {escaped(record['hint'])}"
    if (waits := record.get("waiting_for")) is not None:
        yield f"{margin}waiting for slot {escaped(waits['slot'])} ({escaped(waits['reason'])})"
    if (pause := record["paused"]) is not None:
        dates = f"since {date_and_time(pause['since'])}, until {date_and_time(pause['until'])}"
        left = f"({seconds(max(pause['until'] - now, 0))} left)"
        yield f"{margin}{style('warning', 'paused')} {dates} {left}: {escaped(pause['reason'])}"
        if record["in_motion"]:
            why = "; something has changed it since" if "drift" in record["pending"] else ""
            yield f"{margin}{style('warning', 'a check is pending')} until the pause is over{why}"
    if record["pending"] and not record["in_motion"]:  # at the end of the last run
        yield f"{margin}{style('warning', 'a refresh is pending')}"
    for watching in record["watching"]:
        yield f"{margin}{style('warning', 'watching: ' + watching['state'])}  {escaped(watching['reason'])}"
    if (flapping := record["flapping"]) is not None:
        often = ", ".join(f"{escaped(action)} {count} times" for action, count in flapping["actions"].items())
        since = f"{style('warning', 'flapping')} since {clock(flapping['time'], now)}"
        yield f"{margin}{since}: {cause_of_flapping(flapping['expressions'])}: {often}"


def cause_of_flapping(expressions: Iterable[str]) -> str:
    """Why a resource flaps. ``expressions`` are its expressions whose value changes each time."""
    moving = escaped("; ".join(expressions))
    return f"its desired state changes by itself ({moving})" if moving else "something else changes it back"


def _state_details(record: dict[str, Any], now: float, *, is_live: bool) -> Iterable[str]:
    """The details of the state: since when, why, and when it is retried."""
    if record["blocked_by"]:
        yield f"by {escaped(name_some(record['blocked_by']))}"
    if record["since"] is not None and (record["checked"] is not None or record["blocked_by"]):
        yield (
            f"for {seconds(max(now - record['since'], 0))}"
            if is_live
            else f"at {clock(record['since'], now)}"
        )
    elif record["state"] == "unknown":
        yield "not checked yet"
    if record["retry_at"] is not None and record["state"] == "failed":
        yield f"retry in {seconds(max(record['retry_at'] - now, 0))}"
    if (changed := record["changed"]) is not None and record["state"] in ("ok", "changed", "would_change"):
        actions = escaped(", ".join(changed["actions"]))
        yield f"last at {clock(changed['time'], now)}: {actions} ({', '.join(changed['causes'])})"
    if record["mode"] == "warn":
        yield "mode: warn"
    if record["refresh_at"] is not None:
        yield f"waits for further refreshes for another {seconds(max(record['refresh_at'] - now, 0))}"
    elif record["in_motion"] and record["paused"] is None and record.get("waiting_for") is None:
        yield "a check is running" if record.get("checking") else "has work to do"


def _counts(answer: dict[str, Any], style: Style) -> str:
    parts = [f"{word.replace('_', ' ')} {n}" for word, n in answer["counts"].items() if n or word == "ok"]
    run = answer["run"]
    if run is None:
        return "  ".join(parts)
    if run["in_motion"]:
        parts.append(f"in motion {run['in_motion']}")
    word = style("ok", "converged") if run["converged"] else style("warning", "not converged")
    return f"{'  '.join(parts)}  ({word}, {counted(run['changes'], 'change')})"
