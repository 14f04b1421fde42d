"""The work of ``reactor fleet diff``: the files and the resources that differ between two releases."""

from __future__ import annotations

import difflib
import filecmp
import io
import json
import os
import tempfile
from contextlib import ExitStack
from typing import Any

import click

from reactor.cli import exitcodes
from reactor.cli.messages import fail_for, reporting_manifest_errors
from reactor.cli.options.common import Format
from reactor.cli.running.fleet_session import within
from reactor.errors import ReactorError
from reactor.fleet.bundle.digest import MANIFEST
from reactor.fleet.bundle.store import BundleStore
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.operator.releasing import stored_bundle
from reactor.fleet.operator.stored_releases import find_release
from reactor.resource.escaping import escaped

_MOST_LINES = 200


def show_diff(home: str, before: str, after: str, form: Format) -> None:
    """Show the differences."""
    with ExitStack() as stack:
        first, second = (_directory_of(home, name, stack) for name in (before, after))
        fields = {"files": _files(first, second), "resources": _resources(first, second)}
    click.echo(json.dumps(fields) if form == "json" else "\n".join(_lines(fields)))


def _directory_of(home: str, name: str, stack: ExitStack) -> str:
    """The files of a release, unpacked, or a directory as it is."""
    if os.path.isdir(name):
        return name

    async def read(js: JetStream) -> tuple[bytes, str]:
        bundle = await stored_bundle(js, (await find_release(js, name))[0])
        return bundle.data, bundle.digest

    data, digest = within(home, read)
    store = BundleStore(stack.enter_context(tempfile.TemporaryDirectory()))
    try:
        stack.enter_context(store.locked())
        return stack.enter_context(store.unpacked(io.BytesIO(data), digest, len(data)))
    except ReactorError as error:
        fail_for(error, 1)


def _files(before: str, after: str) -> list[dict[str, Any]]:
    first, second = _names_below(before), _names_below(after)
    found: list[dict[str, Any]] = []
    for name in sorted(first | second):
        paths = os.path.join(before, name), os.path.join(after, name)
        if name not in first:
            found.append({"file": name, "change": "added"})
        elif name not in second:
            found.append({"file": name, "change": "removed"})
        elif not _same(*paths):
            found.append({"file": name, "change": "changed", "diff": _text_diff(*paths)})
    return found


def _names_below(directory: str) -> set[str]:
    found: set[str] = set()
    for place, directories, files in os.walk(directory):
        directories[:] = [each for each in directories if each not in (".git", ".hg", ".svn")]
        found.update(os.path.relpath(os.path.join(place, name), directory) for name in files)
    return found


def _same(before: str, after: str) -> bool:
    links = os.path.islink(before), os.path.islink(after)
    if any(links):
        return all(links) and os.readlink(before) == os.readlink(after)
    return filecmp.cmp(before, after, shallow=False)


def _text_diff(before: str, after: str) -> list[str]:
    """The lines that differ; none for files that are no text."""
    texts = []
    for path in (before, after):
        try:
            with open(path, encoding="utf-8") as file:
                texts.append(file.read().splitlines())
        except (OSError, UnicodeDecodeError):
            return []
    return list(difflib.unified_diff(texts[0], texts[1], lineterm="", n=1))[2 : _MOST_LINES + 2]


def _resources(before: str, after: str) -> list[dict[str, Any]]:
    first, second = _declared(before), _declared(after)
    found: list[dict[str, Any]] = []
    for ref in sorted(first.keys() | second.keys()):
        old, new = first.get(ref), second.get(ref)
        if old is None or new is None:
            found.append({"resource": ref, "change": "added" if old is None else "removed"})
        elif old != new:
            names = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
            properties = {name: [old.get(name), new.get(name)] for name in names}
            found.append({"resource": ref, "change": "changed", "properties": properties})
    return found


def _declared(directory: str) -> dict[str, dict[str, Any]]:
    """The properties of each resource, with the facts of this host; secrets are masked."""
    from reactor.cli.running.fleet_manifest import facts_of_any_host
    from reactor.documents import parse_values
    from reactor.facts.facts import Facts
    from reactor.fleet.host.shared_values import SharedValues
    from reactor.graph.export.picture import properties
    from reactor.loading import load
    from reactor.manifest.inputs import Inputs
    from reactor.trust.inputs import trust_everybody

    with reporting_manifest_errors(as_json=False, exit_code=exitcodes.BAD_USAGE), trust_everybody():
        facts = Facts({"fleet": facts_of_any_host(None)}, parse=parse_values)
        inputs = Inputs(facts, os.environ, {}, (), network=SharedValues(None))
        graph = load((os.path.join(directory, MANIFEST),), inputs).graph
    return {ref: properties(resource) for ref, resource in graph.resources.items()}


def _lines(fields: dict[str, Any]) -> list[str]:
    lines = []
    for each in fields["files"]:
        lines.append(f"file {escaped(each['file'])}: {each['change']}")
        lines += [f"  {escaped(line)}" for line in each.get("diff", ())]
    for each in fields["resources"]:
        lines.append(f"{escaped(each['resource'])}: {each['change']}")
        for name, (old, new) in each.get("properties", {}).items():
            lines.append(f"  {name}: {escaped(json.dumps(old))} -> {escaped(json.dumps(new))}")
    return lines or ["nothing differs"]
