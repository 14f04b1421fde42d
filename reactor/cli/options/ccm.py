"""Names that options and arguments have in CCM, so that scripts for CCM keep working."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import click

from reactor.cli.messages import with_hint
from reactor.cli.options.files import read_option_file

HEADERS = ("archive", "headers")
"""The kind and the property whose pairs may also have a colon, as in CCM."""

OPTIONS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("exec", "environment"): ("-e",),
    ("exec", "onlyif"): ("--exec-if",),
    HEADERS: ("-H", "--header"),
    ("archive", "extract_parent"): ("--extract",),
}
"""(kind, property) -> further names of its option."""

SECOND_WORDS: Mapping[str, str] = {"archive": "url", "scaffold": "source"}
"""Kind -> the property that its second argument sets; ENSURE is then the third argument."""

SESSION_VARIABLE = "CCM_SESSION_STORE"
PASSWORD_VARIABLE = "HTTP_PASSWORD"  # noqa: S105 - the name of a variable

CONTENT_FILE = "content_file"


def content_file_option() -> click.Option:
    """The option ``--content-file``: the text of the file is the content."""
    return click.Option(
        ["--content-file"],
        metavar="FILE",
        help="Read the content from FILE, or from stdin if FILE is -. Unlike with --source, the file is read only once.",
    )


def read_content(given: Mapping[str, Any], content: str | None) -> str | None:
    """The content from ``--content`` or ``--content-file``. Raises UsageError for both, and for an unreadable file."""
    file = given.get(CONTENT_FILE)
    if file is None:
        return content
    if content is not None:
        raise with_hint(
            click.UsageError("--content and --content-file can't be used together"), "choose one of them"
        )
    return read_option_file("--content-file", file, "name it with --source")


def header_pair(text: str) -> str:
    """``NAME: VALUE`` as ``NAME=VALUE``: the name of a header field holds neither of the two characters."""
    name, colon, value = text.partition(":")
    return f"{name}={value.strip()}" if colon and "=" not in name else text


def split_owner(owner: str | None, group: str | None) -> tuple[str | None, str | None]:
    """``user:group`` as a pair. Raises UsageError if ``--group`` is given too."""
    if owner is None or ":" not in owner:
        return owner, group
    user, _, its_group = owner.partition(":")
    if not (user and its_group):
        raise with_hint(
            click.UsageError(f"--owner {owner} lacks a name"), "write it as USER, or as USER:GROUP"
        )
    if group is not None:
        raise with_hint(click.UsageError("--owner and --group both name a group"), "leave one of them out")
    return user, its_group


def password_from_environment(username: str | None) -> str | None:
    """The password for a server, if ``username`` is set. Only root and the user can read the environment of a process."""
    return os.environ.get(PASSWORD_VARIABLE) or None if username is not None else None
