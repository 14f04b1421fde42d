"""The unit file of the service."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reactor.resource.base import Resource
from reactor.service.sandbox import sandbox

MARK = "# Written by `reactor service install`"
"""The first line of the units that we write. No other unit is changed."""

_ESCAPES = str.maketrans(
    {"\\": r"\\", '"': r"\"", "%": "%%", **{chr(code): f"\\x{code:02x}" for code in range(32)}}
)
_PLAIN = re.compile(r"[A-Za-z0-9_@+=:,./-]+")
_UNIT = f"""\
{MARK}, which replaces it. Changes belong into a drop-in: `systemctl edit {{name}}`.

[Unit]
Description=reactor, which keeps this host as {{shown}} says
StartLimitIntervalSec=0
{{order}}

[Service]
# Ready once the manifest is valid. A process that hangs for 30 s is restarted: first with SIGABRT, which has no effect
# while it waits in the kernel. No core is written: it would contain the secrets of the manifest.
Type=notify
ExecStart={{command}}
ExecReload=/bin/kill -HUP $MAINPID
WorkingDirectory={{directory}}
Restart=on-failure
RestartSec=5s
WatchdogSec=30s
TimeoutAbortSec=5s
LimitCORE=0
SyslogIdentifier=reactor
# Running commands may finish. If reactor is killed, so are its commands, except a package manager, which is left alone.
KillMode=process
TimeoutStopSec=60s
{{state}}
CacheDirectory=reactor

# The sandbox for this manifest. Install again if it gets resources of other kinds, or files elsewhere.
{{sandbox}}

[Install]
WantedBy=multi-user.target
"""


@dataclass(frozen=True, slots=True)
class Service:
    """A service: ``manifests`` (absolute paths or URLs) and further options of ``reactor run``.

    Paths are printable and have no backslashes: some settings of a unit can't express those. ``state_directory`` and
    ``cache`` are the directories from the options; systemd creates those that are None, and names the state directory
    after the unit. ``fleet`` is the configuration of a host that follows channels, in place of manifests.
    """

    name: str
    manifests: Sequence[str]
    options: Sequence[str] = ()
    state_directory: str | None = None
    cache: str | None = None
    fleet: str | None = None

    @property
    def is_elsewhere(self) -> bool:
        """Whether a manifest is at a URL, so that the service needs the network."""
        return not all(map(os.path.isabs, self.manifests))

    @property
    def directory(self) -> str:
        """The working directory: relative paths in the options start there."""
        first = self.fleet or next(filter(os.path.isabs, self.manifests), "/")
        return first if os.path.isdir(first) else os.path.dirname(first)

    @property
    def used_state_directory(self) -> str:
        """The state directory that the service has: its own, or the one from the options."""
        return self.state_directory or f"/var/lib/{self.name}"

    def unit(self, resources: Iterable[Resource]) -> str:
        """The text of the unit file, for a manifest with these resources."""
        words = (
            ("run", *self.manifests) if self.fleet is None else ("fleet", "follow", "--config", self.fleet)
        )
        program = (sys.executable, "-P", "-m", "reactor", *words, *self.options)
        written = [path for path in (self.state_directory, self.cache) if path is not None]
        closed = sandbox(resources, written) if self.fleet is None else _OPEN
        return _UNIT.format(
            name=self.name,
            shown=" ".join(self.manifests or ("its fleet",)).replace("%", "%%"),
            order=_AFTER_NETWORK if self.is_elsewhere else _AFTER_FILES,
            command=" ".join(quoted(word.replace("$", "$$")) for word in program),
            directory=self._working_directory(),
            state=self._state(),
            sandbox="\n".join(closed),
        )

    def _working_directory(self) -> str:
        """Its name for systemd, which takes spaces at the end of a setting away."""
        return self.directory.replace("%", "%%") + ("/" if self.directory.endswith(" ") else "")

    def _state(self) -> str:
        variable = f"Environment={quoted(f'REACTOR_STATE_DIR={self.used_state_directory}')}"
        if self.state_directory is None:
            return f"StateDirectory={self.name}\nStateDirectoryMode=0700\n{variable}"
        return variable


_OPEN = ("# None: the next release may have resources of any kind.",)
_AFTER_NETWORK = "Wants=network-online.target\nAfter=network-online.target"
_AFTER_FILES = "After=local-fs.target network.target"


def quoted(word: str) -> str:
    """``word`` quoted for a setting of a unit, as in systemd.syntax(7)."""
    return word if _PLAIN.fullmatch(word) else f'"{word.translate(_ESCAPES)}"'
