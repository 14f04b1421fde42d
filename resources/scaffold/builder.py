"""Writes the tree on the disk, file by file, each replaced atomically, and runs the commands in ``post``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from hashlib import blake2b
from pathlib import Path

import trio

from reactor import ChangedPaths, Diff, ResourceError, emit_output, in_thread
from reactor.hostfs import (
    Attributes,
    ErrorContext,
    Inline,
    Parent,
    Source,
    added_lines_diff,
    attributes_diff,
    content_diff,
    lock_temporary,
    make_directories,
    open_path,
    others_may_replace,
    private_directory,
    remove_path,
    secret_diff,
    set_attributes,
    write_file,
)
from reactor.resources.process import ENVIRONMENT, Command, output_tail, require_startable, run
from reactor.resources.scaffold.files import attributes_of
from reactor.resources.scaffold.state import Difference, ScaffoldState
from reactor.resources.scaffold.target import TargetTree

_NOTE = os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
PLACEHOLDER = "{}"
_AT_ONCE = 32
"""The most files that all scaffolds write concurrently, since each needs descriptors. Concurrent writes share one
flush."""
_SHOWN = 100
"""The most files whose diff is shown; the others are only counted."""
Texts = Mapping[str, str]
"""The rendered texts, by their paths below the target."""
_writers: trio.lowlevel.RunVar[trio.CapacityLimiter] = trio.lowlevel.RunVar("writers")


def note_of(path: str) -> str:
    """The path of the note that commands for ``path`` are due: a temporary file beside it.

    It is stale when no process has locked it.
    """
    directory, base = os.path.split(path)
    return f"{directory}/.post.{blake2b(os.fsencode(base), digest_size=6).hexdigest()}.reactor"


@contextmanager
def noted(path: str) -> Iterator[None]:
    """Note on the disk that the commands for ``path`` are due. Removes the note if the block ends without an error."""
    with Parent(note_of(path)) as (directory, name):
        with ErrorContext(f"write {note_of(path)}"):
            fd = os.open(name, _NOTE, 0o600, dir_fd=directory)
        try:
            lock_temporary(fd)
            yield
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=directory)
        finally:
            os.close(fd)


@dataclass(frozen=True, slots=True)
class PostCommand:
    """A command that is run for each changed file whose name matches a pattern."""

    pattern: str
    words: tuple[str, ...]

    def arguments(self, path: str) -> tuple[str, ...]:
        """The command with ``path`` in place of ``{}``, or at the end."""
        if any(PLACEHOLDER in word for word in self.words):
            return tuple(word.replace(PLACEHOLDER, path) for word in self.words)
        return (*self.words, path)


class Builder:
    """Executes the plans of one scaffold. ``touched`` are the paths that it has changed, or tried to change."""

    def __init__(
        self,
        target: TargetTree,
        commands: Sequence[PostCommand],
        with_other_secrets: Callable[[], Texts] | None,
    ) -> None:
        self._target = target
        self._commands = commands
        self.touched = ChangedPaths()
        self.touched.take()  # a new ChangedPaths means that everything may have changed; here, nothing has
        self._with_other_secrets = with_other_secrets
        """Renders the tree with other secrets. None if no secret is at hand."""

    async def build(self, state: ScaffoldState, *, purge: bool) -> None:
        """Make the tree as desired. Raises ResourceError for the first failure."""
        purged = state.purged if purge else ()
        if state.directories:
            self.touched.lose()
        for path in (*(file.path for file in state.changed), *state.stale_temporaries, *purged):
            self.touched.add(path)
        for directory in state.directories:
            if not directory.changes:
                with ErrorContext(f"create the directory {directory.path}"):
                    # With the default mode: after a kill, nothing would set it.
                    make_directories(directory.path)
            await set_attributes(directory.path, directory.attributes)
        await self._write_all(state.changed)
        await self._run_due_commands(state)
        await self._remove_stale_temporaries(state.stale_temporaries)
        await self._remove_directories(state.empty_others if purge else ())
        await self._remove(purged)

    async def clear(self, state: ScaffoldState) -> None:
        """Remove the files of the scaffold, and directories that become empty."""
        self.touched.lose()
        await self._remove_stale_temporaries(state.stale_temporaries)
        await self._remove_directories(state.empty)
        await self._remove(state.managed)
        with suppress(OSError, ResourceError), Parent(self._target.root) as (directory, base):
            os.rmdir(base, dir_fd=directory)

    async def require_startable(self, state: ScaffoldState) -> None:
        """Raise ResourceError if a command that would run after a change can't be started."""
        due = {command for file in state.changed for command in self._commands_for(file.path)}
        for command in due:
            if PLACEHOLDER not in command.words[0]:  # otherwise the command is the new file itself
                await require_startable(Command(command.words, "/", ENVIRONMENT))

    async def diff(self, state: ScaffoldState, *, purge: bool) -> Diff:
        """The changes that `build` would make, as a unified diff; without content that may be secret."""
        render = self._with_other_secrets
        others = None if render is None else await in_thread(render)
        seen = [
            await attributes_diff(one.path, one.changes, created=not one.changes) for one in state.directories
        ]
        purged = state.purged if purge else ()
        seen += [await self._file_diff(file, others) for file in state.changed[:_SHOWN]]
        seen += [await _removal_diff(path, is_secret=others is not None) for path in purged[:_SHOWN]]
        left = max(0, len(state.changed) - _SHOWN) + max(0, len(purged) - _SHOWN)
        return partial(_all_of, seen, left)

    async def _file_diff(self, file: Difference, others: Texts | None) -> Diff:
        """The diff of a file; ``others`` are the texts that other secrets give, if secrets are at hand."""
        if file.text is None:
            return await attributes_diff(file.path, file.changes)
        if others is None:
            return await content_diff(file.path, Inline(file.text), file.changes)
        if others.get(file.path.removeprefix(f"{self._target.root}/")) != file.text:
            return await secret_diff(file.path, file.changes, removed=False)
        return await added_lines_diff(file.path, Inline(file.text), file.changes)

    async def _write_all(self, files: Iterable[Difference]) -> None:
        """Write the files concurrently. After an error, no further file is begun."""
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
                await write_file(file.path, Inline(file.text), file.attributes)
            else:
                await set_attributes(file.path, file.attributes)
                if self._target.has_accepted(file.path):  # the commands already set these attributes
                    return
            await self._perform_all(commands, file.path)

    async def _run_due_commands(self, state: ScaffoldState) -> None:
        """Run the commands that an interrupted run did not complete, for files that are otherwise correct."""
        written = {file.path for file in state.changed}
        for path in state.managed if state.stale_temporaries else ():
            if path not in written and note_of(path) in state.stale_temporaries:
                with noted(path):
                    await self._perform_all(self._commands_for(path), path)

    def _commands_for(self, path: str) -> Sequence[PostCommand]:
        name = os.path.basename(path)
        return [command for command in self._commands if fnmatchcase(name, command.pattern)]

    async def _perform_all(self, commands: Sequence[PostCommand], path: str) -> None:
        if commands:
            self._target.invalidate(path)
            with ErrorContext(f"inspect {path}"), Parent(path) as (directory, base):
                is_exposed = others_may_replace(directory, base)
            if is_exposed:
                await self._perform_apart(commands, path)
                return
            before = _attributes_at(path)
            for command in commands:
                await _perform(command.arguments(path), path)
            self._target.accept(path, path, before)

    async def _remove_stale_temporaries(self, paths: Sequence[str]) -> None:
        """Remove temporary files, and report each. A file that a process uses by now stays."""
        for path in filter(self._target.is_stale_temporary, paths):
            await self._remove((path,))
            emit_output(f"removed {path}, a temporary file of an interrupted run")

    async def _perform_apart(self, commands: Sequence[PostCommand], path: str) -> None:
        """Run the commands on a private copy, because other users could replace the file at ``path``.

        The copy is recorded as the correct result: the file at ``path`` may be a different one by then.
        """
        with ErrorContext(f"run the commands in `post` for {path}"), private_directory() as directory:
            copy = f"{directory}/{os.path.basename(path)}"
            text = self._target.text_of(path).encode()
            before = _attributes_at(path)
            _write_copy(copy, text, before)
            for command in commands:
                await _perform(command.arguments(copy), path)
            made = _attributes_at(copy)
            if made != before or _content_of(copy) != text:
                await write_file(path, Source(copy), made)
            self._target.accept(path, copy, before)

    async def _remove_directories(self, directories: Iterable[str]) -> None:
        """Remove empty directories, the deepest first."""
        for directory in directories:
            await remove_path(directory, recursive=False)

    async def _remove(self, paths: Sequence[str]) -> None:
        """Remove files, and directories below the root that become empty."""
        for path in paths:
            await remove_path(path, recursive=False)
        for parent in sorted({os.path.dirname(path) for path in paths}, key=len, reverse=True):
            directory = parent
            while directory.startswith(f"{self._target.root}/") and directory not in self._target.kept:
                try:
                    await remove_path(directory, recursive=False)
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
    """The limiter of concurrent writes, shared by all scaffolds."""
    try:
        return _writers.get()
    except LookupError:
        _writers.set(limiter := trio.CapacityLimiter(_AT_ONCE))
        return limiter


async def _removal_diff(path: str, *, is_secret: bool) -> Diff:
    return await (secret_diff(path, (), removed=True) if is_secret else content_diff(path, None, ()))


async def _all_of(diffs: Sequence[Diff], left: int) -> str:
    """The diffs as one string, with the number of files that are not shown."""
    parts = [await text() for text in diffs]
    return "".join(parts) + (f"and {left} more files\n" if left else "")


async def _perform(arguments: Sequence[str], path: str) -> None:
    completed = await run(Command(arguments, "/", ENVIRONMENT))
    if completed.exit_code != 0:
        words = output_tail(completed.stdout, completed.stderr)
        hint = "the file is in place, and is written again at the next attempt; correct the command in `post`"
        raise ResourceError(
            f"post: exit code {completed.exit_code} of {arguments[0]} for {path}{words}", hint
        )
