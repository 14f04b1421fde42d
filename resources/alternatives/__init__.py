"""The kind ``alternatives``: which program a common name such as ``editor`` leads to, see update-alternatives(1)."""

from reactor.resources.alternatives.kind import Alternatives

__all__ = ["Alternatives"]
