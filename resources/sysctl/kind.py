"""The kind `sysctl`: its properties, state and plan, and the names of kernel parameters."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import AfterValidator

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
    SandboxAccess,
    Watch,
    in_thread,
    readable_text,
)
from reactor.hostfs import ErrorContext, NormalForms, Parent, resource_error
from reactor.resources import textfile
from reactor.resources.managed_header import HEADER

_SEPARATOR = re.compile(r"[./]")
_COMPONENT = re.compile(r"[A-Za-z0-9_.:@+-]+")
_SWAPPED = str.maketrans("./", "/.")
_SWITCHES = {"true": "1", "false": "0"}
"""The values of the kernel for the booleans of YAML."""
_VALUE = "value"
_NUMBER = re.compile(r"-?[0-9]+")


class Key(NamedTuple):
    """One parameter, as the components of its path below /proc/sys."""

    components: tuple[str, ...]

    @property
    def dotted(self) -> str:
        """The usual name: dots between the components, and a slash for a dot within a component."""
        return "/".join(self.components).translate(_SWAPPED)

    @property
    def path(self) -> str:
        """The path of the parameter below /proc/sys."""
        return "/proc/sys/" + "/".join(self.components)

    @property
    def file(self) -> str:
        """Our own file that sets the parameter at boot.

        The last file wins: ours sorts after 99-sysctl.conf, which is /etc/sysctl.conf. A colon stands for the dot in
        the name of a network interface, which contains no colon itself.
        """
        return f"/etc/sysctl.d/zz-reactor-{self.dotted.replace('/', ':')}.conf"


def parse_key(name: str) -> Key:
    """Parse ``net.ipv4.conf.eth0/100.forwarding`` or ``net/ipv4/conf/eth0.100/forwarding``.

    The first separator determines the form. Raises ValueError for an invalid name.
    """
    separator = _SEPARATOR.search(name)
    slashed = name.translate(_SWAPPED) if separator is not None and separator[0] == "." else name
    components = tuple(slashed.split("/"))
    if len(components) == 1 or not all(
        _COMPONENT.fullmatch(component) and component.strip(".") for component in components
    ):
        raise ValueError(f"{name!r} is not a kernel parameter: write it as net.ipv4.ip_forward")
    return Key(components)


def _check_value(value: str) -> str:
    if not value.replace("\t", " ").isprintable():
        raise ValueError("a value is one line of text; write several numbers with spaces between them")
    return _SWITCHES.get(value.strip().lower()) or " ".join(value.split())


class SysctlState(NamedTuple):
    """The value in the running kernel, and the content of our file; None if there is none.

    ``running`` is the desired value if the kernel only spells it differently.
    """

    running: str | None
    persisted: str | None = None


class Sysctl(Resource[SysctlState], kind="sysctl"):
    """Manage one parameter of the kernel: its value now, and after the next boot."""

    example = "net.ipv4.ip_forward --value 1"

    name: Annotated[str, readable_text(parse_key)]
    ensure: Literal["present", "absent"] = "present"
    value: Annotated[str, AfterValidator(_check_value)] | None = None
    """The value; several values are separated by spaces. ``true`` means 1, ``false`` means 0."""
    persist: Flag = True
    """Whether the value is set at boot, too, by a file in `/etc/sysctl.d`."""

    @classmethod
    def shell_defaults(cls, name: str, ensure: str) -> Mapping[str, str]:
        """The present value of the parameter."""
        try:
            value = None if ensure == "absent" else _read(parse_key(name))
        except (ValueError, ResourceError):  # the check gives a better message
            value = None
        return {} if value is None else {"value": value}

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        if self.ensure == "present" and self.value is None:
            yield PropertyProblem((), "value is required, unless ensure is absent", 'add it: value: "1"')
        if self.ensure == "absent" and self.value is not None:
            message = "value is only valid with 'ensure: present': with absent, the kernel keeps its value until the next boot"
            yield PropertyProblem(("value",), message, "remove value, or ensure: absent")

    def watches(self) -> Iterable[Watch]:
        """Our file, and the parameter.

        inotify reports writes to /proc/sys, but not changes by the kernel itself, as when one parameter sets another.
        So the path watcher also polls such files every few seconds.
        """
        yield PathWatch(self._key.file)
        if self.ensure == "present":
            yield PathWatch(self._key.path)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: Our file.

        Depends on: The directory of our file, and the network link of the parameter, if it has one.
        """
        file, dependencies = (self._key.file,), tuple(self._dependencies())
        if self._text is None:
            return Relations(removes=file, depends_on=dependencies)
        return Relations(provides=file, depends_on=dependencies)

    def _dependencies(self) -> Iterator[str]:
        yield os.path.dirname(self._key.file)
        match self._key.components:
            case ("net", "ipv4" | "ipv6" | "mpls", "conf" | "neigh", link, *_) if self.ensure == "present":
                yield f"/sys/class/net/{link}"

    def sandbox_access(self) -> Iterable[SandboxAccess | str]:
        """Our file, the kernel parameters, and the network for its own parameters."""
        return (SandboxAccess.TUNABLE, SandboxAccess.NETWORK, self._key.file)

    def claims(self) -> Iterable[Claim]:
        """The parameter, in either form of its name, and its file, without the content: that is the value."""
        desired = {"ensure": self.ensure, "value": self.value, "persist": self.persist}
        yield Claim("kernel parameter", self._key.dotted, desired)
        if self._text is not None:
            yield Claim.of_file(self._key.file, f"kernel parameter {self._key.dotted}")

    async def observe(self) -> SysctlState:
        """The value in the running kernel, and our file. Raises ResourceError when one can't be read."""
        running = _read(self._key) if self.ensure == "present" else None
        if running is not None and self.value is not None and self._forms.agrees(_VALUE, self.value, running):
            running = self.value
        return SysctlState(running, textfile.read(self._key.file))

    def plan(self, state: SysctlState, *, refresh: bool) -> Plan:  # noqa: ARG002  a value has nothing to refresh
        """Set the value, then persist it: a value that the kernel refuses must not be set again at boot.

        Raises ResourceError when the kernel has no such parameter.
        """
        plan = []
        if self.value is not None:
            if state.running is None:
                hint = "load its kernel module, require the resource that loads it, or correct the name"
                raise ResourceError(f"the kernel has no parameter {self._key.dotted}", hint)
            if state.running != self.value:
                words = f"set it to {self.value}, from {state.running}"
                run = partial(self._set, self.value, state.running)
                plan.append(Action.saying(words, run, reads_back=True))
        if state.persisted != self._text:
            plan.append(textfile.replace_step(self._key.file, self._text))
        return tuple(plan)

    async def preflight(self, state: SysctlState) -> None:
        """Check that the parameter is writable. Opening it for writing would look like a change to the watcher."""
        if self._text is not None:
            with ErrorContext(f"write {self._key.file}"), Parent(self._key.file):
                pass
        if state.persisted != self._text:
            textfile.refuse_unwritable(self._key.file)
        if self.value is None or state.running == self.value:
            return
        if not os.access(self._key.path, os.W_OK):
            raise _read_only(self._key)
        _refuse_too_few(self._key, self.value, state.running or "")

    async def reversal(self, state: SysctlState) -> Self:
        """The value as it was, persisted if our file existed."""
        if state.running is not None:
            return type(self)(name=self.name, value=state.running, persist=state.persisted is not None)
        if state.persisted is None:
            return type(self)(name=self.name, ensure="absent")
        if value := state.persisted.rpartition("=")[2].strip():
            return type(self)(name=self.name, value=value)
        words = f"reverse could not restore the content of {self._key.file}"
        raise ResourceError(words, "change it by hand, or remove reverse")

    @cached_property
    def _forms(self) -> NormalForms:
        return NormalForms(self.kind, self.name)

    @property
    def _key(self) -> Key:
        return parse_key(self.name)

    @property
    def _text(self) -> str | None:
        """The desired content of our file; None for no file. Components with dots need the form with slashes."""
        if self.value is None or not self.persist:
            return None
        key = self._key
        name = "/".join(key.components) if "/" in key.dotted else key.dotted
        return f"{HEADER}{name} = {self.value}\n"

    async def _set(self, value: str, before: str) -> bool:
        """Write the value. If it reads back differently, write it again, in case another program wrote in between.

        Returns whether the kernel has the value: it may accept a write and keep another value.
        """
        _refuse_too_few(self._key, value, before)
        await in_thread(_write, self._key, value)
        found = _read(self._key)
        if found is not None and not self._forms.agrees(_VALUE, value, found):
            await in_thread(_write, self._key, value)
            if _read(self._key) == found:
                self._forms.learn(_VALUE, value, before, found)
        return found is not None and self._forms.agrees(_VALUE, value, found)


