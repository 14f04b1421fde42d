"""The first line of the files that reactor alone writes."""

from __future__ import annotations

from typing import Final

HEADER: Final = "# Managed by reactor: what is changed here is changed back.\n"
