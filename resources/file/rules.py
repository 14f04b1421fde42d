"""The rules for combinations of the properties of a file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from reactor import PropertyProblem
from reactor.resources.download.source import is_url, unprotected
from reactor.resources.file.validator import PLACEHOLDER, command_problem, validator_problem

if TYPE_CHECKING:
    from reactor.resources.file.kind import File

_CONTENTS = ("content", "source", "template")

_WITHOUT_RULES = frozenset(
    ("name", "ensure", "owner", "group", "mode", "content", "force", "alias", "require", "subscribe", "after", "meta")
)  # fmt: skip
"""Properties that every file with ``ensure: present`` may have. With any other, all rules are asked: one that is missing here
costs time, not its rule."""


_END_OF_STATEMENT = r"\{%[-+]?\s*end(if|for)\s*[-+]?%\}"
_TEMPLATE_NAMES = (".j2", ".jinja", ".jinja2")
"""Ends of the names of files that are templates for another program."""
_OF_RUBY = (".erb", ".epp")


def problems_of(file: File) -> Iterable[PropertyProblem]:
    """The combinations of properties of ``file`` that are not allowed."""
    if (
        file.ensure == "present"
        and not (file.force and "force" in file.model_fields_set)
        and _WITHOUT_RULES.issuperset(file.model_fields_set)
        and None not in (file.owner, file.group, file.mode)
    ):
        return ()  # the usual case
    return _problems_of(file)


def warnings_of(file: File) -> Iterable[PropertyProblem]:
    """What is allowed, and probably not meant."""
    content = file.content or ""
    if file.ensure != "present" or (file.source is None and file.template is None and "%" not in content):
        return ()  # the usual case
    return _warnings_of(file, content)


def _warnings_of(file: File, content: str) -> Iterator[PropertyProblem]:
    if file.source is not None:
        yield from unprotected(file.source, file.checksum)
    if file.source is not None and _is_left_as_template(file.source, file.name, _TEMPLATE_NAMES):
        words = "the source is named like a template, and is copied as it is"
        yield PropertyProblem(("source",), words, "name it in 'template' instead, to have it rendered")
    if file.template is not None and _is_left_as_template(file.template, file.name, _OF_RUBY):
        words = f"the template is named like one of Puppet, and is rendered as {file.engine}"
        yield PropertyProblem(("template",), words, "write <%= @port %> as {{ Data.port }}, and rename it")
    if "{%" in content and not file.name.endswith(_TEMPLATE_NAMES) and re.search(_END_OF_STATEMENT, content):
        words = "the content has statements of Jinja, and is written as it is: only {{ }} is evaluated here"
        hint = "put it into a file beside the manifest, and name that in 'template'"
        yield PropertyProblem(("content",), words, hint)


def _is_left_as_template(source: str, name: str, suffixes: tuple[str, ...]) -> bool:
    """Whether ``source`` has one of the ``suffixes`` of templates, and the file ``name`` that it becomes has not."""
    return source.endswith(suffixes) and not name.endswith(suffixes)


def _problems_of(file: File) -> Iterator[PropertyProblem]:
    given = [name for name in _CONTENTS if getattr(file, name) is not None]
    for first, second in pairwise(given):
        words = f"'{first}' and '{second}' are mutually exclusive"
        yield PropertyProblem((second,), words, "remove one of them")
    if file.source == file.name and file.ensure == "present":
        hint = "name another file, or remove source: the content is then not managed"
        yield PropertyProblem(("source",), "the source is the file itself", hint)
    yield from _of_commands(file)
    if file.checksum is not None and (file.source is None or not is_url(file.source)):
        words = "checksum is only valid with a source over http or https"
        yield PropertyProblem(("checksum",), words, "remove checksum, or name a URL as source")
    if file.template is None:
        for name in ("engine", "data"):
            if name in file.model_fields_set:
                yield PropertyProblem((name,), f"{name} is only valid with template", f"remove {name}")
    elif file.template == file.name:
        yield PropertyProblem(("template",), "the template is the file itself", "name another file")
    yield from _of_type(file)
    yield from _of_extended(file)
    yield from _of_recursion(file)
    yield from _of_force(file)


def _of_type(file: File) -> Iterable[PropertyProblem]:
    """Properties without a meaning for this ``ensure``."""
    if file.ensure != "directory" and file.sticky is not None:
        words = "sticky is only valid with 'ensure: directory'"
        yield PropertyProblem(("sticky",), words, "remove sticky: it means nothing to a file")
    if file.ensure == "directory":
        for name in _CONTENTS:
            if getattr(file, name) is not None:
                tree = "; a scaffold makes a directory of files from another one" if name == "source" else ""
                hint = f"remove {name}, or write ensure: present for a file{tree}"
                yield PropertyProblem((name,), f"a directory has no {name}", hint)
    if file.ensure == "link":
        yield from _of_link(file)
    elif file.target is not None:
        words = f"target is only valid with 'ensure: link', got 'ensure: {file.ensure}'"
        yield PropertyProblem(("target",), words, "write ensure: link, or remove target")
    if file.ensure not in ("absent", "link") and None in (file.owner, file.group, file.mode):
        yield from _missing(file)


def _of_link(file: File) -> Iterable[PropertyProblem]:
    if file.target is None:
        yield PropertyProblem((), "target is missing", "say where the link points: target: /path")
    elif file.target in (file.name, "."):
        yield PropertyProblem(("target",), "the target is the link itself", "name another path")
    elif os.path.join(os.path.dirname(file.name), file.target).startswith(f"{file.name}/"):
        words = "the target is below the link itself, so the link leads in a circle"
        yield PropertyProblem(("target",), words, "name another path")
    for name in _CONTENTS:
        if getattr(file, name) is not None:
            hint = f"remove {name}, or write ensure: present for a file"
            yield PropertyProblem((name,), f"a link has no {name}", hint)
    if file.setgid is not None:  # mode has no effect either, but is common in the defaults of a list
        hint = "remove setgid: the permissions of what the link leads to count"
        yield PropertyProblem(("setgid",), "a link has no setgid", hint)


def _of_recursion(file: File) -> Iterable[PropertyProblem]:
    if not file.recurse:
        if file.file_mode is not None:
            hint = "add recurse: true, or remove file_mode"
            yield PropertyProblem(("file_mode",), "file_mode is only valid with recurse", hint)
        return
    if file.ensure != "directory":
        words = f"recurse is only valid with 'ensure: directory', got 'ensure: {file.ensure}'"
        hint = "write force: true to remove a directory with everything in it"
        yield PropertyProblem(("recurse",), words, hint if file.ensure == "absent" else "remove recurse")
    elif file.name == "/":
        yield PropertyProblem(
            ("recurse",), "recurse cannot be used with the filesystem root", "name a directory"
        )
    if file.meta.reverse:
        words = "the owners and modes in a directory are not recorded, so a change can't be undone"
        yield PropertyProblem(("meta", "reverse"), words, "remove reverse, or recurse")


def _of_extended(file: File) -> Iterable[PropertyProblem]:
    """The rules of ACLs, extended attributes and capabilities."""
    if file.ensure in ("absent", "link"):
        for name in ("acl", "xattrs", "capabilities"):
            if getattr(file, name) is not None:
                what = "a link" if file.ensure == "link" else "an absent file"
                yield PropertyProblem((name,), f"{what} has no {name}", f"remove {name}")
        return
    if file.ensure == "directory" and file.capabilities is not None:
        yield PropertyProblem(("capabilities",), "a directory has no capabilities", "remove capabilities")
    for index, text in enumerate(file.acl or ()):
        if file.ensure == "present" and text.startswith("d"):
            words = "only a directory has default entries, for the files that are created in it"
            yield PropertyProblem(("acl", index), words, "remove d:, or write ensure: directory")
    names = [name for name in ("acl", "xattrs", "capabilities") if getattr(file, name) is not None]
    if names and file.meta.reverse:
        words = f"what {names[0]} was before is not recorded, so a change can't be undone"
        yield PropertyProblem(("meta", "reverse"), words, "remove reverse")


def _of_commands(file: File) -> Iterable[PropertyProblem]:
    for key, text in (("validate", file.validate_with), ("verify", file.verify_with)):
        if text is None:
            continue
        if file.ensure != "present" or all(getattr(file, name) is None for name in _CONTENTS):
            words = f"there is nothing to {key}: only new content is"
            yield PropertyProblem((key,), words, f"add content or source, or remove {key}")
        if fault := validator_problem(text) if key == "validate" else command_problem(text):
            example = f"visudo -cf {PLACEHOLDER}" if key == "validate" else "nginx -t"
            yield PropertyProblem((key,), fault, f"write one command, its quotes in pairs: {example}")


def _missing(file: File) -> Iterable[PropertyProblem]:
    examples = {"owner": "owner: root", "group": "group: root", "mode": 'mode: "0644"'}
    missing = [name for name in examples if getattr(file, name) is None]
    *others, last = missing
    names = f"{', '.join(others)} and {last} are" if others else f"{last} is"
    hint = f"add {', '.join(examples[name] for name in missing)}; or give it to all files by 'defaults'"
    yield PropertyProblem((), f"{names} required, unless ensure is absent", hint)


def _of_force(file: File) -> Iterable[PropertyProblem]:
    if not file.force:
        return
    if file.ensure not in ("absent", "link"):
        words = f"'force: true' is only valid with 'ensure: absent', got 'ensure: {file.ensure}'"
        yield PropertyProblem(("force",), words, "remove force; a link may have it, too")
    elif file.name == "/":
        words = "'force: true' cannot be used with the filesystem root"
        yield PropertyProblem(("force",), words, "name the file or directory to remove")
    if file.meta.reverse:
        words = (
            "the content of a directory is not backed up, so its removal with 'force: true' can't be undone"
        )
        yield PropertyProblem(("meta", "reverse"), words, "remove reverse, or force")