def _read(key: Key) -> str | None:
    """The value, with single spaces instead of the tabs of the kernel."""
    with ErrorContext(f"read {key.path}"):
        try:
            with open(key.path, errors="surrogateescape") as file:
                return " ".join(file.read().split())
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except PermissionError as error:
            hint = (
                "run as root"
                if os.geteuid()
                else "it can only be written, so there is no value to compare: let an exec write it"
            )
            raise resource_error(error, f"read {key.path}", hint) from error


def _refuse_too_few(key: Key, value: str, running: str) -> None:
    """Raise ResourceError for fewer numbers than the kernel has: it keeps its own in the place of the others."""
    given, there = value.split(), running.split()
    if len(given) < len(there) and all(map(_NUMBER.fullmatch, (*given, *there))):
        words = f"{key.dotted} has {len(there)} numbers, and the value has {len(given)}"
        raise ResourceError(words, f"write all of them; now they are: {running}")


def _read_only(key: Key) -> ResourceError:
    hint = "the kernel forbids it, or the sandbox of a service: run 'reactor service install' again, or remove it"
    return ResourceError(f"cannot set {key.dotted}: it is read-only here", hint)


def _write(key: Key, value: str) -> None:
    """Write the value. Blocking: vm.nr_hugepages, for example, takes seconds."""
    with ErrorContext(f"set {key.dotted}"):
        try:
            fd = os.open(key.path, os.O_WRONLY | os.O_CLOEXEC)  # open() would create and truncate
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise
            raise _read_only(key) from error
        try:
            os.write(fd, f"{value}\n".encode())
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ERANGE, errno.ENOENT):
                raise
            hint = "see its documentation for valid values"
            if error.errno == errno.ENOENT:  # such as the name of a congestion control
                hint = f"correct it, or require the kernel_module that brings {value}"
            raise ResourceError(f"the kernel refuses {value!r} for {key.dotted}", hint) from error
        finally:
            os.close(fd)
