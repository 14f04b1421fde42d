"""Changes the tree on the disk: file by file, each replaced in one step."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

import trio

from reactor import ChangedPaths, Diff, ResourceError, emit_output
from reactor.hostfs import (
    Attributes,
    Change,
    Explaining,
    Inline,
    Parent,
    Source,
    attributes_diff,
    content_diff,
    is_changeable,
    make_missing,
    open_path,
    private_directory,
    secret_diff,
    write,
)
from reactor.resources.process import ENVIRONMENT, Command, output_tail, require_startable, run
from reactor.resources.scaffold.files import attributes_of
from reactor.resources.scaffold.pending_commands import note_of, noted
from reactor.resources.scaffold.state import Difference, ScaffoldState
from reactor.resources.scaffold.target import TargetTree

PLACEHOLDER = "{}"
_AT_ONCE = 32
"""Files written side by side, by all scaffolds together, for each takes descriptors: those that wait for the disk at the
same time share one flush."""
_SHOWN = 100
"""Files whose diff is shown; of the others their number is."""

_writers: trio.lowlevel.RunVar[trio.CapacityLimiter] = trio.lowlevel.RunVar("writers")


@dataclass(frozen=True, slots=True)
class PostCommand:
    """A command for each changed file whose name matches a pattern."""

    pattern: str
    words: tuple[str, ...]

    def arguments(self, path: str) -> tuple[str, ...]:
        """The command for the file at ``path``: in place of ``{}``, or at the end."""
        if any(PLACEHOLDER in word for word in self.words):
            return tuple(word.replace(PLACEHOLDER, path) for word in self.words)
        return (*self.words, path)


class Builder:
    """Carries the plans of one scaffold out. ``touched`` are the paths that it has changed, or tried to."""

    def __init__(self, target: TargetTree, commands: Sequence[PostCommand], *, is_secret: bool) -> None:
        self._target = target
        self._commands = commands
        self.touched = ChangedPaths()
        self.touched.take()  # nothing so far, where a listener would begin in doubt
        self._is_secret = is_secret

    async def build(self, state: ScaffoldState, *, purge: bool) -> None:
        """Make the tree as desired. Raises ResourceError for the first thing that can't be done."""
        purged = state.purged if purge else ()
        if state.directories:
            self.touched.lose()
        for path in (*(file.path for file in state.changed), *state.litter, *purged):
            self.touched.add(path)
        for directory in state.directories:
            if not directory.changes:
                with Explaining(f"create the directory {directory.path}"):
                    make_missing(directory.path)  # with the mode of new ones: nobody sets it after a kill
            await write.set_attributes(directory.path, directory.attributes)
        await self._write_all(state.changed)
        await self._catch_up(state)
        await self._remove_litter(state.litter)
        await self._remove_directories(state.empty_others if purge else ())
        await self._remove(purged)

    async def clear(self, state: ScaffoldState) -> None:
        """Remove what belongs to the scaffold, and the directories that this leaves empty."""
        self.touched.lose()
        await self._remove_litter(state.litter)
        await self._remove_directories(state.empty)
        await self._remove(state.managed)
        with suppress(OSError):
            os.rmdir(self._target.root)

    async def require_startable(self, state: ScaffoldState) -> None:
        """Raise ResourceError where a command that is to run after a change can't be started."""
        due = {command for file in state.changed for command in self._commands_for(file.path)}
        for command in due:
            if PLACEHOLDER not in command.words[0]:  # the new file itself
                await require_startable(Command(command.words, "/", ENVIRONMENT))

    async def diff(self, state: ScaffoldState, *, purge: bool) -> Diff:
        """What `build` would change, as a unified diff; where that may show secrets, without contents."""
        seen = [
            await attributes_diff(one.path, one.changes, created=not one.changes) for one in state.directories
        ]
        purged = state.purged if purge else ()
        seen += [await self._file_diff(file) for file in state.changed[:_SHOWN]]
        seen += [await self._content_diff(path, None, ()) for path in purged[:_SHOWN]]
        left = max(0, len(state.changed) - _SHOWN) + max(0, len(purged) - _SHOWN)
        return partial(_all_of, seen, left)

    async def _file_diff(self, file: Difference) -> Diff:
        if file.text is None:
            return await attributes_diff(file.path, file.changes)
        return await self._content_diff(file.path, Inline(file.text), file.changes)

    async def _content_diff(self, path: str, content: Inline | None, changes: Sequence[Change]) -> Diff:
        if self._is_secret:
            return await secret_diff(path, changes, removed=content is None)
        return await content_diff(path, content, changes)

    async def _write_all(self, files: Iterable[Difference]) -> None:
        """Write them side by side. After an error no further one is begun."""
        waiting = iter(files)
        errors: list[ResourceError | OSError] = []

        async def work() -> None:
            for file in waiting:
                async with _all_writers():
                    if errors:
                        return
                    try:
                        await self._write(file)
                    except (ResourceError, OSError) as error:
                        errors.append(error)

        async with trio.open_nursery() as nursery:
            for _ in range(_AT_ONCE):
                nursery.start_soon(work)
        if errors:
            raise errors[0]

    async def _write(self, file: Difference) -> None:
        commands = self._commands_for(file.path)
        with noted(file.path) if commands else nullcontext():
            if file.text is not None:
                await write.store(file.path, Inline(file.text), file.attributes)
            else:
                await write.set_attributes(file.path, file.attributes)
                if self._target.has_accepted(file.path):  # what the commands made of the attributes, too
                    return
            await self._perform_all(commands, file.path)

    async def _catch_up(self, state: ScaffoldState) -> None:
        """Run the commands that an interrupted run owes for files that are as their templates make them."""
        written = {file.path for file in state.changed}
        for path in state.managed if state.litter else ():
            if path not in written and note_of(path) in state.litter:
                with noted(path):
                    await self._perform_all(self._commands_for(path), path)

    def _commands_for(self, path: str) -> Sequence[PostCommand]:
        name = os.path.basename(path)
        return [command for command in self._commands if fnmatchcase(name, command.pattern)]

    async def _perform_all(self, commands: Sequence[PostCommand], path: str) -> None:
        if commands:
            self._target.doubt(path)
            with Explaining(f"look at {path}"), Parent(path) as (directory, base):
                is_exposed = is_changeable(directory, base)
            if is_exposed:
                await self._perform_apart(commands, path)
                return
            before = _attributes_at(path)
            for command in commands:
                await _perform(command.arguments(path), path)
            self._target.accept(path, path, before)

    async def _remove_litter(self, paths: Sequence[str]) -> None:
        """Remove temporary files, and say so of each. One that a living process has taken up meanwhile stays."""
        for path in filter(self._target.is_litter, paths):
            await self._remove((path,))
            emit_output(f"removed {path}, a temporary file of an interrupted run")

    async def _perform_apart(self, commands: Sequence[PostCommand], path: str) -> None:
        """The same where others may put another file, or a symlink, at ``path``: on a copy out of their reach.

        It is the copy that is accepted: what is at ``path`` by then may be theirs.
        """
        with Explaining(f"run the commands in `post` for {path}"), private_directory() as directory:
            copy = f"{directory}/{os.path.basename(path)}"
            text = self._target.text_of(path).encode()
            before = _attributes_at(path)
            _write_copy(copy, text, before)
            for command in commands:
                await _perform(command.arguments(copy), path)
            made = _attributes_at(copy)
            if made != before or _content_of(copy) != text:
                await write.store(path, Source(copy), made)
            self._target.accept(path, copy, before)

    async def _remove_directories(self, directories: Iterable[str]) -> None:
        """Remove empty directories, each after those in it."""
        for directory in directories:
            await write.remove(directory, recursive=False)

    async def _remove(self, paths: Sequence[str]) -> None:
        """Remove files, and the directories below the root that this leaves empty."""
        for path in paths:
            await write.remove(path, recursive=False)
        for parent in sorted({os.path.dirname(path) for path in paths}, key=len, reverse=True):
            directory = parent
            while directory.startswith(f"{self._target.root}/") and directory not in self._target.kept:
                try:
                    await write.remove(directory, recursive=False)
                except ResourceError:
                    break
                directory = os.path.dirname(directory)


