"""The kind `keyboard`: its properties, state and plan."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator

from reactor import Claim, PathWatch, Plan, PropertyProblem, Relations, Resource, Watch
from reactor.resources import textfile
from reactor.resources.assignments import values, with_values
from reactor.resources.default_name import name_problems

DEFAULT = "/etc/default/keyboard"
VCONSOLE = "/etc/vconsole.conf"
_DEBIAN = "/etc/debian_version"
_WORD = re.compile(r"[A-Za-z0-9_.():+-]+(,[A-Za-z0-9_.():+-]*)*")


def _check_word(text: str) -> str:
    if not _WORD.fullmatch(text):
        raise ValueError(
            f"{text!r} is not a name of xkeyboard-config(7): write it as in de, us or nodeadkeys"
        )
    return text


Word = Annotated[str, AfterValidator(_check_word)]


class KeyboardState(NamedTuple):
    """The variables that differ, by the path of the file. A file that this host does not need is left out."""

    wrong: Mapping[str, Mapping[str, str]]


class Keyboard(Resource[KeyboardState], kind="keyboard"):
    """Manage the layout of the keyboard, in the files that the console and graphical sessions read."""

    example = "de --variant nodeadkeys"
    provides_only_its_own = True

    ensure: Literal["present"] = "present"
    """Has no effect; accepted because every resource has it."""
    layout: Word | None = None
    """The layout, or several with commas; by default the name of the resource."""
    variant: Word | None = None
    """The variant of the layout; without it, the layout has none."""
    model: Word | None = None
    """The model of the keyboard, such as pc105; without it, the model is left alone."""
    options: tuple[Word, ...] = ()
    """Options such as ctrl:nocaps."""
    keymap: Word | None = None
    """The keymap of the console where `/etc/vconsole.conf` says it, such as de-nodeadkeys; by default the layout."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """An invalid resource name, if it is used as the layout."""
        yield from super().property_problems()
        yield from name_problems(self, "layout", _check_word)

    def watches(self) -> Iterable[Watch]:
        """The files."""
        yield PathWatch(DEFAULT)
        yield PathWatch(VCONSOLE)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Depends on: The files, which other resources may manage.
        """
        return Relations(depends_on=(DEFAULT, VCONSOLE))

    def sandbox_access(self) -> Iterable[str]:
        """The files."""
        return (DEFAULT, VCONSOLE)

    def claims(self) -> Iterable[Claim]:
        """The keyboard: a host has only one."""
        declared = {"layout": self._layout, "variant": self.variant, "model": self.model}
        yield Claim("system", "keyboard", declared | {"options": self.options, "keymap": self.keymap})

    async def observe(self) -> KeyboardState:
        """The variables that differ. Raises ResourceError when a file can't be read."""
        wrong = {}
        for path, wanted, is_needed in self._files():
            text = textfile.read(path)
            if text is None and not is_needed:
                continue
            found = values(text or "")
            if differing := {name: value for name, value in wanted.items() if found.get(name, "") != value}:
                wrong[path] = differing
        return KeyboardState(wrong)

    def plan(self, state: KeyboardState, *, refresh: bool) -> Plan:  # noqa: ARG002  nothing to refresh
        """One step for each file that differs."""
        steps = []
        for path, wanted in state.wrong.items():
            settings = ", ".join(f"{name} to {value or 'nothing'}" for name, value in wanted.items())
            change = partial(with_values, wanted=wanted)
            steps.append(textfile.edit_step(f"set {settings} in {path}", path, change))
        return tuple(steps)

    async def preflight(self, state: KeyboardState) -> None:
        """Check that the files can be written."""
        for path in state.wrong:
            textfile.refuse_unwritable(path)

    def _files(self) -> Iterator[tuple[str, Mapping[str, str], bool]]:
        """Each file, what it must hold, and whether it must be there."""
        is_debian = os.path.exists(_DEBIAN)
        yield DEFAULT, self._of_x, is_debian
        # On Debian 13, the one is a link to the other.
        if os.path.realpath(VCONSOLE) != os.path.realpath(DEFAULT):
            yield VCONSOLE, {"KEYMAP": self.keymap or self._layout.partition(",")[0]}, not is_debian

    @property
    def _layout(self) -> str:
        return self.layout or self.name

    @property
    def _of_x(self) -> Mapping[str, str]:
        """The desired settings in /etc/default/keyboard. A variant or options of another layout must not stay."""
        wanted = {
            "XKBLAYOUT": self._layout,
            "XKBVARIANT": self.variant or "",
            "XKBOPTIONS": ",".join(self.options),
        }
        return wanted if self.model is None else {"XKBMODEL": self.model, **wanted}
