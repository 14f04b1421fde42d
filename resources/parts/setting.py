"""The kind `setting`: one key of a configuration file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, get_args

from reactor import PropertyProblem
from reactor.resources.parts.document import Document, Edit
from reactor.resources.parts.line import OneLine
from reactor.resources.parts.part import Part
from reactor.resources.parts.setting_formats import (
    TYPED,
    Format,
    format_of,
    is_for_shell,
    text_of,
    text_problem,
    typed_problem,
)
from reactor.resources.parts.values import MISSING, MOST_LEVELS, levels, plain


class Setting(Part, kind="setting"):
    """Manage one key of a configuration file. Comments, order and layout of the file stay as they are."""

    example = "vm.swappiness --path /etc/sysctl.d/90-local.conf --value 10 --create"

    key: OneLine | tuple[OneLine, ...] | None = None
    """The key; by default, the name. In JSON, TOML and YAML, dots lead into mappings, or a list has the levels."""
    value: Any = None
    """The value. In JSON, TOML and YAML it has a type. Elsewhere, a list gives the key one line for each element."""
    section: OneLine | None = None
    """INI and systemd: the section, without brackets. sshd: the block, as ``Match User git``."""
    format: Format | None = None
    """The format of the file; by default, the one that its path usually has."""

    @property
    def subject(self) -> str:
        """The property that identifies the part."""
        return "ensure" if self.ensure == "absent" else "value"

    @property
    def title(self) -> str:
        """The part, in words."""
        inside = f" in [{self.section}]" if self.section is not None else ""
        return f"the key {'.'.join(self._keys)}{inside}"

    @property
    def _format(self) -> Format | None:
        return self.format or format_of(self.path)

    @property
    def _keys(self) -> tuple[str, ...]:
        if isinstance(self.key, tuple):
            return self.key
        key = self.name if self.key is None else self.key
        return tuple(key.split(".")) if self._format in TYPED else (key,)

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        problems = [*self._own_problems()]
        yield from problems
        if not problems and (problem := self.unreadable()) is not None:
            yield problem

    def _own_problems(self) -> Iterable[PropertyProblem]:
        has_value = "value" in self.model_fields_set
        if self.ensure == "present" and not has_value:
            yield PropertyProblem((), "value is required, unless ensure is absent", "add it: value: ...")
        if self.ensure == "absent" and has_value:
            yield PropertyProblem(("value",), "value is only valid with 'ensure: present'", "remove value")
        if self._format is None:
            words = f"the format of {self.path} is not known"
            yield PropertyProblem((), words, f"add format: one of {', '.join(get_args(Format))}")
            return
        if not self._keys or any(not key or any(letter in key for letter in "\n\r\0") for key in self._keys):
            yield PropertyProblem(("key",), f"{'.'.join(self._keys)!r} is not a key", "set key")
            return
        yield from self._problems_of_section(self._format)
        if self._format not in TYPED and len(self._keys) > 1:
            words = f"a key of the format {self._format} has one level"
            yield PropertyProblem(("key",), words, "write one string")
        if has_value:
            yield from self._problems_of_value(self._format)

    def _problems_of_section(self, name: Format) -> Iterable[PropertyProblem]:
        if self.section is None:
            if name == "systemd":
                words = "section is required in a file of systemd"
                yield PropertyProblem((), words, "add it, for example section: Service")
            return
        if name in TYPED or name == "keyvalue":
            words = f"a file of the format {name} has no sections"
            yield PropertyProblem(("section",), words, "remove section; key may have several levels")
        word = self.section.partition(" ")[0].lower()
        if name == "sshd" and word not in ("match", "host"):
            words = f"{self.section!r} is not a block of ssh"
            yield PropertyProblem(
                ("section",), words, "write it as in the file: Match User git, or Host example.com"
            )
        if not self.section.strip() or "]" in self.section:
            words = f"{self.section!r} is not the name of a section"
            yield PropertyProblem(("section",), words, "write what stands between the brackets: Service")

    def _problems_of_value(self, name: Format) -> Iterable[PropertyProblem]:
        if name in TYPED:
            if levels(self.value) > MOST_LEVELS:
                yield PropertyProblem(("value",), f"it has more than {MOST_LEVELS} levels", "flatten it")
            elif (problem := typed_problem(self.value, name)) is not None:
                yield PropertyProblem(("value",), problem, "write a value that the format has")
            return
        values = self.value if isinstance(self.value, list) else [self.value]
        if not values:
            yield PropertyProblem(("value",), "the list is empty", "write ensure: absent to remove the key")
        for each in values:
            if each is None or isinstance(each, (dict, list)):
                words = f"a value of the format {name} is a string, a number or a list of them"
                yield PropertyProblem(("value",), words, "write one line of text")
            elif problem := text_problem(text_of(each, name), name, self.path):
                yield PropertyProblem(("value",), problem, "quote it as the format needs it, or correct it")

    def edit(self, document: Document) -> Edit | None:
        """The document with the key set or removed; None if nothing must change. Raises ResourceError."""
        after = self._edited(document)
        if after is None:
            return None
        return Edit(after, f"{'set' if self.ensure == 'present' else 'removed'} {'.'.join(self._keys)}")

    def _edited(self, document: Document) -> Document | None:
        name = self._format
        if name not in TYPED:
            from reactor.resources.parts.keyed_edit import edit_key  # noqa: PLC0415 - a run uses few formats

            syntax = "shell" if name == "keyvalue" and is_for_shell(self.path) else str(name)
            return edit_key(document, syntax, self.section, self._keys[0], self._texts)
        value = MISSING if self.ensure == "absent" else plain(self.value)
        if name == "json":
            from reactor.resources.parts.json_text import edit_json as change  # noqa: PLC0415 - as above
        elif name == "toml":
            from reactor.resources.parts.toml_text import edit_toml as change  # noqa: PLC0415 - as above
        else:
            from reactor.resources.parts.yaml_text import edit_yaml as change  # noqa: PLC0415 - as above
        return change(document, self._keys, value, self.path)

    @property
    def _texts(self) -> Sequence[str] | None:
        """The values as text; None if the key must be absent."""
        if self.ensure == "absent":
            return None
        values = self.value if isinstance(self.value, list) else [self.value]
        return [text_of(value, str(self._format)) for value in values]
