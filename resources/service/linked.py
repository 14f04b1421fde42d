"""Units that are linked from elsewhere, as by `systemctl enable /opt/app/app.service`: the link is what makes them units."""

from __future__ import annotations

import os
from typing import NamedTuple

from reactor.watchers.dbus import Scope
from reactor.watchers.units import directories, template_of


class Link(NamedTuple):
    """A link at ``path`` to a unit file outside of the directories of systemd."""

    path: str
    target: str

    @property
    def is_runtime(self) -> bool:
        """Whether it is gone after the next boot."""
        return self.path.startswith("/run/")

    @property
    def is_gone(self) -> bool:
        """Whether it was removed: `systemctl disable` takes it away with the links that enable the unit."""
        return not os.path.lexists(self.path)


def link_of(unit: str, scope: Scope) -> Link | None:
    """The link that makes ``unit`` or its template known to systemd; None for a unit file in its place."""
    own = {os.path.realpath(directory) for directory in directories(scope)}
    for name in filter(None, (unit, template_of(unit))):
        for directory in directories(scope):
            path = f"{directory}/{name}"
            if os.path.lexists(path):
                target = os.path.realpath(path)
                is_linked = os.path.islink(path) and os.path.isfile(target)
                return Link(path, target) if is_linked and os.path.dirname(target) not in own else None
    return None
