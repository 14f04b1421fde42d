"""The diffs of a resource that is made with secrets: what is new shows with them masked, what was there before does not.

The new lines hold the secrets of now, which are known. The old ones may hold former ones, which are not.
"""

from __future__ import annotations

from reactor.resource.base import Resource
from reactor.resource.plan import Diff
from reactor.resource.redaction import LONG, can_mask_all, redact
from reactor.resource.threads import in_thread

_WITHHELD = "-[not shown: it may hold a former secret]"


async def without_secrets(resource: Resource, diff: Diff) -> str:
    """The text of ``diff`` as it may be shown; only a sentence where a secret is too short to be masked."""
    if not can_mask_all():
        return f"not shown: {', '.join(sorted(resource.secrets))} of {resource.ref} is secret\n"
    head, hunks, body = (await diff()).partition("\n@@ ")
    if not hunks:
        return redact(head)
    ranges, *lines = body.split("\n")
    shown = (_WITHHELD if line.startswith("-") else line for line in lines)
    return await scrub_aside("\n".join([head, f"@@ {ranges}", *shown]))


async def scrub_aside(text: str) -> str:
    """``text`` with every secret masked; searched beside the event loop if it is long: a million characters take seconds.

    Raises OSError when no thread can be started.
    """
    return redact(text) if len(text) <= LONG else await in_thread(redact, text)
