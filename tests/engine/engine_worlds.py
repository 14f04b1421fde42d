"""What several tests of the engine do with a real file and a real journal."""

import os

from reactor.journal.journal import Journal
from reactor.resource.declared import Deferred
from reactor.resources.file import File


def managed(path, content="good\n", **properties):
    """A file of ours."""
    owner = {"owner": str(os.getuid()), "group": str(os.getgid()), "mode": "0644"}
    return File(name=str(path), ensure="present", content=content, **{**owner, **properties})


class Unhurried(Journal):
    """Writes on the spot: a jumping clock does not wait for threads."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._writer._attempt_in_thread = self._attempt_at_once

    async def _attempt_at_once(self, batch, durable):
        return self._writer._attempt(batch, durable=durable)

    def die(self):
        """Let go of the file as a killed process does: what waits to be written is gone."""
        self._writer.store._connection.close()


class Late(Deferred):
    """Values that are known at the check only, and a condition: not met for this ``reason``, if there is one."""

    reads = frozenset()

    def __init__(self, reason=None):
        self._reason = reason

    def advance_clock(self):
        """There is none."""

    def settle(self, resource, outputs, *, briefly=False):
        return resource

    def declined(self, outputs, *, briefly=False):
        return self._reason
