"""Reads what ``apt-cache policy`` writes."""

from __future__ import annotations

import re

from resources.package.catalog import Offer

_PACKAGE = re.compile(r"^(\S+):$", re.MULTILINE)
_CANDIDATE = re.compile(r"^  Candidate: (\S+)$", re.MULTILINE)
_VERSION = re.compile(r"^ (?:\*\*\*|   ) (\S+) -?\d+$", re.MULTILINE)


def parse_policy(text: str) -> dict[str, Offer]:
    """What can be installed, by name. Names that are only provided by other packages have no candidate."""
    _, *parts = _PACKAGE.split(text)
    offers = {}
    for name, block in zip(parts[::2], parts[1::2], strict=True):
        candidate = _CANDIDATE.search(block)
        if candidate is not None and candidate[1] != "(none)":
            offers[name] = Offer(candidate[1], tuple(_VERSION.findall(block)))
    return offers
