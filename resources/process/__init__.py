"""Runs commands for all kinds, each in a process group of its own, which is killed as a whole.

`command` starts a command and waits for it, `program` finds its program, and `identity` is the user that it runs as.
`output` passes its output on and keeps the end of it. `process_tree` kills its processes. `reaper` is a second process
that kills them if this process is killed. `quoting` splits the string of a command into words.
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
from reactor.resources.process.identity import Identity, has_our_rights, identity_of, uid_of
from reactor.resources.process.output import TAIL_BYTES, memory_file, output_tail
from reactor.resources.process.quoting import pieces, split_words

__all__ = [
    "ENVIRONMENT",
    "TAIL_BYTES",
    "Command",
    "Completed",
    "Identity",
    "has_our_rights",
    "identity_of",
    "memory_file",
    "missing_rights",
    "output_tail",
    "perform",
    "pieces",
    "require_startable",
    "run",
    "split_words",
    "uid_of",
]
