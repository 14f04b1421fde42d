"""The declarations of a resource about the host: its relations, claims and states, and its access in a sandbox."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from enum import Enum
from typing import Self

from reactor.named_tuple import NamedTuple
from reactor.resource.hashes import blake2b


class NamedProgram(NamedTuple):
    """A program, or a shell, that others will start: it is one of ``paths``. ``words`` call it, for messages."""

    words: str
    paths: Collection[str]


class Relations(NamedTuple):
    """Absolute paths, and accounts such as ``user#ada`` and ``group#33``, by what the resource does with them.

    - ``provides``: this resource creates it. Whatever depends on it goes after this resource.
    - ``removes``: this resource removes it. Whatever depends on it goes before this resource.
    - ``clears``: whatever is there or below now is taken away, by unmounting a file system or removing a home.
      Resources that depend on something there go before this resource; resources that provide something there go after
      it. A path that ends in ``/`` means only what is below the directory.
    - ``depends_on``: this resource needs it: the nearest resource at or above the path goes first. A path that ends in
      ``/`` means everything in that directory: whatever is provided below it goes first too.
    - ``purges``: a directory in which this resource removes everything that no resource manages.
      ``declared.managed_paths`` then has the paths below it that others provide.
    - ``edits``: those of ``provides`` of which this changes only a part. Resources that edit one path do not wait for
      each other.
    - ``repairs``: those of ``depends_on`` that may be of no use until this resource has acted. What provides such a path
      still goes first, but its failure does not block this.
    - ``chooses``: the spaces of claims, such as that of uids, in which this takes a free key, or could take away what others
      claim. ``declared.reserved`` then has the keys that others claim there.
    - ``names``: programs that others start later, so that nothing fails here without them: a dry run tells which are missing.
    """

    provides: Collection[str] = ()
    removes: Collection[str] = ()
    clears: Collection[str] = ()
    depends_on: Collection[str] = ()
    purges: str | None = None
    edits: Collection[str] = ()
    chooses: tuple[str, ...] = ()
    names: Collection[NamedProgram] = ()
    repairs: Collection[str] = ()


NO_RELATIONS = Relations()

PATHS = "path"
"""The space of paths. Its attributes: ``ensure`` (``present`` is a file, ``directory``, ``link``, ``absent``), ``content``,
``owner``, ``group``, ``mode`` as in ``0644``."""
MOUNT_POINTS = "mount point"
"""The space of directories on which something is mounted."""
UNITS = "unit"
"""The space of systemd's units."""
FILE_SPACES = frozenset((PATHS, MOUNT_POINTS))
"""The spaces whose keys are absolute paths. Because of a symlink or a bind mount above, one thing can have two keys."""


CHANGING_SPACES = FILE_SPACES | {UNITS}
"""The spaces in which two keys may become one thing during a run, by a symlink or an alias."""


class Claim(NamedTuple):
    """The desired attributes of the thing ``key`` in ``space`` (``path``, ``unit``).

    An attribute should have the name of the property that sets it: errors point to that property. While the ``stamp`` of
    a resource's claim stays equal, its key stays the same; without a stamp, the key may change at any time.
    """

    space: str
    key: str
    desired: Mapping[str, object]
    stamp: object | None = None

    @classmethod
    def of_file(cls, path: str, text: str | None, **attributes: object) -> Self:
        """The claim on a file with the content ``text`` and these ``attributes``; if ``text`` is None, on its absence."""
        desired = (
            {"ensure": "absent"} if text is None else {"ensure": "present", "content": text, **attributes}
        )
        return cls(PATHS, path, desired)

    @property
    def is_attributes_only(self) -> bool:
        """Whether this is only about the owner and the mode of an existing file, not about its content."""
        return self.desired.get("ensure") == "present" and "content" not in self.desired

    @property
    def is_of_file(self) -> bool:
        """Whether what is there must be a file: it is present, and no directory or link; or a part of it is managed."""
        return self.desired.get("ensure", "present" if "content" in self.desired else None) == "present"

    def disagreement(self, other: Claim) -> list[str]:
        """The attributes for which the two claims, both about one thing, want different values."""
        ours, theirs = self.desired, other.desired
        found = [name for name in ours if name in theirs and not _is_same(name, ours[name], theirs[name])]
        is_one_directory = "directory" in (ours.get("ensure"), theirs.get("ensure"))
        return (
            ["ensure"] if not found and is_one_directory and (self.is_of_file or other.is_of_file) else found
        )


def _is_same(attribute: str, one: object, other: object) -> bool:
    """Whether two values of ``attribute`` are equal. Root may be named by its number: other accounts may not exist yet."""
    return one == other or (attribute in ("owner", "group") and {one, other} == {"root", "0"})


class PlacedClaim(NamedTuple):
    """A claim of the resource ``vertex`` without what it desires, which would take most of the memory of a build.

    ``number`` is its position among the claims of the resource. The other fields are those of `Claim`.
    """

    vertex: int
    number: int
    space: str
    key: str
    is_attributes_only: bool


class TemplateSource(NamedTuple):
    """The template at ``path`` with its text, and how it is compiled: by which engine, with which delimiters if not the usual.

    It names other templates by their path from the directory ``root``. ``load`` returns the text of one, or None if there is none,
    and raises ResourceError. ``functions`` are the names of the functions that the manifest adds, ``variables`` those of all
    variables that the template gets; None if another template decides on these.
    """

    path: str
    text: str
    engine: str
    delimiters: tuple[str, str] | None
    root: str
    load: Callable[[str], str | None]
    functions: Collection[str]
    variables: Collection[str] | None = None


class PathState(NamedTuple):
    """What is at ``path`` when a check finds a resource as desired.

    ``type`` is ``file``, ``directory`` (whose setgid and sticky bits may be any), or empty if it only must be there.
    ``digest`` is the BLAKE2b in hex of the content, and ``size`` its length; ``source`` is a file with the same content.
    Without any of them the content is not managed.

    With ``way``, it is a directory of which only its identity, mode and owner count.

    Three types are about what a check has read, whatever that was. With ``read``, that is the content of a file, the names
    in a directory, or that nothing is there; with ``link``, where a symlink leads. With ``unlocked``, no other process may
    hold a lock (F_SETLK) on the file, for whose end a check would wait.
    """

    path: str
    type: str = ""
    mode: int = 0
    uid: int = 0
    gid: int = 0
    size: int = 0
    digest: str = ""
    source: str = ""

    def holding(self, content: bytes) -> Self:
        """The state of a file with this content."""
        return self._replace(size=len(content), digest=blake2b(content).hexdigest())


class Contradiction(NamedTuple):
    """Two members of a group, by their positions, that can't both be as desired, and the property that says so."""

    first: int
    second: int
    attribute: str
    about: str
    """On what they do not agree: ``the line 'Port 22' of /etc/ssh/sshd_config``."""


class Exclusion(NamedTuple):
    """Forbids any claim in ``space`` except for the keys in ``but``, because of ``attribute`` of the resource."""

    space: str
    but: Collection[str]
    attribute: str


class SandboxAccess(Enum):
    """One thing that a sandbox must allow. The value is the end of a sentence whose subject is the resource."""

    ANYTHING = "may run any command"
    MOUNT = "mounts, which the host would not see from a mount namespace"
    SWAP = "turns swap on or off"
    NAMESPACE = "acts in a network namespace"
    NETWORK = "changes the network"
    TUNABLE = "sets a parameter of the kernel"
    HOSTNAME = "sets the name of the host"
    SETGID = "is a directory that may have a setgid bit to keep"
