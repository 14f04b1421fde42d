"""The kind `exec`: its properties, state and plan."""

# No `from __future__ import annotations` here: pydantic would compile each annotation from its text, and again for each
# class that inherits it.

import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from pydantic import AliasChoices, Field, PrivateAttr

from reactor import (
    Action,
    Duration,
    Flag,
    PathState,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    ResourceError,
    Watch,
    emit_note,
    emit_output,
    fragile_mounts,
)
from reactor.hostfs import ErrorContext, accounts_of
from reactor.resources.exec.property_types import ExitCodes, Location, SearchPath, Umask, Variable
from reactor.resources.exec.providers import Posix, Provider, Shell, names, shell_syntax
from reactor.resources.file.property_types import Account, parse_mode
from reactor.resources.process import (
    ENVIRONMENT,
    TAIL_BYTES,
    Command,
    Completed,
    identity_of,
    output_tail,
    require_startable,
    run,
)

_PROVIDERS: Final[dict[str, Provider]] = {"posix": Posix(), "shell": Shell()}


class ExecState(NamedTuple):
    """The results of the guards; None for a guard that is not set, or not checked because an earlier one decided.

    ``ran``: the command has succeeded in this generation of the manifest. ``fruitless``: it has succeeded without
    creating the path in ``creates``, which is still missing.
    """

    creates_exists: bool | None = None
    onlyif_ok: bool | None = None
    unless_ok: bool | None = None
    ran: bool = False
    fruitless: bool = False

    @property
    def declined(self) -> bool:
        """Whether a guard forbids running the command."""
        return self.creates_exists is True or self.onlyif_ok is False or self.unless_ok is True


