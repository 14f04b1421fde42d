"""Renders templates in memory: only changed templates, and templates that use changed ones."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any, Protocol

from reactor import ResourceError, TemplateError, TemplateSourceError
from reactor.hostfs import Stamp, stamp_is_reliable, stamp_of

Functions = Mapping[str, Callable[..., Any]]


class Values(Protocol):
    """The data and functions of a manifest, for the templates of one resource."""

    @property
    def context(self) -> Mapping[str, Any]:
        """The names that templates see."""

    @property
    def functions(self) -> Functions:
        """The functions that templates may call."""

    @property
    def has_secrets(self) -> bool:
        """Whether the data contain secrets."""

    def with_other_secrets(self) -> Values | None:
        """The same with other secrets of the same form, or None. What renders the same from both shows no secret."""

    @property
    def strict(self) -> bool:
        """Whether a missing value is an error."""

    @property
    def moment(self) -> datetime | None:
        """The time that templates see; None means the time of each rendering."""

    @property
    def reads(self) -> set[str]:
        """The absolute paths of the files that the functions have read. The reader of the set must clear it."""

    @property
    def digest(self) -> bytes:
        """The digest of the values that the manifest gives, not of those that the host gives."""

    def matches(self, other: Any) -> bool:
        """Whether templates would render the same with the values ``other``."""


def template_functions(values: Values) -> frozenset[str]:
    """Return the names of the functions that a template gets besides those of its language."""
    return frozenset((*values.functions, "render", "write"))


@dataclass(frozen=True)
class FixedValues:
    """Values that are given directly; by default none. For a scaffold without a manifest."""

    context: Mapping[str, Any] = field(default_factory=dict)
    functions: Functions = field(default_factory=dict)
    has_secrets: bool = False
    reads: set[str] = field(default_factory=set)
    strict: bool = True
    moment: datetime | None = None
    digest: bytes = b""

    def with_other_secrets(self) -> None:
        """Nobody knows which of the values are secret."""

    def matches(self, other: Any) -> bool:
        """Whether ``other`` are the same values."""
        return bool(self == other)


class Made(Protocol):
    """The result of one template: its text, the templates that it used, and further files from ``write()``."""

    @property
    def text(self) -> str:
        """The rendered text."""

    @property
    def used(self) -> frozenset[str]:
        """The paths of templates that it used, also of missing ones."""

    @property
    def written(self) -> Mapping[str, str]:
        """The texts of further files, by their paths below the target."""

    @property
    def missing(self) -> Sequence[TemplateError]:
        """The places where a value was missing, if missing values are no error."""


class Templates(Protocol):
    """The sources of templates, by their paths below ``root``."""

    root: str

    def refresh(self) -> frozenset[str]:
        """Read what has changed. Returns the paths that are new, removed or changed."""

    def refresh_only(self, paths: Iterable[str]) -> frozenset[str] | None:
        """As `refresh`, for these paths only; None if all must be read."""

    def read(self, path: str) -> str | None:
        """The text of a template; None if there is none."""

    def outputs(self) -> Iterator[str]:
        """The paths of the templates that make a file."""


class Tree(Protocol):
    """A tree of templates that see the same data."""

    def render(self, templates: Sequence[tuple[str, str]], received: Callable[[Made], None]) -> None:
        """Render the templates, given as path and source, and pass each result to ``received``.

        Raises TemplateError.
        """


MakeTree = Callable[..., Tree]
"""Makes a `Tree` from the variables and functions of templates, with a ``loader`` for included templates."""


@dataclass(slots=True)
class Rendered:
    """The result of one template, with its dependencies."""

    text: str
    used: frozenset[str]
    """The paths of templates that it used, also of missing ones."""
    written: Mapping[str, str]
    """Further files, from ``write()``."""
    read: dict[str, Stamp | None]
    """The files that functions have read, with their stamps; None for an unreliable stamp."""

    @property
    def is_stale(self) -> bool:
        """Whether a file that functions have read may have changed."""
        return any(
            stamp is None or _stamp(path, time.time_ns()) != stamp for path, stamp in self.read.items()
        )


_MOST_FAILED = 10
"""The most templates of a tree whose errors are shown together."""
_LIMIT_CODE = "R0308"
"""The code of an error of a template that takes too long: others of the tree may, too."""


class Renderer:
    """The files that a tree of templates renders from some data."""

    def __init__(
        self,
        source: Templates,
        make_tree: MakeTree,
        values: Values,
        overlay: Mapping[str, Any],
        *,
        skip_empty: bool,
        is_secret: bool,
    ) -> None:
        self._source = source
        self._values = values
        self._skip_empty = skip_empty
        self._is_secret = is_secret
        context = {**values.context, **overlay}
        self._tree = make_tree(
            context, values.functions, loader=source.read, strict=values.strict, moment=values.moment
        )
        self._rendered: dict[str, Rendered] = {}
        self._pending: set[str] = set()
        """Changed paths that were not rendered since, for example because a rendering failed."""
        self.files: dict[str, str] = {}
        """The rendered texts, by their paths below the target."""
        self._remarks: dict[str, bool] = {}
        """Warnings about missing values, and whether they were reported."""

    def refresh(self, paths: Iterable[str] | None = None) -> frozenset[str]:
        """Render the templates that have changed since the last time. Returns the paths of the rendered files.

        Only ``paths`` are checked, if they are given. Raises ResourceError for the templates that can't be
        rendered; the tree is then unchanged.
        """
        changed = None if paths is None else self._source.refresh_only(paths)
        if changed is None:
            changed = self._source.refresh()
            self._pending |= {path for path, rendered in self._rendered.items() if rendered.is_stale}
        self._pending |= changed
        if not self._pending and self._rendered:
            return frozenset()
        outputs = list(self._source.outputs())
        due = [path for path in outputs if self._is_due(path)]
        made = dict(zip(due, self._render(due), strict=True))
        self._rendered = {path: made.get(path) or self._rendered[path] for path in outputs}
        self._pending.clear()
        self.files = {path: text for path, text in self._texts() if text.strip() or not self._skip_empty}
        return frozenset(chain(due, *(rendered.written for rendered in made.values())))

    @property
    def reads(self) -> frozenset[str]:
        """The absolute paths of the files that functions have read in the last renderings."""
        return frozenset(chain.from_iterable(rendered.read for rendered in self._rendered.values()))

    @property
    def is_stale(self) -> bool:
        """Whether a file that functions have read may have changed."""
        return any(rendered.is_stale for rendered in self._rendered.values())

    def _is_due(self, path: str) -> bool:
        rendered = self._rendered.get(path)
        return rendered is None or path in self._pending or not rendered.used.isdisjoint(self._pending)

    def _texts(self) -> Iterator[tuple[str, str]]:
        for path, rendered in self._rendered.items():
            yield path, rendered.text
            yield from rendered.written.items()

    def _render(self, paths: Sequence[str]) -> list[Rendered]:
        """Render the templates at ``paths``. This mostly waits, because another process renders them."""
        found: list[Rendered] = []
        reads, begun = self._values.reads, time.time_ns()

        def receive(made: Made) -> None:
            nonlocal begun
            read = {path: _stamp(path, begun) for path in reads}
            self._remark(made.missing)
            found.append(Rendered(made.text, made.used, made.written, read))
            reads.clear()
            begun = time.time_ns()

        reads.clear()
        waiting = [(path, self._source.read(path) or "") for path in paths]
        failed: list[TemplateError] = []
        while waiting:
            before = len(found)
            try:
                self._tree.render(waiting, receive)
                break
            except TemplateError as error:
                failed.append(error)
                waiting = waiting[len(found) - before + 1 :]
                if error.code == _LIMIT_CODE or len(failed) == _MOST_FAILED:
                    break
        if failed:
            raise self._explained(failed) from (None if self._is_secret else failed[0])
        return found

    def _explained(self, failed: Sequence[TemplateError]) -> ResourceError:
        """The error of the first template, with those of the others in further lines."""
        shown = [self._without_secrets(error) for error in failed]
        # Where no file was read, a dry run must count on nothing but another text of the template.
        is_own = isinstance(shown[0], TemplateSourceError) or not self._values.reads
        missing = self._path_of(shown[0]) if is_own else None
        lines = dict.fromkeys(f"{self._place(error)}: {error.message}" for error in shown)
        return ResourceError("\n".join(lines), shown[0].hint, missing=missing, code=shown[0].code)

    def _without_secrets(self, error: TemplateError) -> TemplateError:
        return error.without_words(self._source.read(error.name) or "") if self._is_secret else error

    def _remark(self, missing: Iterable[TemplateError]) -> None:
        for each in missing:
            remark = f"warning: {self._place(each)}: {each.message}, so nothing is written, as in CCM"
            self._remarks.setdefault(remark, False)

    def remarks(self) -> list[str]:
        """New warnings about missing values."""
        found = [remark for remark, is_reported in self._remarks.items() if not is_reported]
        self._remarks.update(dict.fromkeys(found, True))
        return found

    def _place(self, error: TemplateError) -> str:
        return f"{self._path_of(error)}:{error.line}:{error.column}"

    def _path_of(self, error: TemplateError) -> str:
        return os.path.join(self._source.root, error.name)


def _stamp(path: str, now_ns: int) -> Stamp | None:
    """The stamp of a file that was read after ``now_ns``; None if it is not reliable."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return stamp_of(found) if stamp_is_reliable(found, now_ns) else None
