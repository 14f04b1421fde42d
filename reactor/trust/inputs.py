"""Opens what a run reads to learn what to do: manifests, data, facts, templates, and what expressions read.

The policy is the process's, as its user is: what root carries out must be root's, or of the user who called sudo(8), or
of those named with ``--trust-owner``. A command that carries nothing out may read the files of everybody.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from reactor.trust.rule import Trust

_READ = os.O_RDONLY | os.O_CLOEXEC


class _Policy(NamedTuple):
    trust: Trust
    reads_everything: bool = False


_in_force: list[_Policy] = []
"""The last one counts; without any, that of `trust_owners` without further users."""


def open_input(path: str, flags: int = _READ) -> int:
    """Open a file that somebody has named as os.open does, and return its descriptor; fit to be an opener.

    Raises DistrustedError when a user who is not trusted could change the file, and OSError as os.open does.
    """
    policy = _policy()
    return os.open(path, flags) if policy.reads_everything else policy.trust.open(path, flags)


def require_input_directory(path: str) -> None:
    """Raise DistrustedError when a user who is not trusted could change which files are in a directory of inputs."""
    policy = _policy()
    if not policy.reads_everything:
        policy.trust.require_directory(path)


def require_own_directory(path: str) -> None:
    """The same for a directory where we keep what we believe later, whatever the command reads."""
    _policy().trust.require_directory(path)


def open_own(path: str, flags: int = _READ) -> int:
    """A descriptor of a file that we keep there. Raises DistrustedError, and OSError as os.open does."""
    return _policy().trust.open(path, flags)


@contextmanager
def trust_owners(
    users: Iterable[int] = (), groups: Iterable[int] = (), *, caller: bool = True
) -> Iterator[None]:
    """Believe these too within the block; with ``caller`` also the user who called sudo(8)."""
    with _enforced(_Policy(Trust((*users, *(_callers() if caller else ())), groups))):
        yield


@contextmanager
def trust_everybody() -> Iterator[None]:
    """Read the files of everybody within the block, for a command that only shows what they say."""
    with _enforced(_policy()._replace(reads_everything=True)):
        yield


@contextmanager
def _enforced(policy: _Policy) -> Iterator[None]:
    _in_force.append(policy)
    try:
        yield
    finally:
        _in_force.remove(policy)


def _policy() -> _Policy:
    return _in_force[-1] if _in_force else _Policy(Trust(_callers()))


def _callers() -> tuple[int, ...]:
    """The user who called sudo(8): who may do that is root whenever he likes."""
    caller = os.environ.get("SUDO_UID", "")
    return (int(caller),) if os.geteuid() == 0 and caller.isascii() and caller.isdigit() else ()
