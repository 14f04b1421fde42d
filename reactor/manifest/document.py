"""Converts the two forms of a manifest into one outline: settings, resources and data."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from reactor.manifest.declaration import Declaration
from reactor.manifest.nodes import INVALID, Mapping, Sequence
from reactor.manifest.phrasing import listed, shown
from reactor.manifest.source import Problems
from reactor.manifest.validation import Inspector
from reactor.manifest.values import ValueReader, checked_map
from reactor.named_tuple import NamedTuple
from reactor.resource.property_types import Flag, FrozenModel, Model
from reactor.suggestions import did_you_mean

if TYPE_CHECKING:
    from reactor.data.resolve import Resolved

PARAMETERS, OUTPUTS = "parameters", "outputs"
"""The sections of a role."""
DATA_SECTIONS = ("data", "hierarchy", "overrides")
_NATIVE_KEYS = (
    *DATA_SECTIONS,
    "assertions",
    "defaults",
    "notify",
    OUTPUTS,
    PARAMETERS,
    "resources",
    "secrets",
    "settings",
    "shares",
)
_JET_FILE = "resources_jet_file"
_CCM_FORM_KEYS = (*DATA_SECTIONS, "ccm", "notify", "secrets", "settings")
_FOR_EDITORS = "$schema"
"""The key that names the schema for editors; it is ignored here."""


class Settings(FrozenModel):
    """The settings of a manifest."""

    ordering: Literal["manifest", "graph"] = "graph"
    """``manifest`` runs the resources one after the other, in the order of the file; ``graph`` orders only resources
    that depend on each other.
    """
    fail_fast: Flag = False
    """Whether the first failure ends the run."""
    jobs: Annotated[int, Field(ge=1)] | None = None
    """How many checks may run at once; unset leaves it to the command line."""


def joined(all_settings: Collection[Settings]) -> Settings:
    """Return the settings of manifests that run together: the smallest ``jobs``; ``fail_fast`` if any sets it."""
    if len(all_settings) == 1:
        return next(iter(all_settings))
    jobs = [settings.jobs for settings in all_settings if settings.jobs is not None]
    fail_fast = any(settings.fail_fast for settings in all_settings)
    return Settings(fail_fast=fail_fast, jobs=min(jobs, default=None))


def _first_if_empty(value: Any) -> Any:
    return value or "first" if isinstance(value, str) else value


class Hierarchy(Model):
    """The order in which overrides are looked up, and how they are merged with the data."""

    order: list[str]
    merge: Annotated[Literal["first", "deep"], BeforeValidator(_first_if_empty)] = "first"


def _in_lower_case(value: Any) -> Any:
    return _first_if_empty(value.lower() if isinstance(value, str) else value)


class HierarchyOfData(Hierarchy):
    """The hierarchy of a data file. CCM has no schema for these, so upper and lower case are the same there."""

    merge: Annotated[Literal["first", "deep"], BeforeValidator(_in_lower_case)] = "first"


class CcmOptions(Model):
    """The block ``ccm`` of a manifest in the CCM form: its options, next to the resources."""

    fail_on_error: Flag = False
    """Whether the first failure ends the run."""
    pre_message: str | None = None
    """A message before anything is checked."""
    post_message: str | None = None
    """A message at the end of a successful run."""
    resources: Any = None
    """The list of resources."""
    resources_jet_file: Annotated[str, Field(min_length=1)] | None = None
    """A Jet template that renders the list, used instead of ``resources``. Relative to the manifest's directory."""


_Model = TypeVar("_Model", bound=BaseModel)


class Message(NamedTuple):
    """A message to show to the user, maybe with expressions, and its offset."""

    text: str
    at: int


class Document(NamedTuple):
    """The outline of a manifest. ``entries`` is the list of resources, not bound yet.

    Instead of the list, ``jet_file`` may name a template that renders it; ``jet_at`` is the offset of that name.
    ``root`` has the data sections. In the ``ccm:`` form names may repeat, as in CCM.
    """

    settings: Settings
    root: Mapping
    entries: Sequence | None = None
    jet_file: str | None = None
    jet_at: int = 0
    is_ccm: bool = False
    pre_message: Message | None = None
    post_message: Message | None = None


class Part(NamedTuple):
    """One manifest file: its outline, its data, and the indices of all its resources.

    It ``is_separable`` if its text certainly has no anchors and merged maps, so that each value can be parsed alone.
    """

    file: str
    document: Document
    data: Resolved
    indices: range
    is_separable: bool = False


NO_DOCUMENT = Document(Settings.model_construct(), Mapping(0))
"""The outline used for a manifest that can't be read."""


def is_ccm(root: Any) -> bool:
    """Whether the tree ``root`` is a manifest in the ``ccm:`` form."""
    return isinstance(root, Mapping) and "ccm" in root and "resources" not in root


def read_document(root: Any, problems: Problems) -> Document:
    """Read the outline of the tree ``root``. Adds errors to ``problems``."""
    if root is None and not problems:
        problems.add("R0105", "the manifest is empty", 0, "declare something under 'resources:'")
    if root is None or root is INVALID:
        return NO_DOCUMENT
    if not isinstance(root, Mapping):
        _report_no_map(root, problems)
        return NO_DOCUMENT
    if "resources" not in root and "ccm" not in root and _is_of_others(root, problems):
        return NO_DOCUMENT
    return _Outline(root, problems).read()


