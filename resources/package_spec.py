"""A package of a language and its version, as manifests name them."""

from __future__ import annotations

import re
from typing import NamedTuple


class Spec(NamedTuple):
    """A package, and its version: an exact one, `latest`, or empty for any."""

    name: str
    version: str


class SpecSyntax(NamedTuple):
    """How a kind writes a package and its version: a pattern with the groups `name` and `version`, and examples."""

    pattern: re.Pattern[str]
    examples: str

    def parse(self, text: str) -> Spec:
        """The package and version in ``text``. Raises ValueError."""
        found = self.pattern.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is not a package: write {self.examples}")
        return Spec(found["name"], found["version"] or "")

    def check(self, text: str) -> str:
        """Return ``text`` if it is a package. Raises ValueError."""
        self.parse(text)
        return text

    def check_name(self, text: str) -> str:
        """Return ``text`` if it is a package without a version. Raises ValueError."""
        if self.parse(text).version:
            raise ValueError(f"{text!r} has a version: write the name alone")
        return text
