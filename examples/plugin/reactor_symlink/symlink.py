"""The kind ``symlink``: one symbolic link."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Literal

from reactor import (
    AbsolutePath,
    Action,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    ResourceError,
    Watch,
)


class Symlink(Resource[str | None], kind="symlink"):
    """Manage one symbolic link: that it exists, and where it points."""

    name: AbsolutePath
    ensure: Literal["present", "absent"] = "present"
    target: str | None = None

    def property_problems(self) -> Iterable[PropertyProblem]:
        """A link that is to exist must point somewhere."""
        yield from super().property_problems()
        if self.ensure == "present" and self.target is None:
            yield PropertyProblem(
                ("target",), "target is missing", "say where the link points: target: /path"
            )

    def watches(self) -> Iterable[Watch]:
        """The link itself; what it points to is not ours."""
        yield PathWatch(self.name)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: Others may rely on the path of the link.

        Depends on: The directory must be there first.
        """
        directory = (os.path.dirname(self.name),)
        if self.ensure == "absent":
            return Relations(removes=(self.name,), depends_on=directory)
        return Relations(provides=(self.name,), depends_on=directory)

    def sandbox_access(self) -> Iterable[str]:
        """As a service, the right to write there."""
        return (self.name,)

    async def observe(self) -> str | None:
        """Where the link points now; None when nothing is there."""
        try:
            return os.readlink(self.name)
        except FileNotFoundError:
            return None
        except OSError as error:
            hint = "move it away: this kind replaces links only"
            raise ResourceError(f"{self.name} exists and is not a symbolic link", hint) from error

    def plan(self, state: str | None, *, refresh: bool) -> Plan:  # noqa: ARG002 - a refresh means nothing to a link
        """Nothing, one replacement or one removal."""
        wanted = self.target if self.ensure == "present" else None
        if state == wanted:
            return ()
        if wanted is None:
            return (Action("Would have removed the link", "removed the link", self._remove),)
        return (Action(f"Would have pointed it to {wanted}", f"pointed it to {wanted}", self._point),)

    async def _point(self) -> None:
        temporary = f"{self.name}.{os.getpid()}.new"
        os.symlink(self.target or "", temporary)
        os.replace(temporary, self.name)

    async def _remove(self) -> None:
        os.unlink(self.name)
