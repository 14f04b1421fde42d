"""The secrets that a process has met, and where to look them up."""

from __future__ import annotations

import threading
from collections.abc import Callable

from reactor.resource.secret_forms import hex_forms, holds_short, plain_forms, values_of
from reactor.resource.secret_search import Index, escaped_spans, hex_spans, merged, with_each


class KnownSecrets:
    """Forms are made when the first text after a new secret is searched. ``mask`` in a text is left as it is."""

    def __init__(self, mask: str) -> None:
        self.values: set[str] = set()
        self.has_short = False
        self._new: list[str] = []
        self._plain = Index()
        self._plain.add([mask])
        self._hex = Index()
        self._lock = threading.Lock()

    def add(self, secret: str) -> None:
        """Look for ``secret`` from now on, as a whole and line by line."""
        self.has_short |= holds_short(secret)
        new = values_of(secret) - self.values
        self._new.extend(new)
        self.values.update(new)

    def replaced(self, text: str, make: Callable[[str], str]) -> str:
        """``text`` with what ``make`` gives for each secret in it, as it stands there, in its place."""
        if self._new:
            self._index_new()
        index = self._plain
        spans = merged([*index.spans(text), *escaped_spans(index, text), *hex_spans(self._hex, text)])
        return with_each(text, spans, make) if spans else text

    def _index_new(self) -> None:
        """Make what is new findable; once this returns, all that was remembered before is."""
        with self._lock:  # templates remember secrets in threads
            while self._new:
                self._plain.add(plain_forms(self._new[0]))
                self._hex.add(hex_forms(self._new[0]))
                del self._new[0]  # last: a thread that sees nothing new must find this one
