"""How trees of plain values are merged: the one rule of data, facts and child manifests."""

from __future__ import annotations

from typing import Any


def deep_merge(base: Any, over: Any) -> Any:
    """``base`` with ``over`` on top. Neither is changed; the result may share parts with both.

    Maps are merged key by key and lists are put one after the other, without removing what is twice there.
    Everything else, null and values of different kinds included, is replaced.
    """
    if isinstance(base, dict) and isinstance(over, dict):
        merged = dict(base)
        for key, value in over.items():
            merged[key] = deep_merge(base[key], value) if key in base else value
        return merged
    if isinstance(base, list) and isinstance(over, list):
        return [*base, *over]
    return over
