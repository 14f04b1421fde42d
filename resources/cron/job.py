"""Makes the lines of a job, and finds them in the table of a user, where a comment with the name stands before each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reactor.resources.managed_header import HEADER
from reactor.resources.shared_lines import without

_MARK = "# reactor: "
_HEADER_LINES = 3
_BACKSLASHES = re.compile(r"\\{2,}|\\(?=%)")
_NO_JOB = re.compile(rb"#|['\"]?[A-Za-z_]\w*['\"]?\s*=")
"""A comment or a variable."""


class Job(NamedTuple):
    """A job. ``user`` is empty in the table of a user."""

    name: str
    schedule: str
    command: str
    user: str = ""

    @property
    def line(self) -> str:
        """The line."""
        return " ".join(filter(None, (self.schedule, self.user, for_cron(self.command))))

    @property
    def mark(self) -> str:
        """The comment before the line in the table of a user."""
        return f"{_MARK}{self.name}"


def for_cron(command: str) -> str:
    """The command as cron needs it, for which a plain % is the end, and a backslash before % or another one vanishes."""
    return _BACKSLASHES.sub(r"\g<0>\g<0>", command).replace("%", "\\%")


def file_of(job: Job, environment: Mapping[str, str]) -> str:
    """The content of a file in /etc/cron.d."""
    variables = "".join(f"{name}={_quoted(value)}\n" for name, value in environment.items())
    return f"{HEADER}{variables}{job.line}\n"


def _quoted(value: str) -> str:
    """A value as cron reads it: it takes away quotes and blanks around it."""
    if value and value == value.strip() and value[0] not in "'\"":
        return value
    return f"'{value}'" if '"' in value else f'"{value}"'


def differences(lines: Sequence[bytes], job: Job, *, is_present: bool) -> list[str]:
    """The changes that the table needs, in words."""
    after = changed(lines, job, is_present=is_present)
    if after == [*lines]:
        return []
    if not is_present:
        return ["removed the job"]
    if after == _ended(lines):
        return ["ended the last line, without which cron ignores the table"]
    return ["changed the job" if _places(lines, job) else "added the job"]


def changed(lines: Sequence[bytes], job: Job, *, is_present: bool) -> list[bytes]:
    """The table with the job once, or without it. A line of the same job without a comment becomes ours."""
    places = _places(lines, job)
    if not is_present:
        return without(lines, places)
    line, mark = job.line.encode(), job.mark.encode()
    lines = _ended(lines)
    if len(places) == len((mark, line)) and lines[places[1]].strip(b" \t\n") == line:
        return lines
    ours = [mark + b"\n", line + b"\n"]
    if not places:
        same = [at for at, each in enumerate(lines) if _bare(each) == line and not _is_marked(lines, at)]
        if same:
            return [*_guarded(lines[: same[0]]), *ours, *lines[same[0] + 1 :]]
        return [*_guarded(lines), *ours]
    first = len(without(lines[: places[0]], places))
    rest = without(lines, places)
    return [*rest[:first], *ours, *rest[first:]]


def _ended(lines: Sequence[bytes]) -> list[bytes]:
    """``lines`` with an end of the last one: cron ignores a table without it."""
    return [*lines[:-1], lines[-1].removesuffix(b"\n") + b"\n"] if lines else []


def _guarded(lines: Sequence[bytes]) -> list[bytes]:
    """``lines`` with an empty line if they are few comments: crontab(1) drops the first three comments of a table."""
    is_header = len(lines) < _HEADER_LINES and all(line.startswith(b"#") for line in lines)
    return [*lines, b"\n"] if is_header else [*lines]


def _places(lines: Sequence[bytes], job: Job) -> list[int]:
    """The numbers of the comments with the name, each with that of its job, if one follows."""
    found: list[int] = []
    for at, line in enumerate(lines):
        if _bare(line) == job.mark.encode():
            found.append(at)
            following = _bare(lines[at + 1]) if at + 1 < len(lines) else b""
            found += [at + 1] if following and not _NO_JOB.match(following) else []
    return found


def _is_marked(lines: Sequence[bytes], at: int) -> bool:
    return at > 0 and lines[at - 1].startswith(_MARK.encode())


def _bare(line: bytes) -> bytes:
    return line.strip(b" \t\r\n")
