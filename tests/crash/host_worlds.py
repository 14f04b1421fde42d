"""What the killed runs change of a system: packages of a local repository, and services of a real systemd."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from worlds import World

HERE = Path(__file__).resolve().parent
PACKAGES, SERVICES = 6, 4


class PackageWorld(World):
    """Packages of a local repository, in two versions each, and there in some generations only."""

    changes = 1

    def prepare(self) -> None:
        sys.path.insert(0, str(HERE.parent / "package"))
        from apt_root import AptRoot  # noqa: PLC0415 - it is in another directory of tests
        from deb_packages import Deb  # noqa: PLC0415

        debs = [Deb(f"tiny{n}", version) for n in range(PACKAGES) for version in ("1.0", "2.0")]
        self.host = AptRoot(self.root / "system", *debs)
        self.host.update()

    def prepare_life(self) -> None:
        from reactor.resources.package import providers  # noqa: PLC0415 - in a life of its own

        providers.made["apt"] = self.host.provider()

    def wanted(self, generation: int) -> dict[str, str]:
        version = ("1.0", "2.0")[generation % 2]
        return {f"tiny{n}": version for n in range(PACKAGES) if (generation + n) % 3}

    def names(self, generation: int) -> dict[str, int]:
        return {}

    def resources(self, generation: int) -> list[str]:
        wanted = self.wanted(generation)
        lines = ["  - package:", "      - defaults: {provider: apt}"]
        every = (f"tiny{n}" for n in range(PACKAGES))
        return lines + [f"      - {name}: {{ensure: '{wanted.get(name, 'absent')}'}}" for name in every]

    def problems(self) -> list[str]:
        listed = self.host.run(
            "dpkg-query", "--show", "--showformat", "${Package} ${Version} ${db:Status-Status}\n"
        )
        rows = (line.split() for line in listed.splitlines())
        found = {name: version for name, version, status in rows if status == "installed"}
        wrong = [] if found == self.wanted(self.generation) else [f"{found} is installed"]
        audit = self.host.run("dpkg", "--audit")
        return wrong + ([f"dpkg complains: {audit}"] if audit else [])


class ServiceWorld(World):
    """Services of a real systemd, each restarted when its file changes; at its start it writes down what that held."""

    changes = SERVICES
    units = Path("/etc/systemd/system")

    def prepare(self) -> None:
        self.seen = self.root / "seen"
        self.seen.mkdir()
        for number in range(SERVICES):
            script = f"cp {self.managed}/f{number} {self.seen}/s{number}; exec sleep 10000"
            (self.units / f"lives{number}.service").write_text(
                f"[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStart=/bin/sh -c '{script}'\n"
                "TimeoutStopSec=1\n[Install]\nWantedBy=multi-user.target\n"
            )
        subprocess.run(["systemctl", "daemon-reload"], check=True)

    def finish(self) -> None:
        for number in range(SERVICES):
            subprocess.run(["systemctl", "disable", "--now", "-q", f"lives{number}.service"], check=False)
            (self.units / f"lives{number}.service").unlink()

    def names(self, generation: int) -> dict[str, int]:
        return {name: n for name, n in super().names(generation).items() if n < SERVICES}

    def enabled(self, generation: int, number: int) -> bool:
        return bool((generation + number) % 2)

    def resources(self, generation: int) -> list[str]:
        lines = [*self.declared_files(generation), "  - service:"]
        for number in range(SERVICES):
            enable = str(self.enabled(generation, number)).lower()
            subscribe = f'subscribe: ["file#{self.managed}/f{number}"]'
            lines.append(f"      - lives{number}: {{ensure: running, enable: {enable}, {subscribe}}}")
        return lines

    def problems(self) -> list[str]:
        found = super().problems()
        for number in range(SERVICES):
            unit = f"lives{number}.service"
            if subprocess.run(["systemctl", "is-active", "-q", unit], check=False).returncode:
                found.append(f"{unit} does not run")
            enabled = subprocess.run(["systemctl", "is-enabled", "-q", unit], check=False).returncode == 0
            if enabled != self.enabled(self.generation, number):
                found.append(f"{unit} is not as enabled as declared")
            if not self._has_seen(number):
                found.append(f"the restart of {unit} was lost")
        return found

    def _has_seen(self, number: int) -> bool:
        """Whether it has started with the file of now; it may have begun only just now."""
        wanted, deadline = self.content(number, self.generation), time.monotonic() + 60
        while time.monotonic() < deadline:
            with suppress(FileNotFoundError):
                if (self.seen / f"s{number}").read_text() == wanted:
                    return True
            time.sleep(0.005)
        return False
