"""The kind `alternatives`: its properties, state and plan."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from reactor import (
    AbsolutePath,
    Action,
    Claim,
    PathState,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    ResourceError,
    Watch,
)
from reactor.hostfs import refuse_replacement
from reactor.resources.alternatives.database import (
    DATABASE,
    AlternativesState,
    Group,
    choice_link,
    database_file,
    read_group,
)
from reactor.resources.process import perform
from reactor.resources.system_link import read_link

_PROGRAM = "update-alternatives"
_HIGHEST = 2**31 - 1


class Alternatives(Resource[AlternativesState], kind="alternatives"):
    """Manage which program a common name such as `editor` leads to."""

    example = "editor --path /usr/bin/vim.tiny"

    name: Annotated[str, Field(pattern=r"^[^/\s\x00.-][^/\s\x00]*$")]
    ensure: Literal["present", "absent"] = "present"
    path: AbsolutePath | None = None
    """The program to choose."""
    mode: Literal["auto", "manual"] | None = None
    """`auto`: the alternative of the highest priority is chosen. By default `manual` if `path` is given."""
    link: AbsolutePath | None = None
    """The common path, such as `/usr/bin/editor`: with it, `path` is added to the alternatives if it is missing there."""
    priority: Annotated[int, Field(ge=-_HIGHEST, le=_HIGHEST)] | None = None
    """The priority of `path` among the alternatives, for `auto`."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        if self.ensure == "absent":
            for name in ("mode", "link", "priority"):
                if getattr(self, name) is not None:
                    words = f"{name} is only valid with 'ensure: present'"
                    yield PropertyProblem((name,), words, f"remove {name}")
            return
        if self.path is None and self.mode != "auto":
            yield PropertyProblem(
                (), "path is missing", "add the program: path: /usr/bin/vim.tiny; or mode: auto"
            )
        if (self.link is None) != (self.priority is None):
            missing = "priority" if self.priority is None else "link"
            yield PropertyProblem((), "link and priority come together", f"add {missing}")
        if self.link is not None and self.path is None:
            yield PropertyProblem(
                ("link",), "link requires path to be set", "add path, or remove link and priority"
            )
        if self.link is not None and self.link == self.path:
            yield PropertyProblem(
                ("link",), "link and path are the same", "link is the common name of the alternatives"
            )
        if self.mode == "auto" and self.path is not None and self.link is None:
            words = "with mode: auto, the priority decides, not the path"
            yield PropertyProblem(
                ("path",), words, "remove path, or add link and priority, or write mode: manual"
            )

    def watches(self) -> Iterable[Watch]:
        """The file of the group, the symlink of the choice, and the common name."""
        yield PathWatch(database_file(self.name))
        yield PathWatch(choice_link(self.name))
        if (link := self._link) is not None:
            yield PathWatch(link)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The common name and the symlink that it leads to.

        Depends on: The program.
        """
        links = (choice_link(self.name), *(() if self.link is None else (self.link,)))
        needed = () if self.path is None else (self.path,)
        if self.ensure == "absent":
            return Relations(removes=links if self.path is None else ())
        return Relations(provides=links, depends_on=needed)

    def claims(self) -> Iterable[Claim]:
        """The group, and its two symlinks."""
        wishes = {"ensure": self.ensure, "path": self.path, "mode": self._mode}
        yield Claim("group of alternatives", self.name, wishes)
        if self.ensure == "present":
            chosen = {"target": self.path} if self._mode == "manual" else {}
            yield Claim("path", choice_link(self.name), {"ensure": "link", **chosen})
            if self.link is not None:
                yield Claim("path", self.link, {"ensure": "link", "target": choice_link(self.name)})

    def lasting_state(self) -> Sequence[PathState]:
        """The file of the group, its two symlinks, and the program. Raises ResourceError when the group can't be read."""
        group = read_group(self.name)
        links = () if group is None else (choice_link(self.name), group.link)
        program = () if self.path is None or self.ensure == "absent" else (PathState(self.path),)
        return (
            PathState(database_file(self.name), "read"),
            *(PathState(path, "link") for path in links),
            *program,
        )

    async def observe(self) -> AlternativesState:
        """The group, and where its symlinks lead. Raises ResourceError when the group can't be read."""
        group = read_group(self.name)
        has_path = self.path is None or os.path.lexists(self.path)  # noqa: ASYNC240 - as fast as the read before
        if group is None:
            return AlternativesState(None, has_path=has_path)
        is_linked = read_link(group.link) == choice_link(self.name)
        return AlternativesState(group, read_link(choice_link(self.name)) or None, is_linked, has_path)

    def plan(self, state: AlternativesState, *, refresh: bool) -> Plan:  # noqa: ARG002 - there is nothing to refresh
        """Add the alternative, and choose it; or remove it. Raises ResourceError when it is none."""
        if self.ensure == "absent":
            return self._removal(state.group)
        self._refuse(state)
        plan = []
        group = state.group
        choices = {} if group is None else group.choices
        known = choices.get(self.path or "")
        if self.priority is not None and (known is None or known.priority != self.priority):
            plan.append(self._installation(group))
        elif group is None:
            return ()
        chosen = self.path if self._mode == "manual" else self._best(group)
        is_chosen = group is not None and (group.mode, state.current) == (self._mode, chosen)
        if not is_chosen or not state.is_linked:
            if self._mode == "manual":
                plan.append(_step(f"chosen {chosen}", f"chose {chosen}", "--set", self.name, chosen or ""))
            elif group is not None:  # the first alternative of a new group is chosen when it is added
                plan.append(
                    _step(
                        f"chosen {chosen} by its priority",
                        f"chose {chosen} by its priority",
                        "--auto",
                        self.name,
                    )
                )
        return tuple(plan)

    async def preflight(self, state: AlternativesState) -> None:
        """Check that the common name is not another file, which update-alternatives would leave alone, and that it can write."""
        link = self.link if state.group is None else state.group.link
        if self.ensure == "present" and link is not None and _is_other(link):
            raise ResourceError(f"{link} is not a symlink, and is not replaced", "remove it first")
        refuse_replacement(database_file(self.name))

    async def describe(self) -> Mapping[str, Any]:
        """The choice and the mode."""
        state = await self.observe()
        if state.group is None:
            return {"ensure": "absent", "path": None}
        return {"ensure": "present", "path": state.current, "mode": state.group.mode}

    async def reversal(self, state: AlternativesState) -> Self:
        """The choice as it was; an alternative that was added is removed. Raises ResourceError if it was both.

        A removed alternative can't be restored: its links and priority are no properties of that.
        """
        group = state.group
        if self.ensure == "absent":
            words = f"reverse could not restore the alternative {self.path or self.name}"
            raise ResourceError(words, "remove it by hand, or remove reverse")
        if group is None or (self.path is not None and self.path not in group.choices):
            if group is None or group.mode == "auto":
                return type(self)(name=self.name, ensure="absent", path=self.path)
            words = "the alternative would be removed, and the former one not be chosen again"
            raise ResourceError(words, "add the alternative by hand, or remove reverse")
        if group.mode == "auto":
            return type(self)(name=self.name, mode="auto")
        return type(self)(name=self.name, path=state.current)

    def is_undone_by(self, recorded: Self) -> bool | None:
        """Always, unless this adds or removes another alternative."""
        if recorded.ensure == "absent":
            return True if recorded.path == self.path else None
        group = read_group(self.name)
        is_choice = self.path is None or (group is not None and self.path in group.choices)
        return True if is_choice and self.ensure == "present" else None

    @property
    def _mode(self) -> str:
        return self.mode or "manual"

    @property
    def _link(self) -> str | None:
        """The common name, as far as it is known when the manifest is loaded."""
        if self.link is not None:
            return self.link
        try:
            group = read_group(self.name)
        except ResourceError:  # the check says so
            return None
        return None if group is None else group.link

    def _refuse(self, state: AlternativesState) -> None:
        """Raise ResourceError when the alternative can't be chosen: it is none, or its program is missing."""
        group, path = state.group, self.path
        if not state.has_path and path is not None:
            raise ResourceError(f"there is no {path}", "require the resource that installs it", missing=path)
        if self.link is not None:
            if group is not None and group.link != self.link:
                hint = "correct link; only one path can be the common name of a group"
                raise ResourceError(f"the link of {self.name} is {group.link}, not {self.link}", hint)
            return
        if group is None:
            hint = "require the package that brings one, or write link and priority"
            words = f"there are no alternatives of {self.name} in {DATABASE}"
            raise ResourceError(words, hint, missing=database_file(self.name))
        if path is not None and path not in group.choices:
            hint = f"choose one of {', '.join(sorted(group.choices))}; or write link and priority to add it"
            raise ResourceError(
                f"{path} is not an alternative of {self.name}", hint, missing=database_file(self.name)
            )

    def _best(self, group: Group | None) -> str | None:
        """The alternative that `auto` chooses, once the desired one is added."""
        priorities = {} if group is None else {path: each.priority for path, each in group.choices.items()}
        if self.path is not None and self.priority is not None:
            priorities[self.path] = self.priority
        return max(priorities, key=lambda path: priorities[path], default=None)

    def _installation(self, group: Group | None) -> Action:
        """Add the alternative, or change its priority; its slaves are kept."""
        path, priority = self.path or "", str(self.priority)
        words = ["--install", self.link or "", self.name, path, priority]
        if group is not None and path in group.choices:
            for name, target in group.choices[path].slaves.items():
                words += ["--slave", group.slaves[name], name, target] if target else []
            return _step(
                f"set the priority of {path} to {priority}",
                f"set the priority of {path} to {priority}",
                *words,
            )
        return _step(
            f"added {path} with priority {priority}", f"added {path} with priority {priority}", *words
        )

    def _removal(self, group: Group | None) -> Plan:
        if group is None:
            return ()
        if self.path is None:
            return (_step("removed all alternatives", "removed all alternatives", "--remove-all", self.name),)
        if self.path not in group.choices:
            return ()
        return (_step(f"removed {self.path}", f"removed {self.path}", "--remove", self.name, self.path),)


def _step(would: str, did: str, *arguments: str) -> Action:
    return Action(f"Would have {would}", did, partial(perform, _PROGRAM, *arguments))


def _is_other(link: str) -> bool:
    return os.path.lexists(link) and not os.path.islink(link)
