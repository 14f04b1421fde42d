"""One ``reactor push``: packs the directory, reads the inventory, pushes, and shows how it goes."""

from __future__ import annotations

import math
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import trio

from reactor.cli.messages import fail_for, notice
from reactor.console.jsonlines import line
from reactor.errors import ReactorError, first_of
from reactor.fleet.bundle.limits import BundleLimits
from reactor.fleet.bundle.pack import Bundle, pack
from reactor.fleet.push.bootstrap import make_bootstrap
from reactor.fleet.push.errors import InventoryError
from reactor.fleet.push.inventory import hosts_named, inventory_of, read_inventory
from reactor.fleet.push.inventory_host import Host
from reactor.fleet.push.live import LiveTable, wants_live_table
from reactor.fleet.push.outcome import Outcome, exit_code
from reactor.fleet.push.patterns import select
from reactor.fleet.push.pusher import Plan, push_to_all
from reactor.fleet.push.report import ended_record, event_lines, host_line, outcome_record, table
from reactor.fleet.push.request import Request
from reactor.fleet.push.session import Push
from reactor.fleet.push.ssh import LONGEST_DIRECTORY, Ssh
from reactor.fleet.push.waves import Amount
from reactor.trust.inputs import make_own_directory, open_input
from reactor.trust.rule import DistrustedError

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SIGNALLED = 128


class PushCommand(NamedTuple):
    """The arguments of ``reactor push``. ``directory`` is None for a rollback."""

    directory: str | None
    names: Sequence[str]
    limits: BundleLimits
    form: str
    inventory: str | None
    inventory_command: str | None
    limit: str | None
    serial: tuple[Amount, ...] | None
    max_failed: Amount
    forks: int
    noop: bool
    diff: bool
    stay: bool
    sudo: bool
    bootstrap: bool
    ssh_config: str | None
    connect_timeout: float
    timeout: float

    def push(self) -> int:
        """Push and show how it goes; return the exit code. Ends the command if nothing can be pushed at all."""
        try:
            hosts = self._hosts()
            bundle = self._bundle()
        except InventoryError as error:
            error.message = f"{error.place}: {error.message}" if error.place else error.message
            fail_for(error)
        except ReactorError as error:
            fail_for(error)
        return exit_code(self._push(hosts, bundle))

    def _hosts(self) -> list[Host]:
        if self.inventory is not None:
            found, source = read_inventory(self.inventory, open_input), self.inventory
        elif self.inventory_command is not None:
            found, source = trio.run(inventory_of, self.inventory_command), self.inventory_command
        else:
            found, source = hosts_named(self.names), "the command line"
        if not found:
            raise InventoryError(f"{source} names no hosts", "write one host on each line")
        selected = found if self.limit is None else select(found, self.limit)
        if not selected:
            raise InventoryError(f"no host is left of {self.limit!r}")
        if unused := sorted({name for each in selected for name in each.unused}):
            notice(
                f"not used from the inventory: {', '.join(unused)}",
                "write options of ssh, such as ProxyJump, into ~/.ssh/config; --sudo is for root without a password",
            )
        return selected

    def _bundle(self) -> Bundle | None:
        if self.directory is None:
            return None
        return pack(self.directory, self.limits, open_input)

    def _push(self, hosts: Sequence[Host], bundle: Bundle | None) -> list[Outcome]:
        ssh = Ssh(directory_of_sockets(), self.ssh_config, math.ceil(self.connect_timeout))
        digest, data = (bundle.digest, bundle.data) if bundle else (None, b"")
        request = Request(digest, len(data), {}, self.noop, self.diff, self.stay)
        bootstrap = make_bootstrap() if self.bootstrap else None
        push = Push(request, data, ssh, self.sudo, bootstrap, self.timeout)
        plan = Plan(hosts, self.serial or (), self.max_failed, self.forks)
        pushed = _pushed_as_json if self.form == "json" else _pushed_as_text
        try:
            outcomes, signalled = trio.run(_until_a_signal, pushed, plan, push)
        except BaseExceptionGroup as group:
            raise first_of(group) from None
        if outcomes is None:
            words = "interrupted: hosts that were at work end after the checks that are running there"
            click.echo(words, err=True)
            raise click.exceptions.Exit(_SIGNALLED + signalled)
        return outcomes


async def _until_a_signal(
    pushed: Callable[[Plan, Push], Awaitable[list[Outcome]]], plan: Plan, push: Push
) -> tuple[list[Outcome] | None, int]:
    """Push, but end every ssh when a signal arrives. Return the outcomes, or None and the signal."""
    outcomes: list[Outcome] | None = None
    signalled = 0
    handled = [each for each in _SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]

    async def stop(*, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        nonlocal signalled
        with trio.open_signal_receiver(*handled) as arriving:
            task_status.started()
            signalled = await anext(arriving)
        nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        await nursery.start(stop)
        outcomes = await pushed(plan, push)
        nursery.cancel_scope.cancel()
    return outcomes, signalled


async def _pushed_as_json(plan: Plan, push: Push) -> list[Outcome]:
    def note(host: str, record: dict[str, Any]) -> None:
        _write(line({**record, "host": host, **({"from": record["host"]} if "host" in record else {})}))

    def ended(outcome: Outcome) -> None:
        _write(line(outcome_record(outcome)))

    outcomes = await push_to_all(plan, push, note, lambda _: None, ended)
    _write(line(ended_record(outcomes, exit_code(outcomes))))
    return outcomes


async def _pushed_as_text(plan: Plan, push: Push) -> list[Outcome]:
    live = LiveTable(len(plan.hosts), _write) if wants_live_table() else None
    show = live.print if live else lambda text: _write(f"{text}\n")

    def note(host: str, record: dict[str, Any]) -> None:
        for text in event_lines(host, record):
            show(text)
            if live:
                live.does(host, text.removeprefix(f"{host}: "))

    def began(host: str) -> None:
        if live:
            live.began(host)

    def ended(outcome: Outcome) -> None:
        if live:
            live.ended(outcome.host)
        show(host_line(outcome))

    try:
        async with trio.open_nursery() as nursery:
            if live:
                nursery.start_soon(live.run)
            outcomes = await push_to_all(plan, push, note, began, ended)
            nursery.cancel_scope.cancel()
    finally:
        if live:
            live.erase()
    _write("\n" + "".join(f"{text}\n" for text in table(outcomes)))
    return outcomes


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def directory_of_sockets() -> str | None:
    """Make the directory if it is missing; None where no directory is ours alone, or its path is too long for a socket."""
    above = os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = os.path.abspath(os.path.join(above, "reactor", "ssh"))
    if len(os.fsencode(path)) > LONGEST_DIRECTORY or "%" in path:
        return None
    try:
        make_own_directory(path)
    except (OSError, DistrustedError):
        return None
    return path
