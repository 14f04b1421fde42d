"""The request of `reactor push` to `reactor receive`: a line of JSON. The bundle follows if the host asks for it.

The command line on the host is always ``reactor receive``. So no value, and no secret among the facts, is in a list of
processes, and no shell reads any of them.
"""

from __future__ import annotations

import json
from typing import IO, Any, NamedTuple, Self

from reactor.fleet.bundle.digest import is_digest
from reactor.fleet.push.errors import RequestFormError

VERSION = 1
"""The version of the protocol."""
_MOST = 4 << 20


class Request(NamedTuple):
    """``digest`` and ``size`` announce the bundle; without a digest, the previous bundle comes back (``--rollback``).

    ``facts`` are the facts of the inventory, ``fleet.vars`` and ``fleet.groups``.
    """

    digest: str | None
    size: int
    facts: dict[str, Any]
    noop: bool = False
    diff: bool = False
    stay: bool = False

    def line(self) -> bytes:
        """Return the request as one line."""
        return json.dumps({"v": VERSION, **self._asdict()}, default=str).encode() + b"\n"

    @classmethod
    def read(cls, stream: IO[bytes]) -> Self:
        """Read one line. Raises RequestFormError."""
        text = stream.readline(_MOST)
        if not text:
            hint = "'reactor push' runs it on each host; see 'reactor push --help'"
            raise RequestFormError("there is no request on stdin", hint)
        try:
            found = json.loads(text)
        except ValueError as error:
            raise RequestFormError("the first line of stdin is not a request of 'reactor push'") from error
        return cls._checked(found)

    @classmethod
    def _checked(cls, found: Any) -> Self:
        if not isinstance(found, dict) or found.pop("v", None) != VERSION:
            hint = "install the same version of reactor on both sides"
            raise RequestFormError("the request has another version of the protocol", hint)
        types: dict[str, Any] = {"digest": (str, type(None)), "size": int, "facts": dict}
        types |= dict.fromkeys(("noop", "diff", "stay"), bool)
        if found.keys() != types.keys() or not all(
            isinstance(value, types[name]) for name, value in found.items()
        ):
            raise RequestFormError("the request does not have the form of 'reactor push'")
        request = cls(**found)
        if request.digest is not None and not is_digest(request.digest):
            raise RequestFormError(f"{request.digest!r} is not the name of a bundle")
        return request
