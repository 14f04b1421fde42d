"""Opens the inputs of a run: manifests, data, facts, templates, and files that expressions read.

The policy applies to the process: inputs of root must belong to root, to the user who called sudo(8), or to the owners
in ``--trust-owner``. A command that changes nothing may read the files of all users.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from reactor.named_tuple import NamedTuple
from reactor.trust.rule import Trust

_READ = os.O_RDONLY | os.O_CLOEXEC


class _Policy(NamedTuple):
    trust: Trust
    reads_everything: bool = False


_in_force: list[_Policy] = []
"""The last policy applies; if there is none, that of `trust_owners` without further users."""


def open_input(path: str, flags: int = _READ) -> int:
    """Open an input as os.open does, and return its descriptor; can be the ``opener`` of `open`.

    Raises DistrustedError if an untrusted user could change the file, and OSError as os.open does.
    """
    policy = _policy()
    return os.open(path, flags) if policy.reads_everything else policy.trust.open(path, flags)


def require_input_directory(path: str) -> None:
    """Raise DistrustedError if an untrusted user could add or remove files in a directory of inputs."""
    policy = _policy()
    if not policy.reads_everything:
        policy.trust.require_directory(path)


def require_input_tree(path: str) -> None:
    """Raise DistrustedError if an untrusted user could change anything in a directory of inputs, at any depth.

    It may take seconds. Raises OSError for what can't be read, and for a tree that is too large.
    """
    policy = _policy()
    if not policy.reads_everything:
        from reactor.trust.trees import require_trees  # noqa: PLC0415 - few runs have such a directory

        require_trees(policy.trust, [path])


def require_input_place(path: str) -> None:
    """Raise DistrustedError if an untrusted user could put something else at ``path``, whose owner may be anybody.

    For what another program resolves by its path, as root. Raises OSError if there is nothing.
    """
    policy = _policy()
    if not policy.reads_everything:
        policy.trust.require_place(path)


def require_input(path: str) -> None:
    """Raise DistrustedError, under every policy, if a run would refuse the input at ``path``; and OSError."""
    trust = _policy().trust
    (trust.require_directory if os.path.isdir(path) else trust.require_file)(path)


def require_own_directory(path: str) -> None:
    """Raise DistrustedError as `require_input_directory` does, for a directory of our own files, under every policy.

    Our own files are trusted by every later run.
    """
    _policy().trust.require_directory(path)


def make_own_directory(path: str, mode: int = 0o700) -> None:
    """Create the directory at ``path`` and the missing ones above it, and check each as `require_own_directory` does.

    Each directory is checked before anything is created in it: another user may put a directory or a symlink there at any
    time. Raises DistrustedError and OSError.
    """
    trust = _policy().trust
    trust.require_directory(path)
    above = path.rstrip("/") or "/"
    missing: list[str] = []
    while not os.path.lexists(above or "."):
        missing.append(above)
        above = os.path.dirname(above)
    for each in reversed(missing):
        trust.require_parent(each)
        with suppress(FileExistsError):
            os.mkdir(each, mode if each is missing[0] else 0o755)
    trust.require_parent(path)
    trust.require_file(path)


def open_own(path: str, flags: int = _READ) -> int:
    """Open one of our own files. Raises DistrustedError, and OSError as os.open does."""
    return _policy().trust.open(path, flags)


@contextmanager
def trust_owners(
    users: Iterable[int] = (), groups: Iterable[int] = (), *, caller: bool = True
) -> Iterator[None]:
    """Within the block, also trust these users and groups; with ``caller`` also the user who called sudo(8)."""
    with _enforced(_Policy(Trust((*users, *(_callers() if caller else ())), groups))):
        yield


@contextmanager
def trust_everybody() -> Iterator[None]:
    """Within the block, trust the files of all users: for a command that only shows them."""
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
    """The user who called sudo(8), who can become root anyway; empty if there is none."""
    caller = os.environ.get("SUDO_UID", "")
    return (int(caller),) if os.geteuid() == 0 and caller.isascii() and caller.isdigit() else ()
