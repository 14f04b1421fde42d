"""The kind `kernel_module`: its properties, state and plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field, PrivateAttr

from reactor import (
    Action,
    Claim,
    Flag,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    ResourceError,
    Watch,
    emit_note,
)
from reactor.hostfs import ErrorContext, Parent
from reactor.resources import textfile
from reactor.resources.kernel_module.modules import (
    LOADED,
    Loaded,
    has_parameter,
    is_builtin,
    loaded,
    normalized,
    obstacle,
)
from reactor.resources.managed_header import HEADER
from reactor.resources.process import ENVIRONMENT, Command, perform, run

_FORBIDDEN = "/bin/false"


def _check_value(value: object) -> str:
    """The value of a parameter as modprobe.d(5) has it. Raises ValueError."""
    text = {True: "1", False: "0"}.get(value) if isinstance(value, bool) else str(value)
    if not text or not text.isprintable() or any(sign in text for sign in " \"'\\#"):
        raise ValueError(
            f"{value!r} is not the value of a parameter: it has no spaces, quotes or backslashes"
        )
    return text


Value = Annotated[bool | int | str, AfterValidator(_check_value)]
"""The value of a module's parameter."""
Parameter = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$")]
"""The name of a module's parameter."""


class ModuleState(NamedTuple):
    """The module in the running kernel, and the contents of our files; None for a missing file."""

    loaded: Loaded | None
    is_builtin: bool
    at_boot: str | None
    settings: str | None

    @property
    def is_there(self) -> bool:
        """Whether the kernel has it."""
        return self.is_builtin or self.loaded is not None