def _attributes_at(path: str) -> Attributes:
    handle = open_path(path)
    try:
        found = os.fstat(handle)
    finally:
        os.close(handle)
    return attributes_of(found)


def _write_copy(path: str, text: bytes, attributes: Attributes) -> None:
    Path(path).write_bytes(text)
    os.chown(path, attributes.uid, attributes.gid)
    os.chmod(path, attributes.mode)


def _content_of(path: str) -> bytes:
    return Path(path).read_bytes()


def _all_writers() -> trio.CapacityLimiter:
    """What those who write a file hold, in whatever scaffold it is."""
    try:
        return _writers.get()
    except LookupError:
        _writers.set(limiter := trio.CapacityLimiter(_AT_ONCE))
        return limiter


async def _all_of(diffs: Sequence[Diff], left: int) -> str:
    """All of them, and how many more files there are."""
    parts = [await text() for text in diffs]
    return "".join(parts) + (f"and {left} more files\n" if left else "")


async def _perform(arguments: Sequence[str], path: str) -> None:
    completed = await run(Command(arguments, "/", ENVIRONMENT))
    if completed.exit_code != 0:
        words = output_tail(completed.stdout, completed.stderr)
        hint = "the file is in place, and is made anew with the next attempt; mend the command in `post`"
        raise ResourceError(
            f"post: exit code {completed.exit_code} of {arguments[0]} for {path}{words}", hint
        )
