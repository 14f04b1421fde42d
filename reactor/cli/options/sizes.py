"""The option that limits the size of a bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reactor.fleet.bundle.limits import BundleLimits

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def parse_size(text: str) -> int:
    """Return the bytes of a size such as ``64MiB``. Raises ValueError."""
    number = text.lower().removesuffix("b").removesuffix("i")
    unit = number[-1:] if number[-1:].isalpha() else ""
    if unit not in _UNITS or not number.removesuffix(unit).isdecimal():
        raise ValueError(f"{text!r} is not a size, as in 64MiB")
    return int(number.removesuffix(unit)) * _UNITS[unit]


def _limits(context: click.Context, parameter: click.Parameter, value: str) -> BundleLimits:
    from reactor.fleet.bundle.limits import LIMITS

    try:
        size = parse_size(value)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from error
    return LIMITS.raised_for(size)._replace(packed=size)


max_size_option = click.option(
    "--max-size",
    "limits",
    metavar="SIZE",
    callback=_limits,
    default="64MiB",
    show_default=True,
    help="Refuse a larger bundle.",
)
"""The limits of a bundle that may have SIZE bytes."""
