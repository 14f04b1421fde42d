"""Refuses sources of packages in which other users could make pip run their code with our rights.

A file of requirements can name any index, and the setup of a package runs as the user that pip runs as.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from reactor import DistrustedError, ResourceError, open_input, require_input_directory
from reactor.hostfs import ErrorContext, scan_directory

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


def refuse_foreign_sources(uid: int, requirements: str | None, find_links: str | None) -> None:
    """Raise ResourceError if pip runs as ``uid``, which is root or our own user, and others can change what it installs.

    What is missing is no source.
    """
    if uid not in (0, os.geteuid()):
        return
    if requirements is not None:
        with _refusing(requirements):
            os.close(open_input(requirements, _READ))
    if find_links is not None:
        with _refusing(find_links):
            require_input_directory(find_links)
            with scan_directory(os.path.realpath(find_links)) as entries:
                for entry in entries:
                    with suppress(FileNotFoundError):
                        os.close(open_input(f"{find_links}/{entry.name}", _READ))


@contextmanager
def _refusing(path: str) -> Iterator[None]:
    with ErrorContext(f"look at {path}"), suppress(FileNotFoundError, NotADirectoryError):
        try:
            yield
        except DistrustedError as error:
            words = f"another user can change what pip would install with our rights: {error}"
            raise ResourceError(words, f"{error.hint or 'give it to root'}; or add user") from error
