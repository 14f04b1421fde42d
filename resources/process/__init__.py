"""Running commands, for every kind that needs one: in a process group of its own, which ends as a whole.

`command` starts one and waits for it, `perform` runs one that must succeed, `group` ends what is left, `family` knows
what that is, `lifeline` has a `guardian` end it when we can't, `files` take what it writes if it goes on without us, `output` keeps
that, `quoting` makes words of its text, `identity` is who it runs as.
"""

from resources.process.command import ENVIRONMENT, Command, Completed, require_startable, run
from resources.process.files import memory_file
from resources.process.identity import Identity, identity_of
from resources.process.output import last_words
from resources.process.perform import missing_rights, perform
from resources.process.quoting import pieces, split_words

__all__ = [
    "ENVIRONMENT",
    "Command",
    "Completed",
    "Identity",
    "identity_of",
    "last_words",
    "memory_file",
    "missing_rights",
    "perform",
    "pieces",
    "require_startable",
    "run",
    "split_words",
]
