"""The kind `locale`: its properties, state and plan."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Annotated, Literal, NamedTuple

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
    Watch,
)
from reactor.resources import textfile
from reactor.resources.assignments import values, with_values
from reactor.resources.locale import generated, running_systemd
from reactor.resources.locale.installed import (
    ARCHIVE,
    BUILT_IN,
    DIRECTORY,
    directory_of,
    is_installed,
    normalized,
)

SYSTEMD = "/etc/locale.conf"
DEBIAN = "/etc/default/locale"
_IS_DEBIAN = "/etc/debian_version"
_VARIABLE = re.compile(r"LANGUAGE|LC_[A-Z]+")
_VALUE = re.compile(r"[A-Za-z0-9_.@:-]+")


def _check_variables(variables: Mapping[str, str]) -> Mapping[str, str]:
    for name, value in variables.items():
        if not _VARIABLE.fullmatch(name) or name == "LC_ALL":
            raise ValueError(
                f"{name!r} is not a variable of locale.conf(5): write LC_TIME, LC_MESSAGES or LANGUAGE"
            )
        if not _VALUE.fullmatch(value):
            raise ValueError(f"{value!r} is not the name of a locale: write it as in de_AT.UTF-8")
    return variables


class LocaleState(NamedTuple):
    """Whether programs can use the locale, whether the list has it (None without a list), and whether it can be made.

    ``directory`` is its directory if it is not in the archive. ``wrong`` are the variables of the default that differ.
    """

    installed: bool
    listed: bool | None
    has_source: bool = True
    directory: str | None = None
    wrong: Mapping[str, str] = {}


class Locale(Resource[LocaleState], kind="locale"):
    """Manage one locale: that programs can use it, and whether they use it by default."""

    example = "de_AT.UTF-8 --default"

    ensure: Literal["present", "absent"] = "present"
    default: Flag = False
    """Whether it is the locale of the system, `LANG`."""
    variables: Annotated[dict[str, str], AfterValidator(_check_variables)] | None = None
    """Other variables of the system beside `LANG`: `{LC_TIME: en_DK.UTF-8}`. Other variables in the file stay."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """An invalid name, and properties that have no effect."""
        yield from super().property_problems()
        try:
            if self.name not in BUILT_IN:
                generated.parse(self.name)
        except ValueError as error:
            yield PropertyProblem(("name",), str(error), "see locale -a, and /usr/share/i18n/SUPPORTED")
        if self.variables is not None and not self.default:
            yield PropertyProblem(
                ("variables",), "variables belong to the default locale", "add default: true"
            )
        if self.ensure == "absent" and self.default:
            yield PropertyProblem(("default",), "an absent locale can't be the default", "remove default")
        if self.ensure == "absent" and self._is_built_in:
            yield PropertyProblem(
                ("ensure",), f"{self.name} is a part of every system", "remove this resource"
            )

    def watches(self) -> Iterable[Watch]:
        """The archive of locales, the directory of the locale, the list, and the file of the default."""
        yield PathWatch(ARCHIVE)
        yield PathWatch(f"{DIRECTORY}/{normalized(self.name)}")
        yield PathWatch(generated.LIST)
        if self.default:
            yield PathWatch(SYSTEMD)
            yield PathWatch(DEBIAN)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Depends on: The source of the locale, and the files, which other resources may manage.
        """
        if self._is_built_in:
            return Relations(depends_on=(SYSTEMD, DEBIAN))
        return Relations(depends_on=(generated.source_of(self.name), generated.LIST, SYSTEMD, DEBIAN))

    def sandbox_access(self) -> Iterable[str]:
        """The archive and the files."""
        return (ARCHIVE, generated.LIST, SYSTEMD, DEBIAN)

    def claims(self) -> Iterable[Claim]:
        """The locale, and the default: a host has only one."""
        if not self._is_built_in:
            yield Claim("locale", normalized(self.name), {"ensure": self.ensure})
        if self.default:
            yield Claim("system", "default locale", {"name": self.name, "variables": self.variables})

    async def observe(self) -> LocaleState:
        """Whether the locale is there, and the default. Raises ResourceError when a file can't be read."""
        wrong: Mapping[str, str] = {}
        if self.default:
            found = values(textfile.read(_default_file()) or "")
            wrong = {name: value for name, value in self._wanted.items() if found.get(name) != value}
        if self._is_built_in:
            return LocaleState(installed=True, listed=None, wrong=wrong)
        text = textfile.read(generated.LIST)
        listed = None if text is None else generated.is_listed(text, self.name)
        has_source, directory = generated.has_source(self.name), directory_of(self.name)
        return LocaleState(is_installed(self.name), listed, has_source, directory, wrong)

    def plan(self, state: LocaleState, *, refresh: bool) -> Plan:  # noqa: ARG002  nothing to refresh
        """Put it on the list, make it, then set the default. Raises ResourceError when it can't be made."""
        steps = []
        present = self.ensure == "present"
        if present and not state.installed and not state.has_source:
            source = generated.source_of(self.name)
            hint = "correct the name, or install the package locales (Debian) or glibc-langpack-... (Fedora)"
            raise ResourceError(f"there is no source of the locale {self.name}", hint, missing=source)
        if not present and state.directory is not None:
            hint = "remove the package that brings it"
            raise ResourceError(
                f"the locale {self.name} is not in the archive, but in {state.directory}", hint
            )
        if state.listed is not None and state.listed is not present:
            words = f"{'added' if present else 'removed'} {self.name} {'to' if present else 'from'} {generated.LIST}"
            change = partial(generated.with_entry, name=self.name, listed=present)
            steps.append(textfile.edit_step(words, generated.LIST, change))
        if state.installed is not present:
            words = f"{'made' if present else 'removed'} the locale {self.name}"
            run = partial(generated.make if present else generated.remove, self.name)
            steps.append(Action.saying(words, run, reads_back=True))
        if state.wrong:
            settings = ", ".join(f"{name} to {value}" for name, value in state.wrong.items())
            path = _default_file()
            change = partial(with_values, wanted=state.wrong)
            steps.append(
                textfile.edit_step(
                    f"set {settings} in {path}", path, change, partial(self._set_default, path, change)
                )
            )
        return tuple(steps)

    async def preflight(self, state: LocaleState) -> None:
        """Check that the files can be written, and that localedef is there."""
        present = self.ensure == "present"
        if state.listed is not None and state.listed is not present:
            textfile.refuse_unwritable(generated.LIST)
        if state.wrong:
            textfile.refuse_unwritable(_default_file())
        if state.installed is not present:
            textfile.refuse_unwritable(ARCHIVE)
            await generated.require_program()

    async def _set_default(self, path: str, change: textfile.Change) -> None:
        await textfile.edit(path, change)
        await running_systemd.tell(self._wanted)

    @property
    def _is_built_in(self) -> bool:
        return self.name in BUILT_IN

    @property
    def _wanted(self) -> Mapping[str, str]:
        return {"LANG": self.name, **(self.variables or {})}


def _default_file() -> str:
    """The file with the default: that of systemd, unless this is a Debian that does not have it."""
    is_of_debian = not os.path.exists(SYSTEMD) and os.path.exists(_IS_DEBIAN)
    return DEBIAN if is_of_debian else SYSTEMD
