"""The kind `scaffold`: its properties, and the rules for their combinations."""

from __future__ import annotations

import os.path
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property, partial
from typing import Annotated, Any, Literal, Self

from pydantic import PrivateAttr, ValidationInfo, model_validator

from reactor import (
    AbsolutePath,
    ChangedPaths,
    Claim,
    Flag,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    ResourceError,
    TemplateSource,
    emit_output,
    fragile_mounts,
    in_thread,
    readable_text,
    sandboxed_engine,
)
from reactor.hostfs import (
    ErrorContext,
    Parent,
    accounts,
    accounts_of,
    first_missing_path,
    mounted_below,
    refuse_forbidden,
    refuse_read_only,
)
from reactor.resources.download.source import LocalSource
from reactor.resources.file.property_types import Account, parse_mode
from reactor.resources.process import split_words
from reactor.resources.scaffold.builder import Builder, PostCommand
from reactor.resources.scaffold.planner import plan_scaffold
from reactor.resources.scaffold.rendering import FixedValues, Renderer, Values, template_functions
from reactor.resources.scaffold.source import SourceTree
from reactor.resources.scaffold.state import Desired, ScaffoldState
from reactor.resources.scaffold.target import TargetTree

_AT_ONCE = 100
"""The most files that are checked without a thread, which takes one millisecond."""


Mode = Annotated[str, readable_text(parse_mode)]


