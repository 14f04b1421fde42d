"""The last run that did not begin, such as one with an invalid manifest: ``status`` must not show the run before as the last."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from reactor.atomic_write import replace_file
from reactor.control.pause_file import YEAR_10000
from reactor.journal.state_directory import REFUSED_FILE, holder, is_ours
from reactor.resource.redaction import redact

_MOST_PROBLEMS = 20


def record_refused_run(directory: str, manifest: str, problems: Sequence[str]) -> None:
    """Keep that a run of ``manifest`` did not begin, and its ``problems``, one line each.

    Only in a state directory of an earlier run: an invalid manifest creates nothing. Not beside an active run, which is
    the one that ``status`` shows. The next run removes the file.
    """
    if not is_ours(directory) or holder(directory) is not None:
        return
    shown = [*map(redact, problems[:_MOST_PROBLEMS])]
    if (more := len(problems) - len(shown)) > 0:
        shown.append(f"and {more} more")
    record = {"time": time.time(), "manifest": manifest, "problems": shown}
    with suppress(OSError):  # the errors were shown; a full disk must not hide them
        replace_file(os.path.join(directory, REFUSED_FILE), json.dumps(record).encode(), 0o600)


def read_refused_run(directory: str) -> dict[str, Any] | None:
    """The ``time``, the ``manifest`` and the ``problems`` of the last run, if it did not begin; None if it did.

    None for a damaged file, too: the next run that does not begin writes it anew.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with open(os.open(os.path.join(directory, REFUSED_FILE), flags), "rb") as file:
            found = json.load(file)
        if not 0 <= (at := float(found["time"])) < YEAR_10000:
            return None
        return {
            "time": at,
            "manifest": str(found["manifest"]),
            "problems": [str(each) for each in found["problems"]],
        }
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
