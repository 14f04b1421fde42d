"""Imports the library cryptography, which is an extra: only the making of certificates needs it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from reactor import ResourceError, in_thread

_HINT = "install it in the environment of reactor: pip install 'reactor-converge[certificates]'"


async def require_library() -> None:
    """Import cryptography, in a thread because that takes a while. Raises ResourceError when it is missing."""
    if find_spec("cryptography") is None:
        raise ResourceError("certificates need the library cryptography, which is not installed", _HINT)
    await in_thread(import_module, "reactor.resources.certificate.inspection")
