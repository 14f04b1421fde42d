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

_PLAIN = re.compile(r"[A-Za-z0-9_@+=:,./-]+")
_UNIT = f"""\
{MARK}, which replaces it. Changes belong into a drop-in: `systemctl edit {{name}}`.

[Unit]
Description=reactor, which keeps this host as {{shown}} says
StartLimitIntervalSec=0
{{order}}

[Service]
# Ready once the manifest was found valid. A life that hangs for 30 s is ended, and another begun.
Type=notify
ExecStart={{command}}
ExecReload=/bin/kill -HUP $MAINPID
WorkingDirectory={{directory}}
Restart=on-failure
RestartSec=5s
WatchdogSec=30s
SyslogIdentifier=reactor
# Commands that run are let end, and killed after that.
KillMode=mixed
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
    """What runs as a service: ``manifest`` (an absolute path or a URL), with further options of ``reactor run``.

    ``state_directory`` is the one that these name; without, it is made by systemd, after the ``name`` of the unit.
    """

    name: str
    manifest: str
    options: Sequence[str] = ()
    state_directory: str | None = None

    @property
    def is_elsewhere(self) -> bool:
        """Whether the manifest comes over the network."""
        return not os.path.isabs(self.manifest)

    @property
    def directory(self) -> str:
        """Where it runs: paths among the options are relative to that."""
        return "/" if self.is_elsewhere else os.path.dirname(self.manifest)

    def unit(self, resources: Iterable[Resource]) -> str:
        """The text of the unit file, for a manifest with these resources."""
        program = (sys.executable, "-P", "-m", "reactor", "run", self.manifest, *self.options)
        closed = list(sandbox(resources, (self.manifest, sys.prefix)))
        return _UNIT.format(
            name=self.name,
            shown=_escaped(self.manifest),
            order=_AFTER_NETWORK if self.is_elsewhere else _AFTER_FILES,
            command=" ".join(map(quoted, program)),
            directory=_escaped(self.directory),
            state=self._state(closed),
            sandbox="\n".join(closed),
        )

    def _state(self, closed: Iterable[str]) -> str:
        if self.state_directory is None:
            own = f"/var/lib/{self.name}"
            return f"StateDirectory={self.name}\nStateDirectoryMode=0700\nEnvironment=REACTOR_STATE_DIR={own}"
        lines = [f"Environment={quoted(f'REACTOR_STATE_DIR={self.state_directory}')}"]
        if any(line.startswith("ProtectSystem=") for line in closed):
            lines.append(f"ReadWritePaths=-{quoted(self.state_directory)}")
        return "\n".join(lines)


_AFTER_NETWORK = "Wants=network-online.target\nAfter=network-online.target"
_AFTER_FILES = "After=local-fs.target network.target"


def quoted(word: str) -> str:
    """``word`` as one word of a command line in a unit, as systemd.service(5) has it."""
    if _PLAIN.fullmatch(word):
        return word
    return f'"{_escaped(word).replace(chr(34), chr(92) + chr(34)).replace("$", "$$")}"'


def _escaped(text: str) -> str:
    """Without what has a meaning in every setting of a unit: specifiers, backslashes, the ends of lines."""
    escaped = text.replace("\\", "\\\\").replace("%", "%%")
    return "".join(f"\\x{ord(char):02x}" if ord(char) < ord(" ") else char for char in escaped)
