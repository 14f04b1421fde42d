"""A group of alerts as text, as JSON, and as the body that a template gives."""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reactor.notify.alerts import FAILED, Alert

_WORDS = {"drift": "with drift"}


@dataclass(frozen=True)
class Message:
    """One message of the channel ``channel`` about a run of ``manifest``. ``left_out`` counts further alerts."""

    channel: str
    manifest: str
    alerts: Sequence[Alert]
    left_out: int = 0
    is_test: bool = False

    @property
    def subject(self) -> str:
        """One line for the whole message, without control characters."""
        if self.is_test:
            return one_line(f"[reactor] {host()}: test of the channel {self.channel}")
        counts = Counter(_status(each) for each in self.alerts)
        words = ", ".join(f"{count} {_WORDS.get(status, status)}" for status, count in counts.items())
        return one_line(f"[reactor] {host()}: {words}")

    @property
    def text(self) -> str:
        """The message for people: the subject, then a line for each alert and one for its reason."""
        lines = [self.subject, ""]
        for alert in self.alerts:
            lines.append(f"{_status(alert)}  {one_line(alert.ref)}{_when(alert)}")
            lines += [f"    {one_line(line)}" for line in alert.reason.splitlines()]
        if self.left_out:
            lines.append(f"and {self.left_out} more")
        return "\n".join([*lines, "", f"manifest: {one_line(self.manifest)}"]) + "\n"

    def as_json(self) -> dict[str, Any]:
        """The message as a JSON object: the root ``Notification`` of templates."""
        return {
            "version": 1,
            "host": host(),
            "manifest": self.manifest,
            "channel": self.channel,
            "test": self.is_test,
            "subject": self.subject,
            "text": self.text,
            "left_out": self.left_out,
            "alerts": [
                {
                    "status": _status(each),
                    "kind": each.kind,
                    "ref": each.ref,
                    "reason": each.reason,
                    "began": each.began,
                    "ended": each.ended,
                    "times": each.times,
                }
                for each in self.alerts
            ],
        }

    def rendered(self, template: str) -> str:
        """Return the body that ``template`` gives. Raises ExpressionError."""
        from reactor.language.expression import parse_template  # noqa: PLC0415 - most channels have no template
        from reactor.language.expression.scope import Scope  # noqa: PLC0415

        parsed = parse_template(template)
        return (
            template
            if parsed is None
            else parsed.render(Scope({"Notification": self.as_json()}, strict=True))
        )


def host() -> str:
    """The name of this host."""
    return socket.gethostname()


def one_line(text: str) -> str:
    """Return ``text`` with control characters replaced by spaces: a name must not begin a line or a header field."""
    return "".join(each if each.isprintable() else " " for each in text)


def _status(alert: Alert) -> str:
    return "recovered" if alert.kind == FAILED and alert.ended is not None else alert.kind


def _when(alert: Alert) -> str:
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(alert.began))
    end = "" if alert.ended is None else time.strftime(" to %Y-%m-%d %H:%M:%S", time.localtime(alert.ended))
    times = f", {alert.times} times" if alert.times > 1 else ""
    return f"  since {stamp}{times}" if alert.ended is None else f"  {stamp}{end}{times}"