class Exec(Resource[ExecState], kind="exec", providers=tuple(_PROVIDERS)):
    """Run a command: once, or whenever its guards allow it, or when a resource that it subscribes to has changed."""

    example = "'touch /tmp/ready' --creates /tmp/ready"
    deferred_properties = frozenset(("command", "cwd", "environment", "creates", "onlyif", "unless"))

    ensure: Literal["present", "absent"] = "present"
    """Has no effect; accepted because every resource has it."""
    command: str | None = None
    """The command; by default the name of the resource."""
    cwd: Location = "/"
    """The working directory of the command and its guards."""
    environment: tuple[Variable, ...] = ()
    """Further environment variables, as KEY=value. The environment of reactor is not inherited."""
    path: SearchPath | None = None
    """The PATH of the command, in which its program is also looked up."""
    returns: ExitCodes = (0,)
    """The exit codes that mean success."""
    timeout: Duration | None = None
    """The longest time of the command and of each guard; then all its processes are killed. 0 means no limit."""
    user: Account | None = None
    """The user that runs the command and its guards, with all groups of that user: a name, or an id in digits."""
    group: Account | None = None
    """The group to run as, instead of the user's primary group."""
    umask: Umask = "0022"
    """The permissions, in octal, that the files it creates do not get."""
    creates: Location | None = None
    """The path that the command creates; the command does not run while it exists."""
    onlyif: str | None = None
    """A command that changes nothing: `command` runs only if it returns 0."""
    unless: str | None = None
    """A command that changes nothing: `command` does not run if it returns 0."""
    refreshonly: Flag = Field(default=False, validation_alias=AliasChoices("refreshonly", "refresh_only"))
    """Whether the command runs only when a resource that it subscribes to has changed."""
    changes: Flag = True
    """Whether the command changes something. With `false` it only looks: each check runs it, also in a dry run, it is
    never `changed`, and others use its output.
    """
    logoutput: Flag = False
    """Whether the output of the command is shown, line by line."""

    _ran: bool = PrivateAttr(default=False)
    _refusal: str | None = PrivateAttr(default=None)
    _fruitless: bool = PrivateAttr(default=False)
    _result: Completed | None = PrivateAttr(default=None)

    @classmethod
    def is_label(cls, properties: Collection[str]) -> bool:
        """Whether the name is only a label, because there is a `command`."""
        return "command" in properties

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Commands that can't be parsed, and a PATH that is set twice."""
        yield from super().property_problems()
        if (provider := _PROVIDERS.get(self.provider or "posix")) is not None:
            for key, text in self._commands.items():
                if text is not None and (problem := _command_problem(provider, text)):
                    yield PropertyProblem(
                        (key,), problem, f"write one command in `{key}`, its quotes in pairs"
                    )
        for key in ("creates", "refreshonly"):
            if not self.changes and getattr(self, key):
                message = f"a command that only looks has no `{key}`"
                yield PropertyProblem((key,), message, "remove it, or changes: false")
        for index, variable in enumerate(self.environment):
            if self.path is not None and variable.startswith("PATH="):
                message = "PATH is set here and by `path`"
                yield PropertyProblem(("environment", index), message, "keep `path`")

    def warnings(self) -> Iterable[PropertyProblem]:
        """Shell syntax in commands that are run without a shell."""
        if self._provider is not _PROVIDERS["posix"]:
            return
        for key, text in self._commands.items():
            if text is not None and (found := shell_syntax(text)) is not None:
                found = found[0] if key in self.secrets else found
                words = f"{found} is only understood by a shell, and no shell reads this command"
                yield PropertyProblem((key,), words, "write provider: shell, or quote it if that is intended")

    def watches(self) -> Iterable[Watch]:
        """The path that the command creates: when it disappears, the command runs again."""
        if self.creates is not None:
            yield PathWatch(self.creates)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The path that the command creates.

        Depends on: The working directory, the programs that it starts, and the absolute paths in the arguments.
        """
        provided = () if self.creates is None else (self.creates,)
        return Relations(provides=provided, depends_on=tuple(self._dependencies()))

    def _dependencies(self) -> Iterator[str]:
        """The working directory, the programs that it starts, and the absolute paths in the arguments."""
        yield self.cwd
        yield from accounts_of(self.user, self.group)
        if self.creates is not None:
            yield os.path.dirname(self.creates)
        program, *arguments = self._provider.words(self._text) or [""]
        guards = [self._provider.words(guard) for guard in (self.onlyif, self.unless) if guard is not None]
        for word in (program, *(words[0] for words in guards if words)):
            if "/" in word:
                yield os.path.normpath(os.path.join(self.cwd, word))
        yield from (word for word in arguments if _is_path(word) and word != self.creates)

    def lasting_state(self) -> Sequence[PathState] | None:
        """The path in ``creates``; nothing with ``refreshonly``. Other guards are commands, which may find anything."""
        if self.onlyif is not None or self.unless is not None:
            return None
        if self.creates is not None:
            return (PathState(self.creates),)
        return () if self.refreshonly else None

    async def observe(self) -> ExecState:
        """Check the guards in order, until one decides. If they allow it, run a command that only looks.

        Raises ResourceError when one of them can't be run, is killed or times out, or the command fails.
        """
        creates_exists = None if self.creates is None else await _exists(self.creates)
        if creates_exists:
            self._fruitless, self._refusal = False, None
            return ExecState(creates_exists=True, ran=self._ran)
        onlyif_ok = await self._ask("onlyif", self.onlyif)
        unless_ok = None if onlyif_ok is False else await self._ask("unless", self.unless)
        self._refusal = self.onlyif if onlyif_ok is False else self.unless if unless_ok else None
        state = ExecState(creates_exists, onlyif_ok, unless_ok, self._ran, self._fruitless)
        if not (self.changes or state.declined):
            await self._execute()
        return state

    def plan(self, state: ExecState, *, refresh: bool) -> Plan:
        """Run on a refresh, even against the guards; otherwise if they allow it; without guards, once per generation.

        A command that did not create the path in ``creates`` is not run again for that reason: every directory that it
        creates on the way to the path would run it again. One that only looks has run already.
        """
        if not self.changes:
            return ()
        if refresh:
            return (Action.saying("executed via subscribe", self._execute),)
        if (state.ran and self.unconditional) or state.declined or self.refreshonly:
            return ()
        if state.fruitless and self.meta.poll is None:
            return ()
        return (Action.saying("executed", self._execute),)

    async def preflight(self, state: ExecState) -> None:  # noqa: ARG002 - it does not depend on the state
        """Check that the user exists, and that the command can be started in its working directory."""
        await require_startable(await self._as_command(self._text))

    async def verify(self) -> Plan:
        """Verify nothing: the exit code proves success, and the guards need not change their results."""
        return ()

    def undecided_by(self, changed: Collection[str]) -> str | None:
        """The changed path that is named in the guard which did not allow the command."""
        guard = self._refusal or ""
        is_run = self.changes and not self.refreshonly
        return next((each for each in sorted(changed) if is_run and names(guard, each)), None)

    async def outputs(self) -> Mapping[str, Any] | None:
        """The output and exit code of the last run of the command; None if it has not run in this process.

        Raises ResourceError when there is more than is kept: others would take its end for all of it.
        """
        if self._result is None:
            return None
        if self._result.is_cut:
            words = f"its output is used, and is longer than the {TAIL_BYTES >> 10} KiB that are kept"
            raise ResourceError(words, "print less, or write it to a file")
        return {
            "stdout": self._result.stdout.removesuffix("\n"),
            "stderr": self._result.stderr.removesuffix("\n"),
            "exit_code": self._result.exit_code,
        }

    def run_again(self) -> None:
        """Forget that the command has run."""
        self._ran = self._fruitless = False

    @property
    def unconditional(self) -> bool:
        """Whether the command has no guards."""
        return self.creates is None and self.onlyif is None and self.unless is None

    @property
    def _commands(self) -> Mapping[str, str | None]:
        """The guards and the command, by property."""
        name = "command" if self.command else "name"
        return {"onlyif": self.onlyif, "unless": self.unless, name: self._text}

    @property
    def _text(self) -> str:
        return self.command or self.name

    @property
    def _provider(self) -> Provider:
        return _PROVIDERS[self.provider or "posix"]

    async def _ask(self, guard: str, text: str | None) -> bool | None:
        if text is None:
            return None
        try:
            return (await run(await self._as_command(text))).exit_code == 0
        except ResourceError as error:
            message = f"{guard}: {error.message}"
            raise ResourceError(message, error.hint, missing=error.missing) from error

    async def _execute(self) -> None:
        """Run the command.

        Raises ResourceError unless its exit code is in ``returns``, or the path ``creates`` exists.
        """
        completed = await run(await self._as_command(self._text), emit_output if self.logoutput else None)
        self._result = completed
        is_made = self.creates is not None and await _exists(self.creates)
        if completed.exit_code not in self.returns and not is_made:
            raise ResourceError(self._complain(completed))
        self._ran = True
        self._fruitless = self.creates is not None and not is_made
        if self._fruitless:
            emit_note(f"the command has succeeded, but {self.creates} is not there")

    def _complain(self, completed: Completed) -> str:
        accepted = ", ".join(map(str, self.returns))
        which = "one of the accepted" if len(self.returns) > 1 else "the accepted"
        words = output_tail(completed.stdout, completed.stderr)
        return f"exit code {completed.exit_code} is not {which} {accepted}{words}"

    async def _as_command(self, text: str) -> Command:
        """The command to start for ``text``. Raises ResourceError when its user does not exist."""
        identity = await identity_of(self.user, self.group)
        account = {} if identity is None else identity.environment
        environment = {**ENVIRONMENT, **account, **({"PATH": self.path} if self.path is not None else {})}
        for variable in self.environment:
            key, _, value = variable.partition("=")
            environment[key] = value
        return Command(
            self._provider.arguments(text),
            self.cwd,
            environment,
            self.timeout or math.inf,
            identity=identity,
            umask=parse_mode(self.umask),
        )


def _command_problem(provider: Provider, text: str) -> str | None:
    """Why ``text`` is not a valid command; None if it is valid."""
    if "\0" in text:
        return "a command can't hold a NUL character"
    try:
        arguments = provider.arguments(text)
    except ValueError as error:
        return str(error)
    return None if arguments and arguments[0] else "the command is empty"


async def _exists(path: str) -> bool:
    """Whether the path exists. Raises ResourceError."""
    await fragile_mounts().ask(path)
    with ErrorContext(f"inspect {path}"):
        try:
            os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
    return True


def _is_path(word: str) -> bool:
    return word.startswith("/") and not word.startswith("//") and os.path.normpath(word) == word