class KernelModule(Resource[ModuleState], kind="kernel_module"):
    """Manage one module of the kernel: whether it is loaded now and at boot, and its parameters."""

    example = "pcspkr absent --blacklist"

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_-]*$")]
    ensure: Literal["present", "absent"] = "present"
    options: dict[Parameter, Value] = Field(default_factory=dict)
    """Parameters that it gets whenever it is loaded: `{nested: 1}`. A loaded module keeps its own until it is loaded again."""
    persist: Flag = True
    """Whether it is loaded at boot, too, by a file in `/etc/modules-load.d`."""
    blacklist: Flag = False
    """With `absent`: whether nothing may load it, neither at boot nor by hand nor for a device."""

    _noted: list[str] = PrivateAttr(default_factory=list)
    """The parameters of the last note."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        if self.ensure == "absent" and self.options:
            words = "options are only valid with 'ensure: present'"
            yield PropertyProblem(("options",), words, "remove them")
        if self.ensure == "present" and self.blacklist:
            words = "a module can't be both loaded and forbidden"
            yield PropertyProblem(("blacklist",), words, "remove blacklist, or write ensure: absent")

    def watches(self) -> Iterable[Watch]:
        """Our files, and the list of loaded modules, which announces no change and so is polled."""
        yield PathWatch(self._boot_file)
        yield PathWatch(self._settings_file)
        yield PathWatch(LOADED)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: Its files, and `/sys/module/NAME`.

        Depends on: The directories of its files.
        """
        wanted = {self._boot_file: self._boot_text, self._settings_file: self._settings_text}
        directories = ("/etc/modules-load.d", "/etc/modprobe.d")
        removed = tuple(path for path, text in wanted.items() if text is None)
        provided = [path for path, text in wanted.items() if text is not None]
        if self.ensure == "present":
            provided.append(f"/sys/module/{self._module}")
        return Relations(provides=provided, removes=removed, depends_on=directories)

    def claims(self) -> Iterable[Claim]:
        """The module, in either spelling, and its files, without their content: what differs there is said of the module."""
        desired = {
            "ensure": self.ensure,
            "options": tuple(sorted(self.options.items())),
            "persist": self.persist,
            "blacklist": self.blacklist,
        }
        yield Claim("kernel module", self._module, desired)
        for path, text in ((self._boot_file, self._boot_text), (self._settings_file, self._settings_text)):
            if text is not None:
                yield Claim.of_file(path, f"kernel module {self._module}")

    async def observe(self) -> ModuleState:
        """The module, and our files. Raises ResourceError."""
        found = loaded(self._module)
        builtin = found is None and is_builtin(self._module)
        self._note_fixed(builtin=builtin)
        return ModuleState(found, builtin, textfile.read(self._boot_file), textfile.read(self._settings_file))

    def _note_fixed(self, *, builtin: bool) -> None:
        """Emit a note, once, about parameters that no file changes, because the module is a part of the kernel."""
        wrong = [
            f"{self._module}.{key}={value}"
            for key, value in self.options.items()
            if builtin and not has_parameter(self._module, key, str(value))
        ]
        if wrong and wrong != self._noted:
            emit_note(
                f"it is built into the kernel, which takes this only on its command line: {' '.join(wrong)}"
            )
        self._noted = wrong

    def plan(self, state: ModuleState, *, refresh: bool) -> Plan:  # noqa: ARG002 - there is nothing to refresh
        """Write its settings, load or remove it, and write that it is loaded at boot.

        In this order, a module that the kernel refuses is not loaded at boot. Raises ResourceError for a module that
        is a part of the kernel and must go.
        """
        plan = []
        if state.settings != self._settings_text:
            plan.append(textfile.replace_step(self._settings_file, self._settings_text))
        if self.ensure == "present" and not state.is_there:
            plan.append(Action.saying("loaded it", self._load))
        if self.ensure == "absent" and state.is_builtin:
            words = f"{self.name} is built into the kernel, and can't be removed"
            raise ResourceError(words, "remove it from the manifest, or use another kernel")
        if self.ensure == "absent" and state.loaded is not None:
            run_it = self._unload
            plan.append(Action.saying("removed it from the kernel", run_it))
        if state.at_boot != self._boot_text:
            plan.append(textfile.replace_step(self._boot_file, self._boot_text))
        return tuple(plan)

    async def preflight(self, state: ModuleState) -> None:
        """Check that modules can be loaded here, that there is such a module, and that nothing uses one that goes."""
        for path, text, found in (
            (self._boot_file, self._boot_text, state.at_boot),
            (self._settings_file, self._settings_text, state.settings),
        ):
            if text is not None:
                with ErrorContext(f"write {path}"), Parent(path):
                    pass
            if text != found:
                textfile.refuse_unwritable(path)
        is_wanted = self.ensure == "present"
        if is_wanted is state.is_there:
            return
        _refuse_obstacle()
        if is_wanted:
            await self._refuse_unknown()
        elif state.loaded is not None and state.loaded.users:
            users = ", ".join(state.loaded.modules) or f"{state.loaded.users} users"
            raise ResourceError(
                f"{self.name} is in use by {users}", "stop what uses it, or remove that first"
            )

    async def describe(self) -> Mapping[str, Any]:
        """Whether the kernel has it, and whether it is loaded at boot."""
        state = await self.observe()
        ensure = "present" if state.is_there else "absent"
        return {"ensure": ensure, "persist": state.at_boot is not None, "builtin": state.is_builtin}

    async def _load(self) -> None:
        _refuse_obstacle()
        await perform("modprobe", "--", self.name)

    async def _unload(self) -> None:
        _refuse_obstacle()
        await perform("modprobe", "--remove", "--", self.name)

    async def _refuse_unknown(self) -> None:
        """Raise ResourceError when modprobe finds no such module."""
        done = await run(Command(("modprobe", "--dry-run", "--", self.name), "/", ENVIRONMENT))
        if done.exit_code != 0:
            words = (done.stderr or done.stdout).strip().removeprefix("modprobe: ")
            hint = "correct the name, or require the package that brings the module"
            raise ResourceError(
                f"cannot load {self.name}: {words}", hint, missing=f"/lib/modules/{self.name}"
            )

    @property
    def _module(self) -> str:
        return normalized(self.name)

    @property
    def _boot_file(self) -> str:
        return f"/etc/modules-load.d/reactor-{self._module}.conf"

    @property
    def _settings_file(self) -> str:
        return f"/etc/modprobe.d/reactor-{self._module}.conf"

    @property
    def _boot_text(self) -> str | None:
        return f"{HEADER}{self.name}\n" if self.ensure == "present" and self.persist else None

    @property
    def _settings_text(self) -> str | None:
        if self.blacklist:
            return f"{HEADER}blacklist {self._module}\ninstall {self._module} {_FORBIDDEN}\n"
        if not self.options:
            return None
        values = " ".join(f"{key}={value}" for key, value in self.options.items())
        return f"{HEADER}options {self._module} {values}\n"


def _refuse_obstacle() -> None:
    if (found := obstacle()) is not None:
        raise ResourceError(*found)
