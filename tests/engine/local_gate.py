"""A gate of one process: what the engine sees of the slots of a fleet, without a network."""

import trio

HOLDER = "another host"


class LocalPermit:
    """A slot that lasts until it is given back, or until `lose`."""

    def __init__(self, gate, slot, ref):
        self.slot, self.ref = slot, ref
        self.is_held = True
        self.begun = 0
        self._gate = gate

    def begin(self):
        self.begun += 1

    def end(self):
        pass

    def lose(self):
        self.is_held = False

    async def release(self):
        if self in self._gate.holders:
            self._gate.holders.remove(self)
            self._gate.changed()


class LocalGate:
    """Admits ``at_most`` of all slots together; ``taken`` of them are held by others."""

    def __init__(self, taken=0):
        self.taken = taken
        self.holders = []
        self.admitted = []
        self.most = 0
        self._changed = trio.Event()

    def changed(self):
        self._changed.set()
        self._changed = trio.Event()

    def free(self, taken=0):
        self.taken = taken
        self.changed()

    async def admit(self, slot, ref, waits):
        told = None
        while self.taken + len(self.holders) >= slot.at_most:
            reason = f"held by {HOLDER}" if self.taken else f"held by {self.holders[0].ref}"
            if reason != told:
                waits(told := reason)
            await self._changed.wait()
        permit = LocalPermit(self, slot, ref)
        self.holders.append(permit)
        self.admitted.append(ref)
        self.most = max(self.most, len(self.holders))
        return permit
