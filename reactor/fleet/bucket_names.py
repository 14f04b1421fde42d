"""The names of the buckets and streams that hosts and operators share."""

from __future__ import annotations

CHANNELS, HOSTS, BUNDLES, STATE = "reactor_channels", "reactor_hosts", "reactor_bundles", "reactor_state"
SHARED, SLOTS, SECRETS, DRIVE = "reactor_shared", "reactor_slots", "reactor_secrets", "reactor_drive"
COUNTS = "reactor_counts"
INVITATIONS = "reactor_invitations"
EVENTS = "REACTOR_EVENTS"
REGISTRATIONS = "REGISTRATION"
CHANGED_CHANNEL, CHANGED_HOST = "reactor.changed.channel.", "reactor.changed.host."
CHANGED_SLOT, CHANGED_SHARED = "reactor.changed.slot.", "reactor.changed.shared."
EVENT = "reactor.event."
"""The beginning of the subjects of events; the id of the host follows."""