def _report_no_map(root: Any, problems: Problems) -> None:
    if isinstance(root, Sequence):
        at, hint = root.at, "put the list under 'resources:'"
    else:
        from reactor.manifest.foreign_documents import hint_for_code  # noqa: PLC0415 - only for an error

        at, hint = 0, hint_for_code(problems.source.file, problems.source.text) or "start with 'resources:'"
    if not _is_of_others(root, problems):
        problems.add("R0105", f"a manifest is a map with the key 'resources', not {shown(root)}", at, hint)


def _is_of_others(root: Any, problems: Problems) -> bool:
    """Whether ``root`` is a file of another program. Then that is the only error."""
    from reactor.manifest.foreign_documents import document_of_others  # noqa: PLC0415 - only for an error

    found = document_of_others(root)
    if found is not None:
        what, hint = found
        at = root.at if isinstance(root, Mapping | Sequence) else 0
        problems.add("R0105", f"this is {what}, not a manifest", at, hint)
    return found is not None


def check_data(root: Mapping, problems: Problems) -> None:
    """Check the outline of the data sections of a data file; other keys of ``root`` are ignored."""
    _Outline(root, problems).check_data(HierarchyOfData)


class _Outline:
    """Reads the top level of one manifest."""

    def __init__(self, root: Mapping, problems: Problems) -> None:
        self._root = root
        self._problems = problems

    def read(self) -> Document:
        of_ccm = is_ccm(self._root)
        self._check_keys(_CCM_FORM_KEYS if of_ccm else _NATIVE_KEYS)
        self.check_data(Hierarchy)
        overrides = self._root.get("overrides")
        if isinstance(overrides, Mapping):
            for key in overrides:
                checked_map(key, overrides, self._problems)
        return self._ccm_form() if of_ccm else self._native_form()

    def _native_form(self) -> Document:
        settings = self._section("settings", Settings)
        entries = self._entries(self._root, self._root.at, may_be_empty=True)
        return Document(settings or Settings(), self._root, entries)

    def _ccm_form(self) -> Document:
        at, found = self._root.key_at("ccm"), self._root["ccm"]
        block = found if isinstance(found, Mapping) else Mapping(at)
        options = self._section("ccm", CcmOptions, leave=("resources",)) or CcmOptions()
        jet_file = options.resources_jet_file
        if jet_file is not None and "resources" in block:
            message = "jet_file and resources cannot be used together"
            self._problems.add("R0105", message, block.key_at(_JET_FILE), "keep one of the two")
        is_block = found is None or found is block  # any other value was reported
        return Document(
            settings=self._ccm_settings(options),
            entries=self._entries(block, at, may_be_empty=False) if is_block and jet_file is None else None,
            jet_file=jet_file,
            jet_at=block.value_at(_JET_FILE) if jet_file is not None else 0,
            root=self._root,
            is_ccm=True,
            pre_message=self._message(block, "pre_message", options.pre_message),
            post_message=self._message(block, "post_message", options.post_message),
        )

    def _ccm_settings(self, options: CcmOptions) -> Settings:
        settings = self._section("settings", Settings) or Settings()
        own = {name: getattr(settings, name) for name in settings.model_fields_set}
        return Settings.model_validate({"ordering": "manifest", "fail_fast": options.fail_on_error, **own})

    def _message(self, block: Mapping, key: str, text: str | None) -> Message | None:
        return None if text is None else Message(text, block.value_at(key))

    def _entries(self, holder: Mapping, at: int, *, may_be_empty: bool) -> Sequence | None:
        """Return the list under ``resources``, or None when there is no valid one."""
        if "resources" not in holder:
            if not any(did_you_mean(key, ["resources"]) for key in holder):
                self._problems.add(
                    "R0105", "the manifest declares no resources", at, "add a list under 'resources:'"
                )
            return None
        entries = holder["resources"]
        if isinstance(entries, Sequence) and (entries or may_be_empty):
            return entries
        hint = "start each entry with '- ', as in '- file:'"
        if not entries:
            self._problems.add(
                "R0105", "the manifest declares no resources", holder.key_at("resources"), hint
            )
        elif entries is not INVALID:
            message = f"resources must be a list, not {shown(entries)}"
            self._problems.add("R0105", message, holder.value_at("resources"), hint)
        return None

    def _check_keys(self, known: Collection[str]) -> None:
        for key in self._root:
            if key in known or key == _FOR_EDITORS:
                continue
            hint = did_you_mean(key, known) or f"a manifest takes {listed(known, 'and')}"
            if key == "ccm":
                hint = "a manifest has either 'ccm:' or 'resources:' at the top"
            self._problems.add("R0106", f"unknown key {shown(key)}", self._root.key_at(key), hint)

    def check_data(self, hierarchy: type[Hierarchy]) -> None:
        """Check the outline of the data sections."""
        self._section("hierarchy", hierarchy)
        checked_map("data", self._root, self._problems)
        checked_map("overrides", self._root, self._problems)

    def _section(self, key: str, model: type[_Model], *, leave: Collection[str] = ()) -> _Model | None:
        """Return the map under ``key`` as a ``model``, or None.

        Skips the keys in ``leave``: other code reads these.
        """
        node = checked_map(key, self._root, self._problems)
        if node is None:
            return None
        values = ValueReader(self._problems).read(node, model, leave)
        try:
            section = model.model_validate(values.plain)
        except ValidationError as error:
            declaration = Declaration(self._root.key_at(key), node)
            Inspector(self._problems, model, declaration, key).report(error, values)
            return None
        return section
