"""``reactor test``: runs the tests of manifests."""

from __future__ import annotations

import glob
import os
import sys
from typing import TYPE_CHECKING

import click

from reactor.cli import exitcodes
from reactor.cli.messages import reporting_manifest_errors
from reactor.cli.options.common import Format, format_option
from reactor.console.jsonlines import line
from reactor.console.style import Style, wants_colour
from reactor.resource.escaping import escaped
from reactor.trust.inputs import trust_everybody

if TYPE_CHECKING:
    from reactor.manifest_tests import Suite, Test
    from reactor.manifest_tests.checking import Difference


@click.command(short_help="Run the tests of manifests.")
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(exists=True))
@format_option("one JSON object per test")
def test(files: tuple[str, ...], form: Format) -> None:
    """Load manifests with the facts and data of tests, and compare the resources with those that a test expects.

    FILE is a YAML file of tests, or a directory of such files. Default: the directory tests. It needs no root and no
    network, changes nothing, and reads nothing of this host but the files that the manifests name.

    Exit codes: 0 all tests passed; 1 a test failed; 2 a file of tests is invalid.

    \b
    Examples:
      reactor test
      reactor test tests/web.yaml
    """
    from reactor.manifest_tests import check, read_suite

    with reporting_manifest_errors(as_json=form == "json", exit_code=exitcodes.BAD_USAGE), trust_everybody():
        suites = [read_suite(file) for file in _files(files)]
        failed = total = 0
        for suite in suites:
            for each in suite.tests:
                differences = check(suite, each)
                _show(suite, each, differences, form)
                total, failed = total + 1, failed + bool(differences)
    if form == "text":
        click.echo(f"passed {total - failed}  failed {failed}")
    if failed:
        raise click.exceptions.Exit(1)


def _files(names: tuple[str, ...]) -> list[str]:
    """The files of tests, those of a directory sorted by name. A directory may have them in its own directory tests."""
    found = []
    for name in names or ("tests",):
        if os.path.isdir(name):
            within = os.path.join(name, "tests")
            place = within if os.path.isdir(within) else name
            inside = sorted(glob.glob(f"{glob.escape(place)}/*.y*ml"))
            if not inside:
                raise click.UsageError(f"there are no tests in {place}: it has no .yaml file")
            found += inside
        elif os.path.exists(name):
            found.append(name)
        else:
            raise click.UsageError(f"there is no directory {name}: name the files of tests")
    return found


def _show(suite: Suite, test: Test, differences: list[Difference], form: Format) -> None:
    if form == "json":
        found = [{"message": each.message, "line": each.place.line} for each in differences]
        record = {"event": "test", "file": suite.file, "name": test.name, "passed": not found}
        click.echo(line({**record, "differences": found}), nl=False)
        return
    style = Style(wants_colour(sys.stdout))
    state = style("failed", "failed") if differences else style("ok", "passed")
    click.echo(f"{state}  {suite.file}: {escaped(test.name)}", color=style.coloured)
    for each in differences:
        click.echo(f"  {each.place}: {escaped(each.message)}", color=style.coloured)
