"""The roots and functions that the expressions of one manifest share, and the values that its templates can use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from reactor.language.errors import ExpressionError
from reactor.language.expression.scope import Scope
from reactor.language.secrets import with_unrelated
from reactor.manifest.evaluation import offset_in_source
from reactor.manifest.expression_functions import ExpressionFunctions, OtherSecrets
from reactor.manifest.source import Source
from reactor.named_tuple import NamedTuple
from reactor.resource.hashes import blake2b

LOCAL_NAMES = ("item", "key", "subitem", "subkey", "Parameters")
"""The names that exist only in a loop, or in a role."""

_OF_THE_HOST = frozenset(("Facts", "Environ"))
"""The roots that the manifest does not give."""
_DIGEST_SIZE = 16


class DataDigest:
    """The digest of the data of one manifest, which all its templates share: they may be large."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    @cached_property
    def digest(self) -> bytes:
        """The digest. Key by key: a whole serialization would hold the lock of Python's interpreter for milliseconds."""
        made = blake2b(digest_size=_DIGEST_SIZE)
        for key, value in dict.items(self.data):
            made.update(_as_json((key, value)))
        return made.digest()


class TemplateValues:
    """The context and functions of the templates of one resource. They stay valid when the manifest is loaded again.

    ``reads`` has the absolute paths of the files that the functions have read. Its reader must clear it.
    """

    def __init__(self, expression_functions: ExpressionFunctions, data_digest: DataDigest) -> None:
        names = expression_functions.scope.names
        self._data_digest = data_digest
        self._data = {name: value for name, value in names.items() if name != "Facts"}
        self._facts = _ReadFacts(names["Facts"])
        # This needs functions of its own: threads render templates while expressions are evaluated.
        own = ExpressionFunctions(
            expression_functions.base,
            {**names, "Facts": self._facts},
            expression_functions.scope.secrets,
            strict=expression_functions.scope.strict,
            moment=expression_functions.moment,
            network=expression_functions.network,
        )
        self.context, self.functions, self.has_secrets, self.strict = own.for_templates()
        self.reads = own.reads
        self.moment = expression_functions.moment
        self._own = own

    def with_other_secrets(self) -> TemplateValues | None:
        """Return the same values with unrelated secrets; None if one of them can't be replaced."""
        own = self._own
        names = with_unrelated(own.scope.names, own.scope.secrets)
        if names is None:
            return None
        others = OtherSecrets(own.base, names, own.scope.secrets, own.moment, own.network)
        return TemplateValues(others, DataDigest(names["Data"]))

    @cached_property
    def digest(self) -> bytes:
        """The digest of the data, and of the names that exist only in a loop or a role."""
        others = {name: value for name, value in self._data.items() if name not in ("Data", *_OF_THE_HOST)}
        made = blake2b(self._data_digest.digest, digest_size=_DIGEST_SIZE)
        made.update(_as_json(others))
        return made.digest()

    def matches(self, other: object) -> bool:
        """Whether templates rendered with these values would have the same result with ``other``."""
        return isinstance(other, TemplateValues) and self._agree_with(other)

    def _agree_with(self, other: TemplateValues) -> bool:
        return self._data == other._data and self._facts.agree_with(other._facts)


class _ReadFacts(Mapping[str, Any]):
    """Lazy facts that record which values were read."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._facts = facts
        self._read: dict[str, Any] = {}

    def __getitem__(self, key: str) -> Any:
        self._read[key] = value = self._facts[key]
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def agree_with(self, other: _ReadFacts) -> bool:
        """Whether ``other`` has the same values for the facts that were read here."""
        return all(other._facts.get(key) == value for key, value in self._read.items())


class ExpressionContext(NamedTuple):
    """The source of a manifest, the roots and functions of its expressions, and the digest of its data."""

    source: Source
    expression_functions: ExpressionFunctions
    data_digest: DataDigest

    def inside(self, names: Mapping[str, Any], secrets: frozenset[tuple[str, ...]]) -> ExpressionContext:
        """Return the context of one iteration of a loop.

        It has these ``names`` as further roots, of which the paths ``secrets`` are secret.
        """
        return self._replace(expression_functions=self.expression_functions.inside(names, secrets))

    def at_present(self) -> ExpressionContext:
        """Return the same context with its clock at the present time."""
        return self._replace(expression_functions=self.expression_functions.at_present())

    def apart(self) -> ExpressionContext:
        """Return the same context for another thread."""
        return self._replace(expression_functions=self.expression_functions.apart())

    @property
    def scope(self) -> Scope:
        """The scope of every expression."""
        return self.expression_functions.scope

    @property
    def context(self) -> dict[str, Any]:
        """The pydantic context of a kind's validators: the base of relative paths, a factory of `TemplateValues`."""
        return {
            "base": self.expression_functions.base,
            "templates": partial(TemplateValues, self.expression_functions, self.data_digest),
        }

    def new_warnings(self) -> list[str]:
        """Return the warnings about missing keys and openers without an end since the last call, with places.

        In strict manifests missing keys are errors.
        """
        return [
            f"{self.place(at, text, error)}: {error.message}{f'; {error.hint}' if error.hint else ''}"
            for at, text, error in self.scope.warnings.take_new()
        ]

    def place(self, at: int, text: str, error: ExpressionError) -> str:
        """Return the place of ``error`` as text. The error is in the value ``text``, which is at the offset ``at``."""
        offset = offset_in_source(self.source, at, text, error.start, error.end)
        return str(self.source.lines.place(offset))


def _as_json(value: Any) -> bytes:
    try:
        return to_json(value, fallback=lambda each: {**each} if isinstance(each, Mapping) else repr(each))
    except PydanticSerializationError:  # a text with half a character
        return repr(value).encode(errors="surrogatepass")


def is_local(scope: Scope) -> bool:
    """Whether the expressions of ``scope`` are in a loop or a role."""
    return any(name in scope.names for name in LOCAL_NAMES)
