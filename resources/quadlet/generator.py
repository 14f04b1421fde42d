"""The generator of podman, which makes units of files: whether this host has it, and what it thinks of a file.

It came with podman 4.4. The podman of Debian 12 is 4.3, that of Debian 13 is 5.4.
"""

from __future__ import annotations

import os
import tempfile
from shutil import which

from reactor import ResourceError
from reactor.hostfs import ErrorContext
from reactor.resources.process import ENVIRONMENT, Command, run

_NAME = "podman-system-generator"
PLACES = ("/run", "/etc", "/usr/local/lib", "/usr/lib")
"""Where systemd looks for generators, see systemd.generator(7); the first one wins."""
USUAL = f"/usr/lib/systemd/system-generators/{_NAME}"
_SECONDS = 60.0
_REFUSAL = "converting "
"""How the line begins with which the generator says what is wrong."""


def find() -> str:
    """The path of the generator. Raises ResourceError if this host has none."""
    for place in PLACES:
        path = f"{place}/systemd/system-generators/{_NAME}"
        if os.path.exists(path) and os.path.realpath(path) != os.devnull:
            return path
    if which("podman", path=ENVIRONMENT["PATH"]) is None:
        hint = "require the package podman, of version 4.4 or newer: Debian 13 has 5.4"
        raise ResourceError("podman is not installed", hint, missing=USUAL)
    words = "this podman has no quadlet: that came with podman 4.4, and Debian 12 has 4.3"
    raise ResourceError(words, "install a newer podman, or use the kind container", missing=USUAL)


async def refuse_misread(name: str, text: str) -> None:
    """Raise ResourceError if podman can't make a unit of a file with this ``name`` and ``text``. Changes nothing."""
    program = find()
    with tempfile.TemporaryDirectory(prefix="reactor-quadlet-") as directory, ErrorContext("ask podman"):
        with open(f"{directory}/{name}", "w", encoding="utf-8") as file:  # noqa: ASYNC230 - a short file
            file.write(text)
        environment = {**ENVIRONMENT, "QUADLET_UNIT_DIRS": directory}
        done = await run(Command((program, "--dryrun"), "/", environment, _SECONDS))
    if done.exit_code != 0:
        lines = [line.partition(_REFUSAL)[2] for line in done.stderr.splitlines() if _REFUSAL in line]
        reason = (lines or done.stderr.splitlines() or ["it does not say why"])[-1]
        problem = reason.replace(f'"{name}": ', "").replace(f" in {directory}/{name}", "")
        raise ResourceError(f"podman refuses the container: {problem}", "a newer podman may know it")
