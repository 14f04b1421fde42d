"""The manifest that the run of a host follows: an `apply` for each channel that has a release in force.

It is ``fleet/root.yaml`` in the state directory. It changes only when a channel gets its first release; a later release
changes the link ``fleet/<channel>/current``, through which the `apply` of the channel reads its manifest.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress

from reactor.atomic_write import replace_file
from reactor.fleet.bundle.digest import MANIFEST
from reactor.resource.diagnostic import Diagnostic

NAME = "root.yaml"
"""No channel can have this name, because names of channels have no dots."""
_HEAD = "# Written by `reactor fleet follow`: the releases in force of the channels of this host, in their order.\n"


def text_of(manifests: Mapping[str, str]) -> str:
    """Return the text for ``manifests``: channel -> the path of its manifest, in the order of the channels."""
    lines = [_HEAD]
    before = None
    for channel, path in manifests.items():
        after = "" if before is None else f", after: [{json.dumps(ref_of(before))}]"
        lines.append(f"  - apply: [{json.dumps(path)}: {{alias: {json.dumps(alias_of(channel))}{after}}}]\n")
        before = channel
    return "".join([lines[0], "resources:\n" if manifests else "resources: []\n", *lines[1:]])


def alias_of(channel: str) -> str:
    """Return the alias of the `apply` of a channel, for ``reactor status`` and ``why``."""
    return f"channel-{channel}"


def ref_of(channel: str) -> str:
    """Return the reference to the `apply` of a channel."""
    return f"apply#{alias_of(channel)}"


def current_path(channel: str) -> str:
    """Return the path of the manifest in force of a channel, relative to the root manifest."""
    return f"{channel}/current/{MANIFEST}"


class RootManifest:
    """The root manifest below ``root``, the directory of `reactor.fleet.bundle.store.BundleStore`."""

    def __init__(self, root: str) -> None:
        self.path = os.path.join(root, NAME)

    def write(self, channels: Sequence[str]) -> bool:
        """Write the manifest that applies these channels, in this order. Return whether it changed. Raises OSError."""
        text = text_of({channel: current_path(channel) for channel in channels}).encode()
        with suppress(FileNotFoundError), open(self.path, "rb") as file:
            if file.read() == text:
                return False
        replace_file(self.path, text, 0o600)
        return True


def conflicting_channels(problem: Diagnostic, directories: Mapping[str, str]) -> list[str]:
    """Return the channels whose manifests ``problem`` is about. ``directories``: channel -> directory of its bundle."""
    places = [problem.place, *(place for _, place in problem.notes)]
    found = (
        channel
        for place in places
        if place is not None
        for channel, directory in directories.items()
        if place.file.startswith(directory.rstrip("/") + "/")
    )
    return list(dict.fromkeys(found))
