"""Waits until a run that follows a bundle has put it into force, and has converged. Installs such a run as a service."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from itertools import chain
from typing import Any

from reactor.control.client import Client
from reactor.control.protocol import RefusedError, StatusQuery

Emit = Callable[[dict[str, Any]], None]
Followed = tuple[str, int, str | None]
"""The result, the number of changes, and the error."""


def follow_switch(state: str, switch: Callable[[], bool], emit: Emit) -> Followed:
    """Call ``switch``, and show the events of the run until it has converged, or has settled with failures.

    ``switch`` returns whether it changed what the run follows. Raises NoRunError and RefusedError.
    """
    return _followed(state, switch, emit, lambda run: int(run["changes"]))


def follow_start(state: str, emit: Emit) -> Followed:
    """Do the same for a run that was just started: all its changes count."""
    return _followed(state, lambda: False, emit, lambda _: 0)


def _followed(
    state: str, switch: Callable[[], bool], emit: Emit, changes_before: Callable[[Any], int]
) -> Followed:
    client = Client(state)
    with client.events() as events:
        before = changes_before(client.status(StatusQuery())["run"])
        awaits_reload = switch()
        for event in _shown(events, emit):
            if event.get("event") == "reloadrejected":
                return "rejected", 0, "; ".join(event["problems"])
            awaits_reload = awaits_reload and event.get("event") != "reloaded"
            if not awaits_reload and (settled := _settled(client, before)):
                return settled
    raise RefusedError("the run ended while it was followed", "see 'journalctl -u reactor'")


def _shown(events: Iterator[dict[str, Any]], emit: Emit) -> Iterator[dict[str, Any]]:
    """An empty event at once, since there may be nothing to wait for; then the events of the run."""
    for event in chain([{}], events):
        if event:
            emit(event)
        yield event


def _settled(client: Client, changes_before: int) -> Followed | None:
    """The result of the run; None while it still works."""
    status = client.status(StatusQuery())
    run, counts = status["run"], status["counts"]
    if run["in_motion"]:
        return None
    changes = run["changes"] - changes_before
    if failed := counts.get("failed", 0) + counts.get("blocked", 0):
        return "failed", changes, f"{failed} resources are not as desired"
    return ("changed" if changes else "ok"), changes, None


def install_service(manifest: str, facts: str, state: str) -> None:
    """Install and start the service `reactor` for ``manifest``. Raises RefusedError; stderr has said why."""
    from reactor.cli.commands.service import install

    words = [manifest, "--", "--facts", facts, "--state-dir", state]
    with redirect_stdout(io.StringIO()):  # stdout has events only
        code = install.main(words, prog_name="reactor service install", standalone_mode=False)
    if code:  # click returns the code of an Exit
        message = "the service can't be installed on this host"
        raise RefusedError(message, "its output says why; --stay needs root and systemd")