class Scaffold(Resource[ScaffoldState], kind="scaffold", providers=("choria",)):
    """Keep a directory of files as a directory of templates renders them."""

    example = "/etc/app present --source templates"

    name: AbsolutePath
    ensure: Literal["present", "absent"]
    source: LocalSource
    """The directory of templates; relative to the directory of the manifest."""
    engine: Literal["jinja", "go", "jet"] = "jinja"
    """The language of the templates. The default is jet in a manifest of the `ccm:` form."""
    left_delimiter: str | None = None
    """The start of an expression, instead of ``{{`` or, with jet, ``[[``."""
    right_delimiter: str | None = None
    """The end of an expression."""
    skip_empty: Flag = False
    """Whether a template that renders only white space creates no file."""
    purge: Flag = False
    """Whether to remove files that neither a template nor another resource manages."""
    post: tuple[dict[str, str], ...] = ()
    """Commands to run for changed files: ``- "*.sh": chmod +x {}``. Without ``{}``, the path comes last."""
    data: dict[str, Any] | None = None
    """The variable ``data`` of the templates, instead of the data of the manifest."""
    owner: Account | None = None
    """The owner of all files; unset, new files belong to the user that runs reactor."""
    group: Account | None = None
    """The group of all files; unset, new files get that of the user that runs reactor."""
    file_mode: Mode | None = None
    """Permissions of the files in octal; unset, new ones get 0644."""
    directory_mode: Mode | None = None
    """Permissions of the directories in octal; unset, new ones get 0755."""

    _values: Values = PrivateAttr(default_factory=FixedValues)

    @model_validator(mode="after")
    def _take_values(self, info: ValidationInfo) -> Self:
        """Take the data that the manifest passes along with the properties."""
        if (values := (info.context or {}).get("templates")) is not None:
            self._values = values()
        return self

    def has_same_inputs(self, other: Self) -> bool:
        """Whether the engine, and the manifest's data as far as templates see them, are the same."""
        return self.used_engine == other.used_engine and self._values.matches(other._values)

    def inputs_digest(self) -> bytes:
        """The digest of the manifest's data that templates see."""
        return self._values.digest

    @property
    def used_engine(self) -> str:
        """The engine of the templates: in the `ccm:` form, Jet unless the manifest names another."""
        is_set = "engine" in self.model_fields_set
        return self.engine if is_set or not self.declared.form.is_ccm else "jet"

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        if (self.left_delimiter is None) != (self.right_delimiter is None):
            missing = "right_delimiter" if self.right_delimiter is None else "left_delimiter"
            yield PropertyProblem((), "delimiters come in pairs", f"add {missing}")
        for name in ("left_delimiter", "right_delimiter"):
            if (delimiter := getattr(self, name)) is not None and not delimiter.strip():
                words = f"{name} cannot be empty or a space"
                yield PropertyProblem((name,), words, "leave both out for the usual ones, or write << and >>")
        if os.path.commonpath((self.name, self.source)) in (self.name, self.source):
            words = "source and target must not be inside of each other"
            yield PropertyProblem(("source",), words, "keep the templates elsewhere")
        yield from self._post_problems()

    def _post_problems(self) -> Iterable[PropertyProblem]:
        for index, entry in enumerate(self.post):
            for pattern, command in entry.items():
                if not pattern:
                    yield PropertyProblem(
                        ("post", index), "post keys cannot be empty", 'write a pattern: "*.sh"'
                    )
                elif not command.strip():
                    words = f'post value for key "{pattern}" cannot be empty'
                    yield PropertyProblem(("post", index, pattern), words, "write a command: chmod +x {}")
                elif fault := _command_problem(command):
                    yield PropertyProblem(
                        ("post", index, pattern), fault, "write one command, its quotes in pairs"
                    )

    def watches(self) -> Iterable[PathWatch]:
        """The target and the templates, each with everything in them."""
        yield PathWatch(self.name, self._changed_paths)
        yield PathWatch(self.source, self._changed_paths, is_input=True)

    async def observe(self) -> ScaffoldState:
        """The tree, compared with the rendered templates. Raises ResourceError."""
        return await self._observe(self._changed_paths)

    async def verify(self) -> Plan:
        """The remaining plan for the changed files. The events of these changes are left for the next check."""
        return self.plan(await self._observe(self._builder.touched), refresh=False)

    async def _observe(self, changed_paths: ChangedPaths) -> ScaffoldState:
        """Check a few changed files at once; templates, or the whole tree, in a thread."""
        desired = await self._desired()
        paths = changed_paths.take()
        try:
            state = await self._observe_paths(paths, desired) if paths is not None else None
            if state is None:
                await self._ask_mounts()
                state = await in_thread(self._look, desired)
        except BaseException:
            changed_paths.lose()
            raise
        for remark in self._renderer.remarks():
            emit_output(remark)
        return state

    async def _ask_mounts(self) -> None:
        """Raise ResourceError if a mount in one of both trees does not answer: to read that tree would take forever."""
        for root in (self.source, self.name):
            for point in mounted_below(root):
                await fragile_mounts().ask(point)

    def _look(self, desired: Desired) -> ScaffoldState:
        self._renderer.refresh()
        return self._target.compare(self._renderer.files, desired)

    async def _observe_paths(self, paths: Collection[str], desired: Desired) -> ScaffoldState | None:
        """Check only these paths of both trees; None if the whole trees must be checked."""
        templates = _below(self.source, paths)
        files = _below(self.name, paths)
        rendered = await in_thread(self._renderer.refresh, templates) if templates else ()
        if len(templates) + len(files) < len(paths):
            return None  # the root of a tree has changed
        compare = partial(self._target.compare_only, [*files, *rendered], self._renderer.files, desired)
        is_long = self._target.is_crowded or len(files) > _AT_ONCE
        return await in_thread(compare) if is_long else compare()

    async def _desired(self) -> Desired:
        owner, group = self.owner or "0", self.group or "0"
        ids = accounts.known(owner, group) or await accounts.look_up(owner, group)
        return Desired(
            None if self.owner is None else ids[0],
            None if self.group is None else ids[1],
            None if self.file_mode is None else parse_mode(self.file_mode),
            None if self.directory_mode is None else parse_mode(self.directory_mode),
        )

    def plan(self, state: ScaffoldState, *, refresh: bool) -> Plan:  # noqa: ARG002  a tree has nothing to refresh
        """The plan by the decision table, `plan_scaffold`."""
        has_commands = bool(self.post)
        return plan_scaffold(self.ensure, state, self._builder, purge=self.purge, has_commands=has_commands)

    async def preflight(self, state: ScaffoldState) -> None:
        """Check that the commands in `post` can be started, and that a missing target can be made."""
        if self.ensure == "present":
            await self._builder.require_startable(state)
            _require_place(self.name)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The target, unless it is removed.

        Depends on: The directory above the target, the templates, the resources that create them, and the owners.
        """
        target = (self.name,)
        needed = (os.path.dirname(self.name), f"{self.source}/", *accounts_of(self.owner, self.group))
        if self.ensure == "absent":
            return Relations(clears=target, depends_on=needed, purges=self.name if self.purge else None)
        # Also without `purge`, so that `declared` names the directories that others manage in it.
        return Relations(provides=target, depends_on=needed, purges=self.name)

    def source_files(self) -> Collection[str]:
        """The templates."""
        return () if self.ensure == "absent" else (f"{self.source}/",)

    def claims(self) -> Iterable[Claim]:
        """The target, with its source and the attributes that its directories get."""
        desired: dict[str, object] = {"ensure": "absent", "source": self.source}
        if self.ensure == "present":
            mode = None if self.directory_mode is None else parse_mode(self.directory_mode)
            given = {"owner": self.owner, "group": self.group, "mode": mode}
            desired |= {"ensure": "directory"} | {
                key: each for key, each in given.items() if each is not None
            }
        yield Claim("path", self.name, desired)

    @cached_property
    def _changed_paths(self) -> ChangedPaths:
        return ChangedPaths()

    @property
    def _delimiters(self) -> tuple[str, str] | None:
        if self.left_delimiter is None or self.right_delimiter is None:
            return None
        return self.left_delimiter, self.right_delimiter

    def template_sources(self) -> Iterable[TemplateSource]:
        """All files of the tree."""
        tree = SourceTree(self.source)
        functions = template_functions(self._values)
        for path in sorted(tree.refresh()):
            if (text := tree.read(path)) is not None:
                whole = os.path.join(self.source, path)
                yield TemplateSource(
                    whole, text, self.used_engine, self._delimiters, self.source, tree.read, functions
                )

    @cached_property
    def _renderer(self) -> Renderer:
        return self._renderer_of(self._values)

    def _renderer_of(self, values: Values) -> Renderer:
        return Renderer(
            SourceTree(self.source),
            partial(sandboxed_engine(self.used_engine).tree, delimiters=self._delimiters),
            values,
            {} if self.data is None else {"data": self.data, "Data": self.data},
            skip_empty=self.skip_empty,
            is_secret=self.holds_secrets,
        )

    @property
    def holds_secrets(self) -> bool:
        """Whether rendered files and errors of templates may contain a secret."""
        return bool(self.secrets) or self._values.has_secrets

    def run_again(self) -> None:
        """Read every file of the tree at the next check."""
        self._changed_paths.lose()
        self._target.read_again()

    @cached_property
    def _target(self) -> TargetTree:
        return TargetTree(self.name, self.declared.managed_paths)

    @cached_property
    def _builder(self) -> Builder:
        commands = [
            PostCommand(pattern, tuple(split_words(command)))
            for entry in self.post
            for pattern, command in entry.items()
        ]
        return Builder(self._target, commands, self._with_other_secrets if self.holds_secrets else None)

    def _with_other_secrets(self) -> Mapping[str, str]:
        """The texts that other secrets give: what is the same shows none. Empty if that can't be told."""
        if self.secrets or (others := self._values.with_other_secrets()) is None:
            return {}
        renderer = self._renderer_of(others)
        try:
            renderer.refresh()
        except ResourceError:  # of a secret that another one can't stand for
            return {}
        return renderer.files


def _below(root: str, paths: Iterable[str]) -> list[str]:
    """The ``paths`` that are below ``root``, relative to it."""
    return [os.path.relpath(path, root) for path in paths if path.startswith(f"{root}/")]


def _command_problem(command: str) -> str | None:
    try:
        split_words(command)
    except ValueError as error:
        return str(error)
    return None


def _require_place(target: str) -> None:
    """Raise the ResourceError with which making the directory ``target`` would fail, if it is missing."""
    with (
        ErrorContext(f"create the directory {target}"),
        Parent(first_missing_path(target)) as (directory, _),
    ):
        if not os.path.lexists(target):
            refuse_read_only(directory)
            refuse_forbidden(directory)
