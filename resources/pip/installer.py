"""Makes virtual environments, and runs pip in them, as one user."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reactor import ResourceError
from reactor.hostfs import remove_path, write_record
from reactor.resources.pip.environment import Found
from reactor.resources.process import (
    ENVIRONMENT,
    Command,
    Completed,
    Identity,
    identity_of,
    output_tail,
    require_startable,
    run,
)
from reactor.resources.trusted_directory import make_directory_for

_MODE = 0o755
_KIND = "pip"
_NO_VENV = "install the packages of Python for this: on Debian, python3-venv"


@dataclass(frozen=True, slots=True)
class Installer:
    """How an environment is made, and where its packages come from. ``timeout`` is in seconds."""

    path: str
    python: str
    user: str | None
    settings: Mapping[str, str] = field(repr=False)
    """The settings of pip, as environment variables: a URL may hold a password, and arguments can be seen by all."""
    timeout: float

    async def identity(self) -> Identity | None:
        """The user that pip runs as; None for our own. Raises ResourceError when that user does not exist."""
        return await identity_of(self.user)

    async def make(self, found: Found) -> None:
        """Make the environment, or complete it. Raises ResourceError."""
        if found is Found.NOTHING:
            make_directory_for(self.path, await self.identity(), _MODE)
        clear = ("--clear",) if found is Found.BROKEN else ()
        await self._must("venv", self.python, "-I", "-m", "venv", *clear, self.path, hint=_NO_VENV)

    async def install(self, specs: Sequence[str], file: str | None, digest: str | None) -> None:
        """Install packages, and those of a file of requirements; its digest is recorded. Raises ResourceError."""
        listed = () if file is None else ("--requirement", file)
        await self._pip("install", *listed, "--", *specs)
        if digest is not None:
            write_record(_KIND, self.path, {"requirements": digest})

    async def uninstall(self, names: Sequence[str]) -> None:
        """Remove packages. Raises ResourceError."""
        await self._pip("uninstall", "--yes", "--", *names)

    async def remove(self) -> None:
        """Remove the environment. Raises ResourceError."""
        await remove_path(self.path, recursive=True)

    async def refuse_unmakeable(self) -> None:
        """Raise ResourceError when the Python is missing, or can't make environments. Nothing is changed."""
        await require_startable(await self._command((self.python,)))
        await self._must("venv", self.python, "-I", "-c", "import ensurepip, venv", hint=_NO_VENV)

    async def refuse_unavailable(self, specs: Sequence[str], file: str | None) -> None:
        """Raise ResourceError when pip does not find the packages. Nothing is changed."""
        listed = () if file is None else ("--requirement", file)
        await self._pip("install", "--dry-run", "--no-cache-dir", "--quiet", *listed, "--", *specs)

    async def _pip(self, *arguments: str) -> None:
        await self._must("pip", f"{self.path}/bin/python", "-I", "-m", "pip", *arguments)

    async def _must(self, what: str, *arguments: str, hint: str | None = None) -> None:
        done = await run(await self._command(arguments))
        if done.exit_code != 0:
            raise ResourceError(f"{what} failed{_reason(done)}", hint)

    async def _command(self, arguments: Sequence[str]) -> Command:
        identity = await self.identity()
        variables = {"HOME": _our_home()} if identity is None else identity.environment
        settings = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", **self.settings}
        environment = {**ENVIRONMENT, **variables, **settings}
        return Command(arguments, "/", environment, self.timeout, identity=identity)


def _our_home() -> str:
    return os.path.expanduser("~")


def _reason(done: Completed) -> str:
    """The line in which pip says why it failed; the end of the output if there is no such line."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
    if lines:
        return f": {lines[-1].removeprefix('ERROR: ')}"
    return f" with exit code {done.exit_code}{output_tail(done.stdout, done.stderr)}"
