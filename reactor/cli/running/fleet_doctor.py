"""The work of ``reactor fleet doctor``."""

from __future__ import annotations

import json
import os
from dataclasses import asdict

import click
import trio

from reactor.cli.options.formats import Format
from reactor.fleet.operator.doctor.check import Check
from reactor.fleet.operator.doctor.examination import examine
from reactor.resource.escaping import escaped


def run_checks(home: str, signers: str, form: Format) -> int:
    """Print a line, or an object, for each check. Returns the exit code."""
    checks = trio.run(examine, os.path.abspath(home), os.path.abspath(signers))
    for each in checks:
        click.echo(json.dumps({"ok": each.ok, **asdict(each)}) if form == "json" else _line(each))
    return 0 if all(each.ok for each in checks) else 1


def _line(check: Check) -> str:
    """Return one line. Servers wrote parts of it, so control characters in it are escaped."""
    if check.ok:
        return escaped(f"ok     {check.name}" + (f": {check.seen}" if check.seen else ""))
    hint = f"; hint: {check.hint}" if check.hint else ""
    return escaped(f"wrong  {check.name}: {check.problem}{hint}")
