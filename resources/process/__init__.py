"""Running commands, for every kind that needs one: in a process group of its own, which ends as a whole.

`command` starts one and waits for it, `perform` runs one that must succeed, `group` ends what is left, `process_tree` knows
what that is, `reaper_client` has a `reaper` end it when we can't, `files` take what it writes if it goes on without us, `output` keeps
that, `quoting` makes words of its text, `identity` is who it runs as.
"""

from reactor.resources.process.command import (
    ENVIRONMENT,
    Command,
    Completed,
    missing_rights,
    perform,
    require_startable,
    run,
)
from reactor.resources.process.identity import Identity, identity_of
from reactor.resources.process.output import memory_file, output_tail
from reactor.resources.process.quoting import pieces, split_words

__all__ = [
    "ENVIRONMENT",
    "Command",
    "Completed",
    "Identity",
    "identity_of",
    "memory_file",
    "missing_rights",
    "output_tail",
    "perform",
    "pieces",
    "require_startable",
    "run",
    "split_words",
]
