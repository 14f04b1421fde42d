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
"""How a unit of ours begins: no other is touched."""

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
# Ready once the manifest was found valid. A life that hangs for 30 s is ended, and another begun: first by SIGABRT,
# which has no effect on what waits in the kernel. No core is left: the secrets of the manifest would be in it.
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
# Commands that run are let end. If reactor is killed, so are they, but not a package manager halfway: that is left alone.
KillMode=process
TimeoutStopSec=60s
{{state}}
CacheDirectory=reactor

# What this manifest lets be closed. Install again when it has resources of another kind, or files elsewhere.
{{sandbox}}

[Install]
WantedBy=multi-user.target
"""


@dataclass(frozen=True, slots=True)
class Service:
    """What runs as a service: ``manifests`` (absolute paths or URLs), with further options of ``reactor run``.

    Their names are printable and have no backslashes: not every setting of a unit has a way to write those.
    ``state_directory`` and ``cache`` are the directories that were chosen for it. Where there is none, systemd makes it;
    that of the state is called as the unit is.
    """

    name: str
    manifests: Sequence[str]
    options: Sequence[str] = ()
    state_directory: str | None = None
    cache: str | None = None

    @property
    def is_elsewhere(self) -> bool:
        """Whether a manifest comes over the network."""
        return not all(map(os.path.isabs, self.manifests))

    @property
    def directory(self) -> str:
        """Where it runs: paths among the options are relative to that."""
        first = next(filter(os.path.isabs, self.manifests), "/")
        return first if os.path.isdir(first) else os.path.dirname(first)

    def unit(self, resources: Iterable[Resource]) -> str:
        """The text of the unit file, for a manifest with these resources."""
        program = (sys.executable, "-P", "-m", "reactor", "run", *self.manifests, *self.options)
        written = [path for path in (self.state_directory, self.cache) if path is not None]
        closed = sandbox(resources, written)
        return _UNIT.format(
            name=self.name,
            shown=" ".join(self.manifests).replace("%", "%%"),
            order=_AFTER_NETWORK if self.is_elsewhere else _AFTER_FILES,
            command=" ".join(quoted(word.replace("$", "$$")) for word in program),
            directory=self.directory.replace("%", "%%"),
            state=self._state(),
            sandbox="\n".join(closed),
        )

    def _state(self) -> str:
        if self.state_directory is None:
            own = f"/var/lib/{self.name}"
            return f"StateDirectory={self.name}\nStateDirectoryMode=0700\nEnvironment=REACTOR_STATE_DIR={own}"
        return f"Environment={quoted(f'REACTOR_STATE_DIR={self.state_directory}')}"


_AFTER_NETWORK = "Wants=network-online.target\nAfter=network-online.target"
_AFTER_FILES = "After=local-fs.target network.target"


def quoted(word: str) -> str:
    """``word`` as one of several in a setting of a unit, as systemd.syntax(7) has it."""
    return word if _PLAIN.fullmatch(word) else f'"{word.translate(_ESCAPES)}"'
