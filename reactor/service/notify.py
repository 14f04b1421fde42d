"""The protocol of sd_notify(3): sends lines in a datagram to the socket in $NOTIFY_SOCKET."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import MutableMapping
from contextlib import suppress

_MICRO = 1_000_000
_LONGEST_STATUS = 512
_WITHOUT_WAITING = socket.SOCK_DGRAM | socket.SOCK_NONBLOCK


class Notifier:
    """Notifies the service manager about this process. ``watchdog`` is the interval for keep-alives, in seconds.

    It never waits or raises: a notification that the manager can't take now will be repeated soon, or is unimportant.
    """

    def __init__(self, address: str, watchdog: float | None = None) -> None:
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self.watchdog = watchdog

    @classmethod
    def from_environment(cls, environment: MutableMapping[str, str] = os.environ) -> Notifier | None:
        """The notifier for the manager that started us, or None. Removes the variables: commands must not get them."""
        address = environment.pop("NOTIFY_SOCKET", "")
        microseconds = environment.pop("WATCHDOG_USEC", "")
        process = environment.pop("WATCHDOG_PID", "")
        if not address.startswith(("/", "@")):
            return None
        meant = process in ("", str(os.getpid())) and microseconds.isdecimal()
        return cls(address, int(microseconds) / _MICRO or None if meant else None)

    def ready(self, status: str) -> None:
        """Report that the start, or a reload, is complete."""
        self._send(f"READY=1\n{_status(status)}")

    def reloading(self) -> None:
        """Report that a reload begins. The time lets the manager distinguish it from an earlier one."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}\n{_status('reloading')}")

    def status(self, text: str) -> None:
        """Set the status line."""
        self._send(_status(text))

    def alive(self) -> None:
        """Send a keep-alive for the watchdog."""
        self._send("WATCHDOG=1")

    def stopping(self) -> None:
        """Report that the process is stopping."""
        self._send(f"STOPPING=1\n{_status('ending')}")

    def _send(self, message: str) -> None:
        with suppress(OSError), socket.socket(socket.AF_UNIX, _WITHOUT_WAITING) as sender:
            sender.sendto(message.encode(errors="backslashreplace"), self._address)


def _status(text: str) -> str:
    return f"STATUS={' '.join(text.split())[:_LONGEST_STATUS]}"
